package program

import (
	"errors"
	"log/slog"
	"strings"

	"github.com/ndbgate/ndbgate/store"
	"github.com/ndbgate/ndbgate/store/ndbapi"
	"github.com/ndbgate/ndbgate/store/sqlstore"
)

// road is a backend as it was configured.
type road struct {
	name    string
	address string // where it was told to connect, without secrets
	backend store.Backend
}

// openRoads opens every backend that is not switched off. None waits for its
// database.
func openRoads(cfg Config, logger *slog.Logger) ([]road, error) {
	var roads []road
	var native *ndbapi.Store // nil: switched off
	for _, name := range cfg.backendNames() {
		switch name {
		case ndbName:
			var err error
			if native, err = openNDB(cfg, logger); err != nil {
				return nil, err
			}
			roads = append(roads, road{name: ndbName, address: cfg.NDBConnectstring, backend: native})
		case sqlName:
			r, err := openSQL(cfg, logger, native)
			if err != nil && native != nil {
				return nil, errors.Join(err, native.Close())
			}
			if err != nil {
				return nil, err
			}
			roads = append(roads, r)
		}
	}
	return roads, nil
}

func openNDB(cfg Config, logger *slog.Logger) (*ndbapi.Store, error) {
	s, err := ndbapi.Open(ndbapi.Config{
		Connectstring: cfg.NDBConnectstring, Database: cfg.NDBDatabase, NodeIDs: cfg.NDBNodeIDs,
		MaxTransactions: cfg.NDBMaxTransactions, Logger: logger.With("backend", ndbName), Trace: cfg.callTrace(),
	})
	if err != nil {
		setting := findSetting("ndb-connectstring")
		return nil, &ConfigError{Problems: []string{setting.problem("", cfg.origin(setting.name), err)}}
	}
	return s, nil
}

// openSQL opens the SQL road. Only the native road, nil where it is switched
// off, can tell what is on disk, also of that which the SQL nodes have written.
func openSQL(cfg Config, logger *slog.Logger, native *ndbapi.Store) (road, error) {
	c := sqlstore.Config{
		DSNs: cfg.SQLDSNs, MaxOpenConns: cfg.SQLMaxOpenConns, StatementTimeout: cfg.RequestTimeout, Logger: logger.With("backend", sqlName),
		TLS: cfg.SQLTLS,
	}
	if cfg.SQLCA != "" {
		var err error
		if c.CAs, err = readCAs(cfg.SQLCA); err != nil {
			setting := findSetting("sql-tls-ca")
			return road{}, &ConfigError{Problems: []string{setting.problem(cfg.SQLCA, cfg.origin(setting.name), err)}}
		}
	}
	if native != nil {
		c.WaitDurable = native.WaitAllDurable
		c.CheckDurable = func() error {
			_, err := native.Client()
			return err
		}
	}
	s, err := sqlstore.Open(c)
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
	backends := store.NewWeightedRegistry(cfg.DefaultBackends)
	for _, r := range roads {
		backends.Add(r.name, r.backend)
	}
	return backends
}
