package api

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ndbgate/ndbgate/store"
)

func TestLogLevel_IsChanged(t *testing.T) {
	var level slog.LevelVar
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: &level}))
	admin := NewAdmin(store.NewRegistry("sql"), AdminOptions{Level: &level, Logger: logger})
	for _, step := range []struct {
		method, body string
		status       int
		want         slog.Level
	}{
		{http.MethodGet, "", http.StatusOK, slog.LevelInfo},
		{http.MethodPut, "debug\n", http.StatusOK, slog.LevelDebug},
		{http.MethodPut, "Warn", http.StatusOK, slog.LevelWarn},
		{http.MethodPut, "loud", http.StatusBadRequest, slog.LevelWarn},
		{http.MethodPut, "info+2", http.StatusBadRequest, slog.LevelWarn},
		{http.MethodPut, "", http.StatusBadRequest, slog.LevelWarn},
		{http.MethodPut, strings.Repeat(" ", 100) + "debug", http.StatusBadRequest, slog.LevelWarn},
		{http.MethodGet, "", http.StatusOK, slog.LevelWarn},
		{http.MethodPost, "debug", http.StatusMethodNotAllowed, slog.LevelWarn},
	} {
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, httptest.NewRequest(step.method, "/log-level", strings.NewReader(step.body)))
		if w.Code != step.status || level.Level() != step.want {
			t.Errorf("%s %q: got %d and level %v, want %d and %v", step.method, step.body, w.Code, level.Level(), step.status, step.want)
		}
		if w.Code == http.StatusOK && w.Body.String() != strings.ToLower(step.want.String())+"\n" {
			t.Errorf("%s %q: got %q", step.method, step.body, w.Body)
		}
	}
	if got := strings.Count(log.String(), "log level changed"); got != 2 {
		t.Errorf("got %d changes in the log, want 2:\n%s", got, log.String())
	}
}
