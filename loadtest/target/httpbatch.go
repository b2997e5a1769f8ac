package target

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ndbgate/ndbgate/models"
)

// Rows implements Ranges.
func (s *httpSession) Rows(ctx context.Context, first, last int64, limit int) ([]models.Employee, error) {
	query := url.Values{
		"filter": {fmt.Sprintf("id >= %d AND id <= %d", first, last)}, "fields": {"id,first,last"}, "page_size": {strconv.Itoa(limit)},
	}
	s.request = append(s.request[:0], "GET "+employees+"?"+query.Encode()...)
	s.request = append(s.request, s.head...)
	s.end()
	if err := s.expect(ctx, http.StatusOK); err != nil {
		return nil, err
	}
	page, err := s.decodePage()
	return page.Employees, err
}

// rowsPage is a page of a list, of which the rows count.
type rowsPage struct {
	Employees []models.Employee `json:"employees"`
}

func (s *httpSession) decodePage() (rowsPage, error) {
	var page rowsPage
	if err := json.Unmarshal(s.conn.answer.body, &page); err != nil {
		return page, &Error{Protocol, fmt.Errorf("body %.80q: %w", s.conn.answer.body, err)}
	}
	return page, nil
}

// InsertAll implements Batches.
func (s *httpSession) InsertAll(ctx context.Context, rows []models.Employee) (err error) {
	s.body = append(s.body[:0], `{"employees":[`...)
	for i := range rows {
		if i > 0 {
			s.body = append(s.body, ',')
		}
		if s.body, err = appendEmployee(s.body, &rows[i]); err != nil {
			return &Error{Protocol, err}
		}
	}
	s.body = append(s.body, "]}"...)
	return s.batch(ctx, "batchCreate")
}

// DeleteAny implements Batches.
func (s *httpSession) DeleteAny(ctx context.Context, ids []int64) error {
	s.body = append(s.body[:0], `{"partial":true,"ids":[`...)
	for i, id := range ids {
		if i > 0 {
			s.body = append(s.body, ',')
		}
		s.body = strconv.AppendInt(s.body, id, 10)
	}
	s.body = append(s.body, "]}"...)
	if err := s.batch(ctx, "batchDelete"); err != nil {
		return err
	}
	var answer struct {
		Results []struct {
			Status  int
			Problem struct{ Code, Detail string }
		}
	}
	if err := json.Unmarshal(s.conn.answer.body, &answer); err != nil || len(answer.Results) != len(ids) {
		return &Error{Protocol, fmt.Errorf("body %.80q is no answer for %d items", s.conn.answer.body, len(ids))}
	}
	for _, r := range answer.Results {
		if r.Status >= http.StatusBadRequest && r.Status != http.StatusNotFound {
			return &Error{r.Problem.Code, fmt.Errorf("status %d: %s", r.Status, r.Problem.Detail)}
		}
	}
	return nil
}

func (s *httpSession) batch(ctx context.Context, method string) error {
	s.request = append(s.request[:0], "POST "+employees+":"+method...)
	s.request = append(s.request, s.head...)
	s.endWithBody("application/json", true)
	timeout := s.conn.timeout
	s.conn.timeout *= batchTimeouts
	defer func() { s.conn.timeout = timeout }()
	return s.expect(ctx, http.StatusOK)
}
