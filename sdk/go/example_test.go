package sdk

import (
	"context"
	"fmt"

	"github.com/oapi-codegen/nullable"

	"github.com/ndbgate/ndbgate/sdk/go/client"
)

func move(ctx context.Context, gateway string, id int64, city string) error {
	c, err := client.NewClientWithResponses(gateway)
	if err != nil {
		return err
	}
	road := "ndb"
	read, err := c.GetEmployeeWithResponse(ctx, id, &client.GetEmployeeParams{XBackend: &road})
	if err != nil {
		return err
	}
	if read.JSON200 == nil {
		return fmt.Errorf("reading %d: %s", id, read.Status())
	}
	unchanged := &client.PatchEmployeeParams{IfMatch: &read.Headers200.ETag}
	patch := client.EmployeePatch{City: nullable.NewNullableWithValue(city)}
	written, err := c.PatchEmployeeWithApplicationMergePatchPlusJSONBodyWithResponse(ctx, id, unchanged, patch)
	if err == nil && written.ApplicationproblemJSON412 != nil {
		return fmt.Errorf("%d was changed meanwhile: %s", id, written.ApplicationproblemJSON412.Code)
	}
	return err
}
