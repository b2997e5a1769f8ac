package access

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	refreshEvery = 5 * time.Minute
	// refreshAgain is the least time between two requests, whatever tokens come
	// and whatever fails.
	refreshAgain = time.Minute
	// firstTries is the time between requests while there is no key at all.
	firstTries   = 5 * time.Second
	fetchTimeout = 10 * time.Second
	// waitForKey is how long a request waits for the key that its token names.
	waitForKey   = 3 * time.Second
	maxRedirects = 3
)

func isURL(source string) bool {
	return strings.HasPrefix(source, "https://") || strings.HasPrefix(source, "http://")
}

var errURL = errors.New("must be an https URL, or an http URL of this host, without user and fragment")

func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errURL
	}
	return checkParsedURL(u)
}

func checkParsedURL(u *url.URL) error {
	local := u.Scheme == "http" && isLoopback(u.Hostname())
	if u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && !local {
		return errURL
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// remoteKeys are the public keys that a URL gives. They stay as they were while
// it gives none.
type remoteKeys struct {
	url    string
	client *http.Client
	log    *slog.Logger
	set    atomic.Pointer[keySet] // nil: there were none yet
	wake   chan struct{}          // holds one

	mu    sync.Mutex    // guards fetch and begun
	fetch chan struct{} // closed when the one under way, or asked for, has ended; nil: none
	begun time.Time     // the last one
}

func newRemoteKeys(address string, client *http.Client, log *slog.Logger) *remoteKeys {
	own := http.Client{Timeout: fetchTimeout}
	if client != nil {
		own.Transport = client.Transport
	}
	own.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return errors.New("too many redirects")
		}
		return checkParsedURL(r.URL)
	}
	return &remoteKeys{url: address, client: &own, log: log, wake: make(chan struct{}, 1)}
}

// run asks the URL now and from time to time, and when it is woken.
func (k *remoteKeys) run(ctx context.Context) {
	defer k.client.CloseIdleConnections()
	for {
		k.refresh(ctx)
		pause := refreshEvery
		if k.set.Load() == nil {
			pause = firstTries
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-k.wake:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

func (k *remoteKeys) refresh(ctx context.Context) {
	k.begin()
	defer k.end()
	set, err := k.get(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		k.log.Warn("public keys of tokens", "error", err.Error(), "kept", k.set.Load() != nil)
	default:
		k.set.Store(&set)
		k.log.Debug("public keys of tokens", "ids", len(set))
	}
}

// begin joins the refresh that requests wait for, if there is one.
func (k *remoteKeys) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begun = time.Now()
	if k.fetch == nil {
		k.fetch = make(chan struct{})
	}
	select {
	case <-k.wake: // it is what this one answers
	default:
	}
}

func (k *remoteKeys) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.fetch)
	k.fetch = nil
}

// get asks the URL. Its errors have nothing of the answer but its status.
func (k *remoteKeys) get(ctx context.Context) (keySet, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/jwk-set+json, application/json")
	answer, err := k.client.Do(r)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the query of the URL, which may have a secret
	}
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() // only read: its error tells nothing
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer has status %d", answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxKeySetBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKeySetBytes {
		return nil, fmt.Errorf("the answer is longer than %d bytes", maxKeySetBytes)
	}
	return parseKeySet(text)
}

// find waits for a refresh where the key is not known: an issuer may sign with a
// new one at once.
func (k *remoteKeys) find(ctx context.Context, id string, algorithm jose.SignatureAlgorithm) (crypto.PublicKey, error) {
	if key := k.known(id, algorithm); key != nil {
		return key, nil
	}
	if fetch := k.ask(); fetch != nil {
		timer := time.NewTimer(waitForKey)
		defer timer.Stop()
		select {
		case <-fetch:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if key := k.known(id, algorithm); key != nil {
		return key, nil
	}
	if k.set.Load() == nil {
		return nil, fmt.Errorf("%w: the issuer's keys are not known yet", ErrUnavailable)
	}
	return nil, errUnknownKey()
}

func (k *remoteKeys) current() *keySet { return k.set.Load() }

func (k *remoteKeys) known(id string, algorithm jose.SignatureAlgorithm) crypto.PublicKey {
	set := cmp.Or(k.set.Load(), &keySet{})
	return set.find(id, algorithm)
}

// ask has run refresh, unless it did so a short time ago. It returns nil where
// there is nothing to wait for.
func (k *remoteKeys) ask() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fetch == nil && time.Since(k.begun) >= refreshAgain {
		k.fetch = make(chan struct{})
		k.wake <- struct{}{} // it has room: begin has emptied it
	}
	return k.fetch
}
