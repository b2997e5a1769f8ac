package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// told is a problem as the gateway tells it.
type told struct {
	Title  string
	Status int
	Detail string
	Code   string
	Errors []struct {
		Pointer, Parameter, Header, Detail string
	}
}

// String is as in "invalid_body: The body does not have the right form: first must
// be a string or null": what single entries say replaces the detail, which then only
// announces them.
func (p *told) String() string {
	text := p.Code + ": " + p.Title
	if len(p.Errors) == 0 && p.Detail != "" {
		return text + ": " + p.Detail
	}
	for i, e := range p.Errors {
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		text += separator + strings.TrimSpace(strings.TrimPrefix(e.Pointer+e.Parameter+e.Header, "/")+" "+e.Detail)
	}
	return text
}

// mayPass tells whether the same may go well later: the fault is not in what was
// sent.
func (p *told) mayPass() bool {
	return p.Status >= http.StatusInternalServerError || p.Status == http.StatusRequestTimeout || p.Status == http.StatusTooManyRequests
}

// refusedError says that no transfer has begun, and what to do about it.
type refusedError string

func (e refusedError) Error() string { return string(e) }

// maxRefusalBytes bounds what is read of an answer that is none of a gateway.
const maxRefusalBytes = 64 << 10

// refusal is what an answer other than 200 says.
func (t *transfer) refusal(answer *http.Response) error {
	var p told
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusalBytes))
	if err != nil || json.Unmarshal(text, &p) != nil || p.Code == "" {
		return refusedError(fmt.Sprintf("the answer of %s is %s, and none of a gateway; name the gateway with --target", t.target, answer.Status))
	}
	return refusedError(p.String())
}

// unsent explains an error of a request that got no answer.
func (t *transfer) unsent(err error) error {
	err = withoutURL(err)
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "dial" {
		return refusedError(fmt.Sprintf("no gateway answers at %s: %v; start one, or name another with --target", t.target, failed.Err))
	}
	return err
}

// withoutURL spares the message the request that the user has written.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

var errInterrupted = errors.New("interrupted")

// orInterrupted is what a user hears of an error after an interrupt: not what it has
// broken on its way.
func orInterrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}
