package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// code is the stable name of a problem.
type code string

const (
	codeMalformedJSON         code = "malformed_json"
	codeInvalidBody           code = "invalid_body"
	codeInvalidParameter      code = "invalid_parameter"
	codeInvalidHeader         code = "invalid_header"
	codeUnknownBackend        code = "unknown_backend"
	codeDurabilityUnavailable code = "durability_unavailable"
	codeInvalidValue          code = "invalid_value"
	codeNotFound              code = "not_found"
	codeRouteNotFound         code = "route_not_found"
	codeMethodNotAllowed      code = "method_not_allowed"
	codeAlreadyExists         code = "already_exists"
	codePreconditionFailed    code = "precondition_failed"
	codeBodyTimeout           code = "body_timeout"
	codeBodyTooLarge          code = "body_too_large"
	codeUnsupportedMediaType  code = "unsupported_media_type"
	codeValidationFailed      code = "validation_failed"
	codeUnavailable           code = "unavailable"
	codeTimeout               code = "timeout"
	codeOutcomeUnknown        code = "outcome_unknown"
	codeNotDurableYet         code = "not_durable_yet"
	codeInternal              code = "internal"
)

// codes is the one table of problems: what each means in HTTP.
var codes = map[code]struct {
	status int
	title  string
}{
	codeMalformedJSON:         {http.StatusBadRequest, "The body is not JSON"},
	codeInvalidBody:           {http.StatusBadRequest, "The body does not have the right form"},
	codeInvalidParameter:      {http.StatusBadRequest, "A parameter is wrong"},
	codeInvalidHeader:         {http.StatusBadRequest, "A header is wrong"},
	codeUnknownBackend:        {http.StatusBadRequest, "There is no such backend"},
	codeDurabilityUnavailable: {http.StatusBadRequest, "The backend cannot tell when a write is on disk"},
	codeInvalidValue:          {http.StatusBadRequest, "The database cannot store a value"},
	codeNotFound:              {http.StatusNotFound, "There is no such employee"},
	codeRouteNotFound:         {http.StatusNotFound, "There is nothing at this path"},
	codeMethodNotAllowed:      {http.StatusMethodNotAllowed, "The method does not fit the path"},
	codeAlreadyExists:         {http.StatusConflict, "The employee exists already"},
	codePreconditionFailed:    {http.StatusPreconditionFailed, "The employee is not as the precondition asks"},
	codeBodyTimeout:           {http.StatusRequestTimeout, "The body did not come in time"},
	codeBodyTooLarge:          {http.StatusRequestEntityTooLarge, "The body is too large"},
	codeUnsupportedMediaType:  {http.StatusUnsupportedMediaType, "The body's media type is not understood"},
	codeValidationFailed:      {http.StatusUnprocessableEntity, "The employee breaks a rule"},
	codeUnavailable:           {http.StatusServiceUnavailable, "The backend cannot serve now"},
	codeTimeout:               {http.StatusGatewayTimeout, "The deadline passed; nothing was written"},
	codeOutcomeUnknown:        {http.StatusGatewayTimeout, "The write may or may not have been done"},
	codeNotDurableYet:         {http.StatusGatewayTimeout, "The write is done, but not known to be on disk"},
	codeInternal:              {http.StatusInternalServerError, "The gateway failed"},
}

// retryAfterSeconds is what a client is asked to wait when a backend is not
// available.
const retryAfterSeconds = "1"

// fault is one thing wrong with a request. One of the first three is set.
type fault struct {
	Pointer   *string `json:"pointer,omitempty"` // JSON pointer into the body; "" is all of it
	Parameter string  `json:"parameter,omitempty"`
	Header    string  `json:"header,omitempty"`
	Code      string  `json:"code"`
	Detail    string  `json:"detail"`
}

func bodyFault(pointer, code, detail string) fault {
	return fault{Pointer: &pointer, Code: code, Detail: detail}
}

func parameterFault(name, code, detail string) fault {
	return fault{Parameter: name, Code: code, Detail: detail}
}

func headerFault(name, code, detail string) fault {
	return fault{Header: name, Code: code, Detail: detail}
}

// problem is an answer of the type application/problem+json (RFC 9457).
type problem struct {
	Type      string  `json:"type"`
	Title     string  `json:"title"`
	Status    int     `json:"status"`
	Detail    string  `json:"detail,omitempty"`
	Code      code    `json:"code"`
	RequestID string  `json:"request_id"`
	Errors    []fault `json:"errors,omitempty"`

	headers map[string]string // to be set beside it
}

// Error makes a problem something that a handler can return.
func (p *problem) Error() string { return fmt.Sprintf("%s: %s", p.Code, p.Detail) }

func newProblem(c code, detail string, faults ...fault) *problem {
	entry, ok := codes[c]
	if !ok {
		panic("api: no entry for the code " + string(c))
	}
	return &problem{
		Type:   "urn:ndbgate:problem:" + string(c),
		Title:  entry.title,
		Status: entry.status,
		Detail: detail,
		Code:   c,
		Errors: faults,
	}
}

func (p *problem) withHeader(name, value string) *problem {
	if p.headers == nil {
		p.headers = map[string]string{}
	}
	p.headers[name] = value
	return p
}

// toProblem decides what the client hears of an error. Causes stay in the log.
func toProblem(err error) *problem {
	var p *problem
	var tooLarge *http.MaxBytesError
	var notOnDisk *notOnDiskError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &tooLarge):
		return newProblem(codeBodyTooLarge, fmt.Sprintf("a body may hold %d bytes", tooLarge.Limit)).withHeader("Connection", "close")
	case errors.As(err, &notOnDisk):
		return newProblem(codeNotDurableYet, "the write is committed in the memory of the data nodes, but not known to be on disk; do not repeat it, it is done")
	// Unknown comes first: it must never be taken for a promise that nothing
	// was done.
	case errors.Is(err, store.ErrUnknownOutcome):
		return newProblem(codeOutcomeUnknown, "read the employee to see; the gateway does not retry")
	case errors.Is(err, store.ErrNotFound):
		return newProblem(codeNotFound, "no employee has this id")
	case errors.Is(err, store.ErrConflict):
		return newProblem(codeAlreadyExists, "an employee with this id exists; PUT replaces it")
	case errors.Is(err, store.ErrPreconditionFailed):
		return newProblem(codePreconditionFailed, "the employee is not there, or is, or has another ETag than If-Match or If-None-Match asks; read it again")
	case errors.Is(err, store.ErrInvalid):
		return invalidProblem(err)
	case errors.Is(err, store.ErrUnavailable):
		return newProblem(codeUnavailable, "nothing was done; try again, or choose another backend").withHeader("Retry-After", retryAfterSeconds)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return newProblem(codeTimeout, "the backend did not answer in time; nothing was written")
	default:
		return newProblem(codeInternal, "the log has the cause under the request id")
	}
}

func invalidProblem(err error) *problem {
	var invalid *models.ValidationError
	if !errors.As(err, &invalid) {
		return newProblem(codeInvalidValue, "the database refused a value of the request")
	}
	return validationProblem(invalidFaults(invalid))
}

func validationProblem(faults []fault) *problem {
	return newProblem(codeValidationFailed, "each entry of errors names a property and its rule", faults...)
}

func invalidFaults(invalid *models.ValidationError) []fault {
	faults := make([]fault, len(invalid.Fields))
	for i, f := range invalid.Fields {
		faults[i] = bodyFault("/"+f.Property, f.Rule, f.Message)
	}
	return faults
}
