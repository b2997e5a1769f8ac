package api

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// maxIDTries bounds how often an assigned ID may meet another gateway's.
const maxIDTries = 8

func (s *server) createEmployee(x *exchange) error {
	if err := checkNoQuery(x.r); err != nil {
		return err
	}
	if err := checkCreatePrecondition(x.r.Header); err != nil {
		return err
	}
	minimal := prefersMinimal(x)
	body, err := s.readBody(x, jsonType)
	if err != nil {
		return err
	}
	m, err := decodeMembers(body, models.NewEmployee())
	if err != nil {
		return err
	}
	assigned := !m.has("id")
	if assigned {
		m.employee.ID = s.ids.Next()
	}
	if err := m.check(m.employee.Validate()); err != nil {
		return err
	}
	r, err := s.insert(x, &m.employee, assigned, minimal)
	if err != nil {
		if mayBeWritten(err) {
			x.w.Header().Set("Location", location(m.employee.ID))
		}
		return err
	}
	x.reply(r)
	return nil
}

// mayBeWritten tells whether a write that ended with the error has left its row,
// or may have.
func mayBeWritten(err error) bool {
	_, written := errors.AsType[*notOnDiskError](err)
	return written || errors.Is(err, store.ErrUnknownOutcome)
}

// insert creates e and returns the reply; an assigned ID that exists already is
// replaced by another.
func (s *server) insert(x *exchange, e *models.Employee, assigned, minimal bool) (*reply, error) {
	done, err := x.timed()
	if err != nil {
		return nil, err
	}
	defer done()
	for range maxIDTries {
		r := createdReply(e, minimal)
		err := x.create(e, r)
		if !assigned || !errors.Is(err, store.ErrConflict) {
			return r, err
		}
		s.metrics.idConflicts.WithLabelValues(x.road).Inc()
		e.ID = s.ids.NextAfter(e.ID)
	}
	return nil, errIDsTaken
}

func createdReply(e *models.Employee, minimal bool) *reply {
	body := encodeEmployee(e)
	r := &reply{status: http.StatusCreated, location: location(e.ID), etag: etagOf(body), body: body}
	if minimal {
		r.body = nil
	}
	return r
}

// create keeps the reply where the request has an idempotency key.
func (x *exchange) create(e *models.Employee, r *reply) error {
	if x.once == nil {
		return x.store.Create(x.ctx, *e)
	}
	return onceStoreOf(x.store).CreateOnce(x.ctx, *e, x.kept(r))
}

func (s *server) getEmployee(x *exchange) error {
	id, err := addressed(x.r)
	if err != nil {
		return err
	}
	known, err := parseETags(x.r.Header, "If-None-Match")
	if err != nil {
		return err
	}
	done, err := x.timed()
	if err != nil {
		return err
	}
	e, err := x.store.Get(x.ctx, id)
	done()
	if err != nil {
		return err
	}
	body := encodeEmployee(&e)
	tag := etagOf(body)
	x.w.Header().Set("ETag", tag)
	x.w.Header().Set("Cache-Control", "private, no-cache")
	if known.has(tag) {
		return x.empty(http.StatusNotModified)
	}
	x.send(http.StatusOK, jsonType, body)
	return nil
}

func (s *server) saveEmployee(x *exchange) error {
	c, err := s.decodeChange(x, true, models.NewEmployee(), jsonType)
	if err != nil {
		return err
	}
	if err := c.check(c.employee.Validate()); err != nil {
		return err
	}
	done, err := x.timed()
	if err != nil {
		return err
	}
	created, err := x.store.Save(x.ctx, c.employee, c.pre)
	done()
	if err != nil {
		return failedPrecondition(c.pre, err)
	}
	if created {
		x.w.Header().Set("Location", location(c.id))
		return sendWritten(x, http.StatusCreated, http.StatusCreated, &c.employee, c.minimal)
	}
	return sendWritten(x, http.StatusOK, http.StatusNoContent, &c.employee, c.minimal)
}

func (s *server) patchEmployee(x *exchange) error {
	c, err := s.decodeChange(x, false, models.Employee{}, mergePatchType, jsonType)
	if err != nil {
		return err
	}
	patch := models.EmployeePatch{
		Values: c.employee,
		Set:    slices.DeleteFunc(c.present, func(p models.Property) bool { return p.Name == "id" }),
	}
	if err := c.check(patch.Validate()); err != nil {
		return err
	}
	done, err := x.timed()
	if err != nil {
		return err
	}
	e, err := x.store.Patch(x.ctx, c.id, patch, store.PatchOptions{Precondition: c.pre, ReturnRow: !c.minimal})
	done()
	if err != nil {
		return failedPrecondition(c.pre, err)
	}
	if c.minimal {
		return x.empty(http.StatusNoContent)
	}
	return sendWritten(x, http.StatusOK, http.StatusNoContent, &e, false)
}

// change is a decoded PUT or PATCH.
type change struct {
	*members
	id      int64
	pre     store.Precondition
	minimal bool
}

// decodeChange reads a PUT or PATCH, the body over the values that defaults has.
func (s *server) decodeChange(x *exchange, mayCreate bool, defaults models.Employee, types ...string) (*change, error) {
	id, err := addressed(x.r)
	if err != nil {
		return nil, err
	}
	pre, err := parsePrecondition(x.r.Header, mayCreate)
	if err != nil {
		return nil, err
	}
	minimal := prefersMinimal(x)
	body, err := s.readBody(x, types...)
	if err != nil {
		return nil, err
	}
	m, err := decodeMembers(body, defaults)
	if err != nil {
		return nil, err
	}
	m.pinID(id)
	return &change{members: m, id: id, pre: pre, minimal: minimal}, nil
}

func (s *server) deleteEmployee(x *exchange) error {
	id, err := addressed(x.r)
	if err != nil {
		return err
	}
	pre, err := parsePrecondition(x.r.Header, false)
	if err != nil {
		return err
	}
	done, err := x.timed()
	if err != nil {
		return err
	}
	err = x.store.Delete(x.ctx, id, pre)
	done()
	if err != nil {
		return failedPrecondition(pre, err)
	}
	return x.empty(http.StatusNoContent)
}

// sendWritten answers a write with the employee as it is now stored and its
// ETag, or with the ETag alone where the client wants little.
func sendWritten(x *exchange, status, minimalStatus int, e *models.Employee, minimal bool) error {
	body := encodeEmployee(e)
	x.w.Header().Set("ETag", etagOf(body))
	if minimal {
		return x.empty(minimalStatus)
	}
	x.send(status, jsonType, body)
	return nil
}

func location(id int64) string { return "/v1/employees/" + strconv.FormatInt(id, 10) }

// addressed is the ID of the one employee that a call is about; such a call
// takes no query.
func addressed(r *http.Request) (int64, error) {
	id, err := pathID(r)
	if err != nil {
		return 0, err
	}
	return id, checkNoQuery(r)
}

// pathID reads the ID in the one spelling that it has, so that an employee has
// one address.
func pathID(r *http.Request) (int64, error) {
	text, err := chi.URLParam(r, "id"), error(nil)
	if r.URL.RawPath != "" { // what the router has then matched
		text, err = url.PathUnescape(text)
	}
	var id int64
	if err == nil {
		id, err = parseWhole(text, 64)
	}
	if err == nil && id >= 1 {
		return id, nil
	}
	rule := "type"
	if err == nil || errors.Is(err, strconv.ErrRange) {
		rule = "range"
	}
	return 0, newProblem(codeInvalidParameter, "the id in the path is wrong",
		parameterFault("id", rule, "must be an integer from 1 to 9223372036854775807"))
}

func checkNoQuery(r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	return newProblem(codeInvalidParameter, "this call takes no query parameters")
}
