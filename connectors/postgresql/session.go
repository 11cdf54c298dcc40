package postgresql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

const (
	connectTimeout = 15 * time.Second
	closeTimeout   = 2 * time.Second
	// maxMessage bounds one message of the server, since a row can have a
	// gigabyte.
	maxMessage = 16 << 20
)

// newConfig returns the configuration of connections. The environment of the
// process and the files of libpq are ignored.
func newConfig(s connectors.Settings, dial connectors.Dial) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig("host=localhost port=5432 user=x password=x dbname=x sslmode=disable")
	if err != nil {
		return nil, fmt.Errorf("prepare the connection: %w", err)
	}
	tlsConfig, fallback, err := sqldb.TLSConfig(s, s.String(optionSSLMode))
	if err != nil {
		return nil, connectors.Fatal(err)
	}
	host, port := s.String(sqldb.OptionHost), uint16(s.Integer(sqldb.OptionPort)) //nolint:gosec // 1 to 65535
	config.Host, config.Port, config.Database = host, port, s.String(sqldb.OptionDatabase)
	config.User, config.Password = s.Credentials[sqldb.CredentialUser], s.Credentials[sqldb.CredentialPassword]
	config.TLSConfig, config.Fallbacks = tlsConfig, nil
	if fallback {
		config.Fallbacks = []*pgconn.FallbackConfig{{Host: host, Port: port}}
	}
	config.RuntimeParams = map[string]string{"application_name": "magpie"}
	config.ConnectTimeout = connectTimeout
	config.DialFunc = pgconn.DialFunc(dial)
	// The dialer resolves names, since it checks the addresses.
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		frontend := pgproto3.NewFrontend(r, w)
		frontend.SetMaxBodyLen(maxMessage)
		return frontend
	}
	// The end of a context also stops the statement at the server.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: closeTimeout}
	}
	config.ValidateConnect, config.AfterConnect, config.OnNotice = nil, nil, nil
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.StatementCacheCapacity, config.DescriptionCacheCapacity = 0, 0
	return config, nil
}

// A session is a connection in a read-only transaction.
type session struct{ conn *pgx.Conn }

// open connects and begins a transaction in which the server refuses to write.
func (d *database) open(ctx context.Context, timeout time.Duration) (*session, error) {
	if err := d.CheckOpen(); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, d.config.Copy())
	if err != nil {
		return nil, d.connectError(err)
	}
	schemas := make([]string, 0, len(d.schemas)+1)
	for _, name := range d.schemas {
		schemas = append(schemas, pgx.Identifier{name}.Sanitize())
	}
	// A transaction can be made writable until its first query of a table, which is
	// the last statement here.
	begin := fmt.Sprintf(`set session characteristics as transaction read only;
begin transaction isolation level read committed read only;
set local statement_timeout = %[1]d; set local lock_timeout = %[2]d; set local idle_in_transaction_session_timeout = %[3]d;
set local standard_conforming_strings = on; set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres';
set local bytea_output = 'hex'; set local extra_float_digits = 1; set local xmlbinary = 'base64'; set local row_security = on;
set local search_path = %[4]s;
select count(*) from pg_catalog.pg_namespace`,
		timeout.Milliseconds(), min(timeout, 3*time.Second).Milliseconds(), (2 * time.Minute).Milliseconds(),
		strings.Join(append(schemas, "pg_temp"), ", "))
	if _, err := conn.PgConn().Exec(ctx, begin).ReadAll(); err != nil {
		closeConn(ctx, conn)
		return nil, d.connectError(err)
	}
	return &session{conn: conn}, nil
}

// close ends the connection and its transaction.
func (s *session) close(ctx context.Context) { closeConn(ctx, s.conn) }

func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = conn.Close(ctx) // the connection has no data to lose
}

// connectError returns the marked error of a connection.
func (d *database) connectError(err error) error {
	server, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return sqldb.NetworkError(d.server(), err)
	}
	err = fmt.Errorf("%s says: %s (%s)", d.server(), server.Message, server.Code)
	switch {
	case strings.HasPrefix(server.Code, "28"), server.Code == "42501":
		return connectors.NeedsAuth(err)
	case strings.HasPrefix(server.Code, "3D"), strings.HasPrefix(server.Code, "3F"):
		return connectors.Fatal(err)
	default:
		return connectors.Retryable(err, 0)
	}
}

// statementError returns the error of a statement.
func (d *database) statementError(err error, timeout time.Duration) error {
	server, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return d.connectError(err)
	}
	message := server.Message
	switch {
	case server.Code == "57014":
		message = sqldb.TimeoutMessage(timeout)
	case server.Code == "25006":
		return &connectors.QueryError{Refused: true, Code: server.Code, Message: "The database refuses it: " + message}
	case strings.HasPrefix(server.Code, "57P"), strings.HasPrefix(server.Code, "08"), strings.HasPrefix(server.Code, "53"):
		return d.connectError(err)
	}
	if server.Detail != "" {
		message += "\nDetail: " + server.Detail
	}
	if server.Hint != "" {
		message += "\nHint: " + server.Hint
	}
	if server.Position > 0 {
		message += fmt.Sprintf("\nAt character %d of the statement.", server.Position)
	}
	return sqldb.StatementError(server.Code, message)
}
