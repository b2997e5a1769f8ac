package main

import (
	"log/slog"
	"strings"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

// road is a backend as it was configured.
type road struct {
	name    string
	address string // where it was told to connect, without secrets
	backend store.Backend

	// notBuilt is why this program has no code for the road; empty where it
	// has. The backend is then a store.Unavailable.
	notBuilt string
}

// openRoads opens every backend that is not switched off. None waits for its
// database.
func openRoads(cfg Config, logger *slog.Logger) ([]road, error) {
	var roads []road
	for _, name := range cfg.backendNames() {
		switch name {
		case ndbName:
			roads = append(roads, openNDB(cfg))
		case sqlName:
			r, err := openSQL(cfg, logger)
			if err != nil {
				return nil, err
			}
			roads = append(roads, r)
		}
	}
	return roads, nil
}

func openNDB(cfg Config) road {
	return road{
		name: ndbName, address: cfg.NDBConnectstring,
		backend:  store.Unavailable{Reason: "the native road is not part of this build yet"},
		notBuilt: "not part of this build yet",
	}
}

func openSQL(cfg Config, logger *slog.Logger) (road, error) {
	s, err := sqlstore.Open(sqlstore.Config{
		DSNs: cfg.SQLDSNs, MaxOpenConns: cfg.SQLMaxOpenConns, StatementTimeout: cfg.RequestTimeout, Logger: logger.With("backend", sqlName),
	})
	if err != nil {
		setting := findSetting("sql-dsn")
		return road{}, &ConfigError{Problems: []string{setting.problem("", cfg.origin(setting.name), err)}}
	}
	var addresses []string
	for _, node := range s.Status().Nodes {
		addresses = append(addresses, node.Address)
	}
	return road{name: sqlName, address: strings.Join(addresses, ","), backend: s}, nil
}

func newRegistry(cfg Config, roads []road) *store.Registry {
	backends := store.NewRegistry(cfg.DefaultBackend)
	for _, r := range roads {
		backends.Add(r.name, r.backend)
	}
	return backends
}
