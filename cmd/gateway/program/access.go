package program

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ndbgate/ndbgate/access"
)

// guard decides who may call, secures connections, and follows the files that
// both depend on.
type guard struct {
	gate    *access.Gate // nil: everybody may call
	tls     *serverTLS   // nil: connections are plain
	watcher *access.Watcher
}

// openGuard reads all files. Its error is a *ConfigError.
func openGuard(cfg *Config, logger *slog.Logger) (*guard, error) {
	g := &guard{watcher: &access.Watcher{Logger: logger}}
	if cfg.asksWhoCalls() {
		g.gate = &access.Gate{Logger: logger}
	}
	for _, step := range []struct {
		setting string
		open    func() error
	}{
		{"api-keys", func() error { return g.openKeys(cfg) }},
		{"jwt-jwks", func() error { return g.openTokens(cfg, logger) }},
		{"tls-cert", func() error { return g.openTLS(cfg) }},
	} {
		if err := step.open(); err != nil {
			s := findSetting(step.setting)
			return nil, &ConfigError{Problems: []string{s.problem(s.show(cfg), cfg.origin(s.name), err)}}
		}
	}
	g.warn(cfg, logger)
	return g, nil
}

// errNoKeys is for listeners that are there for others, of whom none could call.
var errNoKeys = errors.New("it has no key, so that nobody could call; gateway keys new makes one")

func (g *guard) openKeys(cfg *Config) (err error) {
	if cfg.KeysFile == "" {
		return nil
	}
	if g.gate.Keys, err = access.OpenKeys(cfg.KeysFile, nil); err != nil {
		return err
	}
	if g.gate.Keys.Len() == 0 && cfg.onlyKeys() && (!onLoopback(cfg.Listen) || !onLoopback(cfg.AdminListen)) {
		return errNoKeys
	}
	return g.watcher.Add("API keys", g.gate.Keys.Load, cfg.KeysFile)
}

func (g *guard) openTokens(cfg *Config, logger *slog.Logger) (err error) {
	if cfg.JWKS == "" {
		return nil
	}
	g.gate.Tokens, err = access.OpenTokens(access.TokensConfig{
		Source: cfg.JWKS, Issuer: cfg.JWTIssuer, Audience: cfg.JWTAudience, Logger: logger,
	})
	if err != nil || !g.gate.Tokens.IsFile() {
		return err
	}
	return g.watcher.Add("public keys of tokens", g.gate.Tokens.Load, cfg.JWKS)
}

func (g *guard) openTLS(cfg *Config) error {
	if cfg.TLSCert == "" {
		return nil
	}
	g.tls = &serverTLS{certFile: cfg.TLSCert, keyFile: cfg.TLSKey, caFile: cfg.ClientCA}
	if cfg.ClientCA != "" {
		g.gate.Certificates = &access.Certificates{Scopes: cfg.ClientScopes, CAs: g.tls.clientCAs}
	}
	return g.watcher.Add("certificates", g.tls.load, g.tls.files()...)
}

// warn tells of what is allowed, and better known.
func (g *guard) warn(cfg *Config, logger *slog.Logger) {
	for _, l := range []struct{ name, address, open string }{
		{"listen", cfg.Listen, "everybody who reaches the gateway may read and write all rows"},
		{"admin_listen", cfg.AdminListen, "everybody who reaches the admin listener may see metrics and profiles, and change the log level"},
	} {
		switch reached := !onLoopback(l.address); {
		case reached && g.gate == nil:
			logger.Warn(l.open, l.name, l.address)
		case reached && g.tls == nil:
			logger.Warn("keys and tokens come in the clear, unless something in front of the gateway takes TLS", l.name, l.address)
		}
	}
	if g.gate != nil && g.gate.Keys != nil {
		if g.gate.Keys.Len() == 0 && cfg.onlyKeys() {
			logger.Warn("nobody can call before there is an API key", "file", cfg.KeysFile)
		}
		logger.Info("API keys", "file", cfg.KeysFile, "keys", g.gate.Keys.Len())
	}
}

// run follows files and issuers until the context ends. A signal has it read all
// files again.
func (g *guard) run(ctx context.Context, hangups <-chan os.Signal) {
	var parts sync.WaitGroup
	parts.Go(func() { g.watcher.Run(ctx, hangups) }) // ends with the context
	if g.gate != nil && g.gate.Tokens != nil {
		parts.Go(func() { g.gate.Tokens.Run(ctx) }) // ends with the context
	}
	parts.Wait()
}

// adminGate is nil where only this host reaches the admin listener.
func (g *guard) adminGate(cfg *Config) *access.Gate {
	if onLoopback(cfg.AdminListen) {
		return nil
	}
	return g.gate
}

// isLocalOnly tells whether a listener is for this host's own clients alone: it asks
// nobody who calls, and neither was it told that everybody may.
func isLocalOnly(cfg *Config, gate *access.Gate) bool {
	return gate == nil && !cfg.Insecure
}

// secure gives the listeners TLS: the one for operators only where others than
// this host reach it.
func (g *guard) secure(cfg *Config, servers *gateway) {
	if g.tls == nil {
		return
	}
	servers.public.TLSConfig = g.tls.config()
	if !onLoopback(cfg.AdminListen) {
		servers.admin.TLSConfig = g.tls.config()
	}
}

// register shows what operators had better see before callers do.
func (g *guard) register(metrics prometheus.Registerer) {
	metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ndbgate_files_not_loaded", Help: "Keys and certificates whose files have changed and cannot be read, so that the old ones are in use.",
	}, func() float64 { return float64(g.watcher.Failing()) }))
	if g.tls != nil {
		metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ndbgate_tls_certificate_expiry_timestamp_seconds", Help: "When the certificate of the listeners ends.",
		}, func() float64 { return float64(g.tls.ends().Unix()) }))
	}
}
