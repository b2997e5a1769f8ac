package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ndbgate/ndbgate/models"
	"github.com/ndbgate/ndbgate/store"
)

const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotency-Replayed"

	defaultKeyLifetime = 24 * time.Hour
)

// once is what a request with an idempotency key has to keep its answer by.
type once struct {
	caller   []byte
	key      []byte
	lifetime time.Duration // of the answer
	bodySum  hash.Hash     // of the body, once it was read
}

// summing is the body, of which what is read is summed up.
func (o *once) summing(body io.Reader) io.Reader { return io.TeeReader(body, o.bodySum) }

// once adapts a handler that writes in one transaction: of the requests with the
// same Idempotency-Key it writes for one, and all others get that one's answer.
// The handler gives its reply to the store together with what it writes; see
// exchange.kept. Without the header nothing is different.
//
// Requests with the same key at this gateway wait here for each other, so that
// they take nothing of the database, and those of other gateways at the row of
// the key; see store.Idempotency.
func (s *server) once(h handler) handler {
	return func(x *exchange) error {
		if _, given := x.r.Header[idempotencyHeader]; !given {
			return h(x)
		}
		key, err := idempotencyKey(x.r.Header)
		if err != nil {
			return err
		}
		caller := callerOf(infoOf(x.ctx).client)
		leave, ok := s.turns.enter(x.ctx, caller+"\x00"+key)
		if !ok {
			return fmt.Errorf("%w: %w", store.ErrKeyInUse, x.ctx.Err())
		}
		defer leave()
		x.once = &once{caller: []byte(caller), key: []byte(key), lifetime: s.keyLifetime, bodySum: sha256.New()}
		err = h(x)
		if answered, ok := errors.AsType[*store.AnsweredError](err); ok {
			r, err := s.answeredBefore(x, &answered.Answer)
			if err != nil {
				return err
			}
			x.reply(r)
			return nil
		}
		return explainOnce(err)
	}
}

// idempotencyKey reads the header: a string as structured headers have it, as the
// draft of the standard wants, or plainly the same text without quotes, as many
// clients send it. Both are the same key.
func idempotencyKey(h http.Header) (string, error) {
	value, err := onlyValue(h, idempotencyHeader)
	if err != nil {
		return "", err
	}
	key, ok := value, !strings.ContainsAny(value, ` ",`)
	if quoted, isString := strings.CutPrefix(value, `"`); isString {
		key, ok = unquoted(quoted)
	}
	if !ok || len(key) < 1 || len(key) > models.MaxIdempotencyKeyBytes || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
		return "", refuseHeader(idempotencyHeader, "key", fmt.Sprintf(
			`must be 1 to %d printable ASCII characters, in quotes where spaces, quotes or commas are among them`, models.MaxIdempotencyKeyBytes))
	}
	return key, nil
}

// callerOf is a client as kept answers name it: each has keys of its own. A name
// that is too long for the column is there as its sum, which no name is: it has no
// colon.
func callerOf(client string) string {
	if len(client) <= models.MaxCallerBytes {
		return client
	}
	sum := sha256.Sum256([]byte(client))
	return hex.EncodeToString(sum[:])
}

// unquoted reads what follows the first quote of a string (RFC 9651, section
// 4.2.5), to its end.
func unquoted(text string) (s string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), i == len(text)-1
		case c == '\\':
			if i++; i == len(text) || text[i] != '"' && text[i] != '\\' {
				return "", false
			}
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// kept is the reply as it is kept under the request's key.
func (x *exchange) kept(r *reply) models.KeptAnswer {
	now := time.Now()
	return models.KeptAnswer{
		Caller:  x.once.caller,
		Key:     x.once.key,
		Request: x.requestSum(),
		Made:    now.UnixMilli(),
		Expires: now.Add(x.once.lifetime).UnixMilli(),
		Answer:  r.encode(),
	}
}

// requestSum stands for all that the reply depends on. Which road is taken, and
// what is waited for, is no part of it: a request may be sent again by another
// road.
func (x *exchange) requestSum() []byte {
	sum := sha256.New()
	// Neither of these has a line feed in it.
	fmt.Fprintf(sum, "%s\n%s\n%s\n", x.r.Method, x.r.URL.RequestURI(), x.w.Header().Get("Preference-Applied"))
	sum.Write(x.once.bodySum.Sum(nil))
	return hex.AppendEncode(nil, sum.Sum(nil))
}

// answeredBefore is the reply that is kept, where that is the one to this request.
func (s *server) answeredBefore(x *exchange, kept *models.KeptAnswer) (*reply, error) {
	if !kept.Answers(&models.KeptAnswer{Request: x.requestSum()}) {
		return nil, newProblem(codeKeyReused, "that one had another path, body or Prefer; nothing was done")
	}
	r, err := decodeReply(kept.Answer)
	if err != nil {
		return nil, fmt.Errorf("the answer kept under the key: %w", err)
	}
	x.w.Header().Set(replayedHeader, "true")
	s.metrics.replays.WithLabelValues(x.road).Inc()
	return r, nil
}

// What to do after a failure that leaves questions.
const (
	waitOnAgain  = "send the same request with the same " + idempotencyHeader + " again to wait on: it is not done twice"
	resolveAgain = "send the same request with the same " + idempotencyHeader + " again: if it was done you get its answer, and if not it is done then"
)

// explainOnce says of a failure that leaves questions what a key is good for. The
// cause stays.
func explainOnce(err error) error {
	switch _, notOnDisk := errors.AsType[*notOnDiskError](err); {
	case notOnDisk:
		return fmt.Errorf("%w: %w", newProblem(codeNotDurableYet, "it is committed in the memory of the data nodes; "+waitOnAgain), err)
	case errors.Is(err, store.ErrUnknownOutcome):
		return fmt.Errorf("%w: %w", newProblem(codeOutcomeUnknown, resolveAgain), err)
	default:
		return err
	}
}

// onceStore is the part of store.Idempotency that writes.
type onceStore interface {
	CreateOnce(ctx context.Context, e models.Employee, a models.KeptAnswer) error
}

// onceStoreOf finds it in the road of an exchange, which is a store.Backend, or
// one with what a durableStore adds.
func onceStoreOf(road store.Employees) onceStore { return road.(onceStore) }
