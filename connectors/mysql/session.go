package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

const (
	connectTimeout = 15 * time.Second
	killTimeout    = 3 * time.Second
)

// newConfig returns the configuration of connections.
func newConfig(s connectors.Settings, dial connectors.Dial) (*mysql.Config, error) {
	tlsConfig, fallback, err := sqldb.TLSConfig(s, s.String(optionTLS))
	if err != nil {
		return nil, connectors.Fatal(err)
	}
	config := mysql.NewConfig()
	config.Net = "tcp"
	config.Addr = net.JoinHostPort(s.String(sqldb.OptionHost), strconv.FormatInt(s.Integer(sqldb.OptionPort), 10))
	config.User, config.Passwd, config.DBName = s.Credentials[sqldb.CredentialUser], s.Credentials[sqldb.CredentialPassword], s.String(sqldb.OptionDatabase)
	config.DialFunc = dial
	config.Timeout, config.WriteTimeout = connectTimeout, connectTimeout
	config.Collation = "utf8mb4_general_ci"
	config.InterpolateParams = true
	config.Logger = &mysql.NopLogger{}
	config.TLS, config.AllowFallbackToPlaintext = tlsConfig, fallback
	// A server could request files of the client, or the password in clear text.
	config.AllowAllFiles, config.AllowCleartextPasswords, config.AllowOldPasswords, config.MultiStatements = false, false, false, false
	return config, nil
}

// A session is a connection in a read-only transaction.
type session struct {
	database  *database
	pool      *sql.DB
	conn      *sql.Conn
	id        int64
	isMariaDB bool
}

// open connects and begins a transaction in which the server refuses to write.
func (d *database) open(ctx context.Context, timeout time.Duration, rows int) (*session, error) {
	if err := d.CheckOpen(); err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(d.config.Clone())
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("prepare the connection: %w", err))
	}
	s := &session{database: d, pool: sql.OpenDB(connector)}
	s.pool.SetMaxOpenConns(1)
	if err := s.begin(ctx, timeout, rows); err != nil {
		s.close()
		return nil, d.connectError(err)
	}
	return s, nil
}

func (s *session) begin(ctx context.Context, timeout time.Duration, rows int) (err error) {
	if s.conn, err = s.pool.Conn(ctx); err != nil {
		return err
	}
	var version string
	if err := s.conn.QueryRowContext(ctx, "select version(), connection_id()").Scan(&version, &s.id); err != nil {
		return err
	}
	s.isMariaDB = strings.Contains(strings.ToLower(version), "mariadb")
	limit := fmt.Sprintf("max_execution_time = %d", timeout.Milliseconds())
	if s.isMariaDB {
		limit = fmt.Sprintf("max_statement_time = %.3f", timeout.Seconds())
	}
	wait := max(1, int(min(timeout, killTimeout).Seconds()))
	// The server must parse strings as the guard's parser does.
	settings := fmt.Sprintf(`set session sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', session %s,
		session lock_wait_timeout = %d, session innodb_lock_wait_timeout = %d, session sql_select_limit = %d`, limit, wait, wait, rows+1)
	for _, statement := range []string{settings, "set session transaction read only", "start transaction read only"} {
		if _, err := s.conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// close ends the connection and its transaction.
func (s *session) close() {
	if s.conn != nil {
		_ = s.conn.Close() // the connection has no data to lose
	}
	_ = s.pool.Close()
}

// kill ends the session's statement at the server, which would otherwise run
// until its timeout.
func (s *session) kill(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	connector, err := mysql.NewConnector(s.database.config.Clone())
	if err != nil {
		return
	}
	pool := sql.OpenDB(connector)
	defer func() { _ = pool.Close() }()
	_, _ = pool.ExecContext(ctx, "kill "+strconv.FormatInt(s.id, 10)) // the statement may have ended
}

// isLoginError reports whether an error number concerns the login.
func isLoginError(number uint16) bool {
	return slices.Contains([]uint16{1044, 1045, 1130, 1142, 1227, 1251, 1524, 1698, 1862, 3118, 4151}, number)
}

func isBusyError(number uint16) bool {
	return slices.Contains([]uint16{1040, 1053, 1129, 1203, 1205, 1213, 1226, 1927}, number)
}

// connectError returns the marked error of a connection.
func (d *database) connectError(err error) error {
	server, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return sqldb.NetworkError(d.server(), err)
	}
	err = fmt.Errorf("%s says: %s (%d)", d.server(), server.Message, server.Number)
	switch {
	case isLoginError(server.Number):
		return connectors.NeedsAuth(err)
	case server.Number == 1049:
		return connectors.Fatal(err)
	default:
		return connectors.Retryable(err, 0)
	}
}

// statementError returns the error of a statement.
func (d *database) statementError(err error, timeout time.Duration) error {
	server, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return d.connectError(err)
	}
	code := strconv.Itoa(int(server.Number))
	switch {
	case server.Number == 3024, server.Number == 1969, server.Number == 1317:
		return sqldb.StatementError(code, sqldb.TimeoutMessage(timeout))
	case server.Number == 1792:
		return &connectors.QueryError{Refused: true, Code: code, Message: "The database refuses it: " + server.Message}
	case isBusyError(server.Number):
		return d.connectError(err)
	}
	return sqldb.StatementError(code, server.Message)
}
