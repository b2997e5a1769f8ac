package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/ndbgate/ndbgate/internal/chaos/history"
)

// answer is what came back for one request: a status, or an error.
type answer struct {
	status int
	tag    string
	body   []byte
	err    error
}

// fate is what is known of an operation after its answer.
type fate struct {
	outcome history.Outcome
	saw     *history.Row
	notDone bool   // surely: no part of the history
	wrong   string // what must not be answered, if anything
}

var (
	notDone = fate{notDone: true}
	unknown = fate{outcome: history.Unknown}
)

// problemStatus is what the codes of problems mean that tell of the row.
var problemStatus = map[string]history.Outcome{
	"not_found": history.NotFound, "already_exists": history.Exists, "precondition_failed": history.Mismatch,
}

// fateOf reads an answer. A connection that could not be made has carried
// nothing; one that was lost later, or a client's patience, says nothing: the
// request may have arrived, and be carried out at any later moment. Problems but
// outcome_unknown and internal promise that nothing was done.
func fateOf(kind history.Kind, a answer) fate {
	if a.err != nil {
		if dial, ok := errors.AsType[*net.OpError](a.err); ok && dial.Op == "dial" {
			return notDone
		}
		return lost(kind)
	}
	switch a.status {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		return fateOfSuccess(kind, a)
	}
	var p struct{ Code, Detail string }
	if err := json.Unmarshal(a.body, &p); err != nil || p.Code == "" {
		f := lost(kind)
		f.wrong = fmt.Sprintf("%v: %d without a problem: %q", kind, a.status, a.body)
		return f
	}
	if outcome, ok := problemStatus[p.Code]; ok {
		return fate{outcome: outcome}
	}
	switch p.Code {
	case "unavailable", "timeout", "stopping", "rate_limited", "overloaded":
		return notDone
	case "outcome_unknown":
		if kind == history.Get {
			return fate{notDone: true, wrong: "get: a read of unknown outcome"}
		}
		return unknown
	default:
		f := lost(kind)
		f.wrong = fmt.Sprintf("%v: %d %s: %s", kind, a.status, p.Code, p.Detail)
		return f
	}
}

// lost is the fate of an operation without an answer. That of a read tells
// nothing.
func lost(kind history.Kind) fate {
	if kind == history.Get {
		return notDone
	}
	return unknown
}

func fateOfSuccess(kind history.Kind, a answer) fate {
	var f fate
	switch {
	case kind == history.Create || kind == history.Put && a.status == http.StatusCreated:
		f.outcome = history.Created
	case kind == history.Put:
		f.outcome = history.Replaced
	default:
		f.outcome = history.Done
	}
	if len(a.body) == 0 {
		if kind == history.Get {
			return fate{notDone: true, wrong: fmt.Sprintf("get: %d without a body", a.status)}
		}
		return f
	}
	var employee struct {
		First, Last, City *string
		Department        int32
	}
	if err := json.Unmarshal(a.body, &employee); err != nil {
		f.wrong = fmt.Sprintf("%v: %d %q: %v", kind, a.status, a.body, err)
		return f
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	f.saw = &history.Row{
		Present: true, First: text(employee.First), Last: text(employee.Last), City: text(employee.City), Department: employee.Department,
	}
	return f
}
