package sqlnode

import (
	"context"

	"github.com/dolthub/vitess/go/mysql"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"

	"github.com/ndbgate/ndbgate/ndb/ndbtest"
)

// session is one client's connection. The engine uses it from one goroutine at
// a time.
type session struct {
	*sql.BaseSession
	cluster   *ndbtest.Cluster
	open      *transaction // the last one started
	statement statement
}

var (
	_ sql.TransactionSession    = (*session)(nil)
	_ sql.LifecycleAwareSession = (*session)(nil)
)

// sessions makes the session of each connection.
type sessions struct {
	cluster *ndbtest.Cluster
}

func (s *sessions) build(_ context.Context, c *mysql.Conn, addr string) (sql.Session, error) {
	client := sql.Client{Capabilities: c.Capabilities}
	if user, ok := c.UserData.(sql.MysqlConnectionUser); ok {
		client.User, client.Address = user.User, user.Host
	}
	base := sql.NewBaseSessionWithClientServer(addr, client, c.ConnectionID)
	return &session{BaseSession: base, cluster: s.cluster}, nil
}

func sessionOf(ctx *sql.Context) *session {
	return ctx.Session.(*session)
}

// StartTransaction starts a transaction. The engine calls it for BEGIN, and
// before each statement that is in no transaction.
func (s *session) StartTransaction(_ *sql.Context, char sql.TransactionCharacteristic) (sql.Transaction, error) {
	s.drop()
	s.open = &transaction{cluster: s.cluster, readOnly: char == sql.ReadOnly}
	return s.open, nil
}

func (s *session) CommitTransaction(_ *sql.Context, t sql.Transaction) error {
	return rowsError(t.(*transaction).commit())
}

func (s *session) Rollback(_ *sql.Context, t sql.Transaction) error {
	t.(*transaction).rollback()
	return nil
}

// NDB has no savepoints.

func (s *session) CreateSavepoint(*sql.Context, sql.Transaction, string) error {
	return notSupported("SAVEPOINT")
}

func (s *session) RollbackToSavepoint(_ *sql.Context, _ sql.Transaction, name string) error {
	return noSavepoint(name)
}

func (s *session) ReleaseSavepoint(_ *sql.Context, _ sql.Transaction, name string) error {
	return noSavepoint(name)
}

func noSavepoint(name string) error {
	return mysqlError(erSPDoesNotExist, "SAVEPOINT %s does not exist", name)
}

// CommandBegin implements sql.LifecycleAwareSession.
func (s *session) CommandBegin() error {
	s.statement = statement{}
	return nil
}

// CommandEnd rolls back what a failed statement of its own, outside of BEGIN
// and COMMIT, has left: the engine commits such a statement when it succeeds,
// but forgets it when it fails.
func (s *session) CommandEnd() {
	ctx := sql.NewContext(context.Background(), sql.WithSession(s))
	if s.GetIgnoreAutoCommit() {
		return
	}
	if autocommit, err := plan.IsSessionAutocommit(ctx); err != nil || !autocommit {
		return
	}
	s.SetTransaction(nil)
	s.drop()
}

// SessionEnd rolls back what the client has left behind.
func (s *session) SessionEnd() { s.drop() }

func (s *session) drop() {
	if s.open != nil {
		s.open.rollback()
		s.open = nil
	}
}
