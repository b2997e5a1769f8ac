package api

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
)

// logLevel shows and changes what the gateway logs, until it ends.
type logLevel struct {
	level  *slog.LevelVar
	logger *slog.Logger
}

const levelNames = "debug, info, warn or error"

func (l logLevel) get(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, strings.ToLower(l.level.Level().String())+"\n") // fails only where the client has left
}

// put takes the name of a level as the body, with or without an end of line.
func (l logLevel) put(w http.ResponseWriter, r *http.Request) {
	const longest = 16 // bytes
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longest))
	if err != nil {
		http.Error(w, "the body must be "+levelNames, http.StatusBadRequest)
		return
	}
	var level slog.Level
	switch name := strings.ToLower(strings.TrimSpace(string(body))); name {
	case "debug", "info", "warn", "error":
		_ = level.UnmarshalText([]byte(name)) // knows these
	default:
		http.Error(w, "the body must be "+levelNames, http.StatusBadRequest)
		return
	}
	was := l.level.Level()
	l.level.Set(level)
	// At the level of warnings, so that most logs tell why they fall silent or
	// become long.
	l.logger.Warn("log level changed", "was", was.String(), "is", level.String())
	l.get(w, r)
}
