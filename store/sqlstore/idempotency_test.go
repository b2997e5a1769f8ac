package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
	"github.com/ndbgate/ndbgate/store/storetest"
)

func TestIdempotency(t *testing.T) {
	dsns := testDSNs(t)
	storetest.RunIdempotency(t, func(t *testing.T) []storetest.IdempotentStore {
		roads := []storetest.IdempotentStore{}
		for _, dsn := range dsns { // one store for each SQL node: as of different gateways
			roads = append(roads, open(t, sqlstore.Config{DSNs: []string{dsn}}))
		}
		return roads
	})
}

// answerOf is what is kept of the employee's creation.
func answerOf(key string, e models.Employee) models.KeptAnswer {
	now := time.Now().UnixMilli()
	return models.KeptAnswer{
		Caller: []byte{}, Key: []byte(key), Request: []byte("request"),
		Made: now, Expires: now + 10*time.Minute.Milliseconds(), Answer: fmt.Append(nil, e.ID),
	}
}

func createOnce(ctx context.Context, s *sqlstore.Store, key string, e models.Employee) error {
	return s.CreateOnce(ctx, e, answerOf(key, e))
}

func isAnswered(err error) bool {
	_, answered := errors.AsType[*store.AnsweredError](err)
	return answered
}

const (
	keepsAnswer = "EXECUTE INSERT INTO `idempotency`"
	createsRow  = "EXECUTE INSERT INTO `employee`"
	readsAnswer = "EXECUTE SELECT `idempotency`"
)

// The answer goes first, so that twins meet before they have written anything.
func TestCreateOnce_IsOneTransaction(t *testing.T) {
	server := startServer(t)
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
	if err := createOnce(t.Context(), s, "key", employee(1)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, request := range server.requests() {
		for _, statement := range []string{"QUERY START TRANSACTION", keepsAnswer, createsRow, "QUERY COMMIT", "QUERY ROLLBACK"} {
			if strings.HasPrefix(request, statement) {
				got = append(got, statement)
			}
		}
	}
	if want := []string{"QUERY START TRANSACTION", keepsAnswer, createsRow, "QUERY COMMIT"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCreateOnce_Failures(t *testing.T) {
	exists := fails(1062, "Duplicate entry 'x' for key 'PRIMARY'")
	for name, test := range map[string]struct {
		at    string
		reply reply
		kinds []error
	}{
		"the employee exists":        {createsRow, exists, []error{store.ErrConflict}},
		"no table of answers":        {keepsAnswer, fails(1146, "Table 'ndbtest.idempotency' doesn't exist"), []error{store.ErrNoAnswers, store.ErrUnavailable}},
		"another table of answers":   {keepsAnswer, fails(1054, "Unknown column 'made' in 'field list'"), []error{store.ErrNoAnswers, store.ErrUnavailable}},
		"one with more columns":      {keepsAnswer, fails(1364, "Field 'x' doesn't have a default value"), []error{store.ErrNoAnswers, store.ErrUnavailable}},
		"no table of employees":      {createsRow, fails(1146, "Table 'ndbtest.employee' doesn't exist"), []error{store.ErrUnavailable}},
		"the employee is locked":     {createsRow, fails(1205, "Lock wait timeout exceeded"), []error{store.ErrUnavailable}},
		"an answer comes and goes":   {keepsAnswer, exists, []error{store.ErrUnavailable}},
		"connection lost at the key": {keepsAnswer, cut, []error{store.ErrUnavailable}},
		"connection lost at the row": {createsRow, cut, []error{store.ErrUnavailable}},
		"connection lost at the end": {"QUERY COMMIT", cut, []error{store.ErrUnknownOutcome}},
		"node failure at the end":    {"QUERY COMMIT", fails(1180, "Got error 4009 'Cluster Failure' during COMMIT"), []error{store.ErrUnknownOutcome}},
		"an error without a meaning": {keepsAnswer, fails(1, "strange"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t)
			s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
			server.onRequest(func(request string) reply {
				switch {
				case strings.HasPrefix(request, test.at):
					return test.reply
				case strings.HasPrefix(request, readsAnswer):
					return reply{none: true}
				}
				return reply{}
			})
			err := createOnce(t.Context(), s, "key", employee(1))
			if err == nil || isAnswered(err) {
				t.Fatalf("got error %v", err)
			}
			for _, kind := range []error{store.ErrConflict, store.ErrNoAnswers, store.ErrUnavailable, store.ErrUnknownOutcome, store.ErrKeyInUse, store.ErrNotFound} {
				if got, want := errors.Is(err, kind), slices.Contains(test.kinds, kind); got != want {
					t.Errorf("got error %v, is it %v: %v, want %v", err, kind, got, want)
				}
			}
		})
	}
}

func TestCreateOnce_KeyLocked_WaitsToTheDeadline(t *testing.T) {
	server := startServer(t)
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
	server.on(keepsAnswer, fails(1205, "Lock wait timeout exceeded"))
	ctx, cancel := context.WithTimeout(t.Context(), 8*fast) // room for the first try on a busy machine
	defer cancel()
	err := createOnce(ctx, s, "key", employee(1))
	if !errors.Is(err, store.ErrKeyInUse) || errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("got error %v, want %v", err, store.ErrKeyInUse)
	}
	if n := server.count(keepsAnswer); n < 2 {
		t.Errorf("got %d tries, want more", n)
	}
	if n := server.count("QUERY COMMIT"); n != 0 {
		t.Errorf("got %d commits", n)
	}
}

func TestCreateOnce_KeyLockedForAWhile_IsDone(t *testing.T) {
	server := startServer(t)
	s := open(t, sqlstore.Config{DSNs: []string{server.dsn()}})
	tries := 0
	server.onRequest(func(request string) reply {
		if strings.HasPrefix(request, keepsAnswer) {
			if tries++; tries < 3 {
				return fails(1205, "Lock wait timeout exceeded")
			}
		}
		return reply{}
	})
	if err := createOnce(t.Context(), s, "key", employee(1)); err != nil {
		t.Error(err)
	}
}

// The connection is cut at a chosen message between the store and a real mysqld.
// Whatever had happened by then, the next try, by another SQL node, makes it one
// employee and one answer.
func TestMySQL_CreateOnce_CutConnection_NextTryResolves(t *testing.T) {
	dsns := testDSNs(t)
	direct := open(t, sqlstore.Config{DSNs: dsns[len(dsns)-1:]})
	for name, c := range map[string]struct {
		cut  cutPoint
		kind error
		done bool
	}{
		"before it begins":       {cutPoint{comQuery, "START", false}, store.ErrUnavailable, false},
		"begin, answer lost":     {cutPoint{comQuery, "START", true}, store.ErrUnavailable, false},
		"key, request lost":      {cutPoint{comPrepare, "INSERT INTO `idempotency`", false}, store.ErrUnavailable, false},
		"key, answer lost":       {cutPoint{comExecute, "", true}, store.ErrUnavailable, false},
		"employee, request lost": {cutPoint{comPrepare, "INSERT INTO `employee`", false}, store.ErrUnavailable, false},
		"commit, request lost":   {cutPoint{comQuery, "COMMIT", false}, store.ErrUnknownOutcome, false},
		"commit, answer lost":    {cutPoint{comQuery, "COMMIT", true}, store.ErrUnknownOutcome, true},
		"nothing lost":           {cutPoint{comQuery, "NOTHING", true}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			e, other := newRow(t, direct), newRow(t, direct)
			key := fmt.Sprintf("sqlstore-%d", rand.Int64())
			p, dsn := startProxy(t, dsns[0])
			s := open(t, sqlstore.Config{DSNs: []string{dsn}})
			p.cutAt.Store(&c.cut)
			if err := createOnce(t.Context(), s, key, e); !errors.Is(err, c.kind) {
				t.Errorf("got error %v, want %v", err, c.kind)
			}
			p.cutAt.Store(nil)
			err := createOnce(t.Context(), direct, key, other)
			if isAnswered(err) != c.done || !c.done && err != nil {
				t.Errorf("next try: got error %v, want the first try's answer: %v", err, c.done)
			}
			if has(t, direct, e.ID) != c.done || has(t, direct, other.ID) == c.done {
				t.Errorf("got the employee of the first try %v and of the second %v, want it to be the first's: %v",
					has(t, direct, e.ID), has(t, direct, other.ID), c.done)
			}
		})
	}
}

// A SQL node that died in the midst holds the key until the cluster knows; here
// it is another client.
func TestMySQL_CreateOnce_KeyHeldByAnother_WaitsForItsEnd(t *testing.T) {
	s := open(t, sqlstore.Config{DSNs: testDSNs(t)})
	for name, commits := range map[string]bool{"that commits": true, "that gives up": false} {
		t.Run(name, func(t *testing.T) {
			e := newRow(t, s)
			a := answerOf(fmt.Sprintf("sqlstore-%d", rand.Int64()), e)
			tx, err := rawDB(t).BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tx.ExecContext(t.Context(), "INSERT INTO idempotency (caller, idempotency_key, request, made, expires, answer) VALUES ('', ?, ?, ?, ?, ?)",
				a.Key, a.Request, a.Made, a.Expires, a.Answer)
			if err != nil {
				t.Fatal(err)
			}
			short, cancel := context.WithTimeout(t.Context(), 4*time.Second) // longer than one wait for a lock, which the data nodes look at now and then
			defer cancel()
			if err := s.CreateOnce(short, e, a); !errors.Is(err, store.ErrKeyInUse) {
				t.Errorf("got error %v, want %v", err, store.ErrKeyInUse)
			}
			ended := make(chan error, 1)
			go func() { ended <- s.CreateOnce(t.Context(), e, a) }() // ends after tx
			if commits {
				err = tx.Commit()
			} else {
				err = tx.Rollback()
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := <-ended; isAnswered(err) != commits || !commits && err != nil {
				t.Errorf("got error %v, want an answer: %v", err, commits)
			}
			if has(t, s, e.ID) == commits {
				t.Errorf("got an employee: %v", !commits)
			}
		})
	}
}
