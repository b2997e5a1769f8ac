package columnrule

import (
	"fmt"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// Outside returns what a comparison comes to whose text no row can have, because
// the column's character set lacks a character: it equals none, and is like none.
// Where it would stand in their order nobody can tell: that is an ErrInvalid.
func Outside(f models.Filter) (models.Filter, error) {
	switch {
	case f.Op == models.OpEqual || f.Op == models.OpLike:
		return models.Or(), nil
	case f.Op == models.OpNotEqual || f.Op == models.OpNotLike:
		return models.IsNotNull(f.Property), nil
	default:
		broken := &models.ValidationError{Fields: []models.FieldError{Broken(f.Property.Name, Charset)}}
		return models.Filter{}, fmt.Errorf("%w: compared in order: %w", store.ErrInvalid, broken)
	}
}
