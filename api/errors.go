package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// code is the stable name of a problem.
type code string

const (
	codeMalformedJSON         code = "malformed_json"
	codeMalformedCSV          code = "malformed_csv"
	codeInvalidBody           code = "invalid_body"
	codeIncompleteBody        code = "incomplete_body"
	codeInvalidParameter      code = "invalid_parameter"
	codeInvalidHeader         code = "invalid_header"
	codeOrderUnsupported      code = "order_unsupported"
	codeUnknownBackend        code = "unknown_backend"
	codeDurabilityUnavailable code = "durability_unavailable"
	codeInvalidValue          code = "invalid_value"
	codeNoCredentials         code = "credentials_missing"
	codeBadCredentials        code = "credentials_invalid"
	codeNoScope               code = "scope_missing"
	codeOriginNotAllowed      code = "origin_not_allowed"
	codeHostNotAllowed        code = "host_not_allowed"
	codeNotFound              code = "not_found"
	codeRouteNotFound         code = "route_not_found"
	codeMethodNotAllowed      code = "method_not_allowed"
	codeNotAcceptable         code = "not_acceptable"
	codeAlreadyExists         code = "already_exists"
	codeKeyInUse              code = "idempotency_key_in_use"
	codePreconditionFailed    code = "precondition_failed"
	codeBodyTimeout           code = "body_timeout"
	codeBodyTooLarge          code = "body_too_large"
	codeURLTooLong            code = "url_too_long"
	codeHeadersTooLarge       code = "headers_too_large"
	codeRateLimited           code = "rate_limited"
	codeBatchTooLarge         code = "batch_too_large"
	codeUnsupportedMediaType  code = "unsupported_media_type"
	codeValidationFailed      code = "validation_failed"
	codeTooManyErrors         code = "too_many_errors"
	codeKeyReused             code = "idempotency_key_reused"
	codeNoIdempotency         code = "idempotency_unavailable"
	codeAccessUnavailable     code = "access_unavailable"
	codeUnavailable           code = "unavailable"
	codeOverloaded            code = "overloaded"
	codeTooManyStreams        code = "too_many_streams"
	codeStopping              code = "stopping"
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
	codeMalformedCSV:          {http.StatusBadRequest, "The body is not CSV"},
	codeInvalidBody:           {http.StatusBadRequest, "The body does not have the right form"},
	codeIncompleteBody:        {http.StatusBadRequest, "The body ended early"},
	codeInvalidParameter:      {http.StatusBadRequest, "A parameter is wrong"},
	codeInvalidHeader:         {http.StatusBadRequest, "A header is wrong"},
	codeOrderUnsupported:      {http.StatusBadRequest, "The backend cannot keep the order"},
	codeUnknownBackend:        {http.StatusBadRequest, "There is no such backend"},
	codeDurabilityUnavailable: {http.StatusBadRequest, "The backend cannot tell when a write is on disk"},
	codeInvalidValue:          {http.StatusBadRequest, "The database cannot store a value"},
	codeNoCredentials:         {http.StatusUnauthorized, "Nobody calls without a key or token"},
	codeBadCredentials:        {http.StatusUnauthorized, "The key, token or certificate is not good"},
	codeNoScope:               {http.StatusForbidden, "The caller may not do this"},
	codeOriginNotAllowed:      {http.StatusForbidden, "Pages of this origin may not call"},
	codeHostNotAllowed:        {http.StatusMisdirectedRequest, "The gateway does not answer to this name"},
	codeNotFound:              {http.StatusNotFound, "There is no such employee"},
	codeRouteNotFound:         {http.StatusNotFound, "There is nothing at this path"},
	codeMethodNotAllowed:      {http.StatusMethodNotAllowed, "The method does not fit the path"},
	codeNotAcceptable:         {http.StatusNotAcceptable, "The answer has no form that is wanted"},
	codeAlreadyExists:         {http.StatusConflict, "The employee exists already"},
	codeKeyInUse:              {http.StatusConflict, "A request with the same idempotency key is under way"},
	codePreconditionFailed:    {http.StatusPreconditionFailed, "The employee is not as the precondition asks"},
	codeBodyTimeout:           {http.StatusRequestTimeout, "The body did not come in time"},
	codeBodyTooLarge:          {http.StatusRequestEntityTooLarge, "The body is too large"},
	codeURLTooLong:            {http.StatusRequestURITooLong, "The URL is too long"},
	codeHeadersTooLarge:       {http.StatusRequestHeaderFieldsTooLarge, "The headers are too large"},
	codeRateLimited:           {http.StatusTooManyRequests, "The client sends too many requests"},
	codeBatchTooLarge:         {http.StatusRequestEntityTooLarge, "One transaction cannot hold the batch"},
	codeUnsupportedMediaType:  {http.StatusUnsupportedMediaType, "The body's media type is not understood"},
	codeValidationFailed:      {http.StatusUnprocessableEntity, "A rule is broken"},
	codeTooManyErrors:         {http.StatusUnprocessableEntity, "Too many lines are wrong"},
	codeKeyReused:             {http.StatusUnprocessableEntity, "The idempotency key belongs to another request"},
	codeNoIdempotency:         {http.StatusNotImplemented, "The database cannot keep answers under idempotency keys"},
	codeAccessUnavailable:     {http.StatusBadGateway, "It cannot be told now who calls"},
	codeUnavailable:           {http.StatusServiceUnavailable, "The backend cannot serve now"},
	codeOverloaded:            {http.StatusServiceUnavailable, "The backend has as many requests as it takes"},
	codeTooManyStreams:        {http.StatusServiceUnavailable, "Too many imports and exports are running"},
	codeStopping:              {http.StatusServiceUnavailable, "The gateway is stopping"},
	codeTimeout:               {http.StatusGatewayTimeout, "The deadline passed"},
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
	Position  int     `json:"position,omitzero"` // in the parameter, in characters from 1
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

	// Of batches; see batchBody.problem.
	Index     *int    `json:"index,omitempty"`
	ID        int64   `json:"id,omitzero"`
	Committed *int    `json:"committed,omitempty"`
	Uncertain int     `json:"uncertain,omitzero"`
	Limit     int     `json:"limit,omitzero"`
	IDs       []int64 `json:"ids,omitempty"`

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
		return newProblem(codeNotDurableYet, "it is committed in the memory of the data nodes; do not repeat it")
	// Unknown comes first: it must never be taken for a promise that nothing
	// was done.
	case errors.Is(err, store.ErrUnknownOutcome):
		return newProblem(codeOutcomeUnknown, "read the employee to see; the gateway does not retry")
	case errors.Is(err, store.ErrNotFound):
		return newProblem(codeNotFound, "no employee has this id")
	case errors.Is(err, store.ErrConflict):
		return newProblem(codeAlreadyExists, "an employee with this id exists; PUT replaces it")
	case errors.Is(err, store.ErrPreconditionFailed):
		return newProblem(codePreconditionFailed, "read the employee again") // see failedPrecondition
	case errors.Is(err, store.ErrInvalid):
		return invalidProblem(err)
	case errors.Is(err, store.ErrOrderUnsupported):
		return newProblem(codeOrderUnsupported, "this backend does not know how the collation of a text column orders; "+
			"choose another backend, or another order")
	case errors.Is(err, store.ErrKeyInUse):
		return newProblem(codeKeyInUse, "it has not ended within the deadline of this one, for which nothing was done; try again to get its answer").
			withHeader("Retry-After", retryAfterSeconds)
	case errors.Is(err, store.ErrNoAnswers):
		return newProblem(codeNoIdempotency, "nothing was done: the database lacks the table idempotency, or has another one; "+
			"have the operator run deploy/schema.sql, or leave out Idempotency-Key")
	case errors.Is(err, store.ErrBatchTooLarge):
		return newProblem(codeBatchTooLarge, "nothing was done: send less, or each item as a transaction of its own")
	case errors.Is(err, store.ErrUnavailable):
		return newProblem(codeUnavailable, "nothing was done; try again, or choose another backend").withHeader("Retry-After", retryAfterSeconds)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return newProblem(codeTimeout, "nothing was written: the backend did not answer in time")
	default:
		return newProblem(codeInternal, "the log has the cause under the request id")
	}
}

func invalidProblem(err error) *problem {
	var invalid *models.ValidationError
	if !errors.As(err, &invalid) {
		return newProblem(codeInvalidValue, "the database does not say which one")
	}
	return validationProblem(invalidFaults(invalid))
}

func validationProblem(faults []fault) *problem {
	return newProblem(codeValidationFailed, "each entry of errors names a property and its rule", faults...)
}

func invalidFaults(invalid *models.ValidationError) []fault { return invalidFaultsAt("", invalid) }

// invalidFaultsAt is for an employee that stands at a place of the body.
func invalidFaultsAt(at jsontext.Pointer, invalid *models.ValidationError) []fault {
	faults := make([]fault, len(invalid.Fields))
	for i, f := range invalid.Fields {
		faults[i] = bodyFault(string(at)+"/"+f.Property, f.Rule, f.Message)
	}
	return faults
}
