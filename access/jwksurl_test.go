package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// answers is a transport that gives one answer after the other, and the last one
// for ever.
type answers struct {
	mu    sync.Mutex // guards all
	texts []string   // empty: status 500
	asked int
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := a.texts[min(a.asked, len(a.texts)-1)]
	a.asked++
	w := httptest.NewRecorder()
	if text == "" {
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, _ = w.WriteString(text) // a recorder takes all
	answer := w.Result()
	answer.Request = r
	return answer, nil
}

func (a *answers) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

// runRemote runs tokens whose keys a URL gives, in a bubble of synctest.
func runRemote(t *testing.T, clock *clock, a *answers) *Tokens {
	t.Helper()
	tokens, err := OpenTokens(TokensConfig{
		Source: "https://issuer.example/keys", Issuer: "https://issuer.example", Audience: "ndbgate",
		Now: clock.now, Client: &http.Client{Transport: a},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { tokens.Run(ctx) }) // ends with cancel
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return tokens
}

func TestRemoteKeys_UnknownKey_AsksOnceAMinute(t *testing.T) {
	clock, issuer := newClock(), newIssuer(t)
	a := &answers{texts: []string{string(issuer.jwks("ed")), string(issuer.jwks("ed")), string(issuer.jwks())}}
	ed := issuer.sign(jose.EdDSA, "ed", goodClaims(clock, nil))
	ec := issuer.sign(jose.ES256, "ec", goodClaims(clock, nil))
	synctest.Test(t, func(t *testing.T) {
		tokens := runRemote(t, clock, a)
		if _, err := tokens.verify(t.Context(), ed); err != nil {
			t.Errorf("at the start, while the keys come: %v", err)
		}
		for range 100 {
			if _, err := tokens.verify(t.Context(), ec); err == nil {
				t.Fatal("an unknown key: got no error")
			}
		}
		if got := a.count(); got != 1 {
			t.Errorf("asked %d times in the first minute, want 1", got)
		}
		time.Sleep(refreshAgain)
		for range 100 {
			if _, err := tokens.verify(t.Context(), ec); err == nil {
				t.Fatal("a key that is still unknown: got no error")
			}
		}
		if got := a.count(); got != 2 {
			t.Errorf("asked %d times in two minutes, want 2", got)
		}
		time.Sleep(refreshAgain)
		if _, err := tokens.verify(t.Context(), ec); err != nil {
			t.Errorf("a key that is new: %v", err)
		}
		if got := a.count(); got != 3 {
			t.Errorf("asked %d times in three minutes, want 3", got)
		}
	})
}

func TestRemoteKeys_RefreshedFromTimeToTime_AndKept(t *testing.T) {
	clock, issuer := newClock(), newIssuer(t)
	a := &answers{texts: []string{string(issuer.jwks()), "", "no JSON", strings.Repeat(" ", maxKeySetBytes+1), `{"keys":[]}`, string(issuer.jwks("ec"))}}
	ed := issuer.sign(jose.EdDSA, "ed", goodClaims(clock, nil))
	synctest.Test(t, func(t *testing.T) {
		tokens := runRemote(t, clock, a)
		for i := range a.texts {
			synctest.Wait()
			_, err := tokens.verify(t.Context(), ed)
			if last := i == len(a.texts)-1; (err != nil) != last {
				t.Errorf("after answer %d: got %v, want an error after the last alone", i, err)
			}
			time.Sleep(refreshEvery)
		}
	})
}

func TestRemoteKeys_NoneYet_IsUnavailable(t *testing.T) {
	clock, issuer := newClock(), newIssuer(t)
	a := &answers{texts: []string{"", string(issuer.jwks())}}
	ed := issuer.sign(jose.EdDSA, "ed", goodClaims(clock, nil))
	synctest.Test(t, func(t *testing.T) {
		tokens := runRemote(t, clock, a)
		if _, err := tokens.verify(t.Context(), ed); !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		time.Sleep(firstTries)
		synctest.Wait()
		if _, err := tokens.verify(t.Context(), ed); err != nil {
			t.Errorf("after the second try: %v", err)
		}
	})
}

// stalled never answers.
type stalled struct{}

func (stalled) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestRemoteKeys_Stalled_RequestsWaitForAShortTime(t *testing.T) {
	clock, issuer := newClock(), newIssuer(t)
	ed := issuer.sign(jose.EdDSA, "ed", goodClaims(clock, nil))
	synctest.Test(t, func(t *testing.T) {
		keys := newRemoteKeys("https://issuer.example/keys", &http.Client{Transport: stalled{}}, slog.New(slog.DiscardHandler))
		tokens := &Tokens{issuer: "x", audience: "y", now: clock.now, keys: keys}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { tokens.Run(ctx) }) // ends with cancel
		begun := time.Now()
		if _, err := tokens.verify(t.Context(), ed); !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		if took := time.Since(begun); took != waitForKey {
			t.Errorf("took %v, want %v", took, waitForKey)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		begun = time.Now()
		if _, err := tokens.verify(gone, ed); !errors.Is(err, ErrUnavailable) || time.Since(begun) > 0 {
			t.Errorf("a client that has left: got %v after %v", err, time.Since(begun))
		}
		cancel()
		running.Wait()
	})
}

func TestRemoteKeys_FollowsNoRedirectToPlainHTTP(t *testing.T) {
	var reached atomic.Bool
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, "http://issuer.example/keys", http.StatusFound)
		case "/loop":
			reached.Store(true)
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/here":
			fmt.Fprint(w, "no JSON")
		}
	}))
	t.Cleanup(issuer.Close)
	for path, want := range map[string]string{"/": "must be an https URL", "/loop": "too many redirects", "/here": "it is no JWK Set"} {
		keys := newRemoteKeys(issuer.URL+path+"?secret", nil, slog.New(slog.DiscardHandler))
		_, err := keys.get(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q and nothing of the query", path, err, want)
		}
		keys.client.CloseIdleConnections()
	}
	if !reached.Load() {
		t.Error("no redirect on this host was followed")
	}
}
