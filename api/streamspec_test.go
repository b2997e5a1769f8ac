package api

import (
	"bytes"
	"context"
	"reflect"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

// Examples of streams are text: a body as it is sent, an answer as it comes. The
// extension x-line of the schema of NDJSON is that of a line.

// streamOptions make a server on which the example can happen.
func (s *sample) streamOptions() Options {
	var opts Options
	switch s.problemCode() {
	case codeTooManyStreams:
		opts.MaxStreams = -1
	case codeOverloaded:
		opts.MaxInFlight = map[string]int{"sql": -1}
	case codeRateLimited:
		opts.RateLimit = 1
	case codeStopping:
		stopping := make(chan struct{})
		close(stopping)
		opts.Stopping = stopping
	}
	return opts
}

func (s *sample) isText() bool { return s.mediaType == ndjsonType || s.mediaType == csvType }

// encoded is an example of the body as it is sent.
func (s *sample) encoded(example place) []byte {
	if s.isText() {
		return []byte(example.text())
	}
	return encodeJSON(example)
}

// decoded is the body as its schema has it.
func (s *sample) decoded(body []byte) (any, error) {
	if s.isText() {
		return string(body), nil
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(body))
}

// specLine is a line of an answer in NDJSON.
type specLine struct{ value any }

func (l specLine) problemCode() code {
	object, _ := l.value.(map[string]any)
	problem, _ := object["error"].(map[string]any)
	name, _ := problem["code"].(string)
	return code(name)
}

// lines are those of text in NDJSON; other text has none.
func (s *sample) lines(t *testing.T, text []byte) []specLine {
	t.Helper()
	if !s.schema.exists() || !s.schema.at("x-line").exists() {
		return nil
	}
	var all []specLine
	for line := range bytes.Lines(text) {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err != nil {
			t.Fatalf("line %s: %v", line, err)
		}
		all = append(all, specLine{value})
	}
	return all
}

// checkLines compares an answer line by line, but for what differs each time.
func (s *sample) checkLines(t *testing.T, body []byte) {
	t.Helper()
	got, want := s.lines(t, body), s.lines(t, []byte(s.want.text()))
	if len(got) != len(want) || len(want) == 0 {
		t.Fatalf("got %s, want %s", body, s.want.text())
	}
	for i := range want {
		for _, line := range []specLine{got[i], want[i]} {
			if err := s.schema.at("x-line").validate(line.value); err != nil {
				t.Errorf("line %d: %v", i+1, err)
			}
			object := line.value.(map[string]any)
			delete(object, "seconds")
			if problem, ok := object["error"].(map[string]any); ok {
				delete(problem, "request_id")
			}
		}
		if !reflect.DeepEqual(got[i].value, want[i].value) {
			t.Errorf("line %d: got %s, want %v", i+1, body, want[i].value)
		}
	}
}

func (s *scriptedStore) CreateEach(ctx context.Context, employees []models.Employee) []store.ItemResult {
	if s.failure != nil {
		return store.FailedItems(len(employees), s.failure)
	}
	return s.Store.CreateEach(ctx, employees)
}
