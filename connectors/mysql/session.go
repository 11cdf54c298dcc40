package mysql

import (
	"context"
	"crypto/tls"
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
	connectTime = 15 * time.Second
	killTime    = 3 * time.Second
)

// configOf is the configuration of a connection.
func configOf(s connectors.Settings, dial connectors.Dial) (*mysql.Config, error) {
	encryption, plain, err := sqldb.TLSConfig(s, s.String(optionTLS))
	if err != nil {
		return nil, connectors.Fatal(err)
	}
	config := mysql.NewConfig()
	config.Net = "tcp"
	config.Addr = net.JoinHostPort(s.String(sqldb.OptionHost), strconv.FormatInt(s.Integer(sqldb.OptionPort), 10))
	config.User, config.Passwd, config.DBName = s.Credentials[sqldb.CredentialUser], s.Credentials[sqldb.CredentialPassword], s.String(sqldb.OptionDatabase)
	config.DialFunc = dial
	config.Timeout, config.WriteTimeout = connectTime, connectTime
	config.Collation = "utf8mb4_general_ci"
	config.InterpolateParams = true
	config.Logger = &mysql.NopLogger{}
	if encryption != nil && encryption.ServerName == "" {
		encryption = named(encryption, s.String(sqldb.OptionHost))
	}
	config.TLS, config.AllowFallbackToPlaintext = encryption, plain
	// A server may ask for a file of the client's, and for the password as it is.
	config.AllowAllFiles, config.AllowCleartextPasswords, config.AllowOldPasswords, config.MultiStatements = false, false, false, false
	return config, nil
}

func named(c *tls.Config, host string) *tls.Config {
	c = c.Clone()
	c.ServerName = host
	return c
}

// session is a connection in a transaction that reads.
type session struct {
	database *database
	pool     *sql.DB
	conn     *sql.Conn
	id       int64
	maria    bool
}

// open connects and begins a transaction in which the server refuses to write.
func (d *database) open(ctx context.Context, timeout time.Duration, rows int) (*session, error) {
	if d.isClosed() {
		return nil, connectors.Fatal(errors.New("the database was closed"))
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
	s.maria = strings.Contains(strings.ToLower(version), "mariadb")
	limit := fmt.Sprintf("max_execution_time = %d", timeout.Milliseconds())
	if s.maria {
		limit = fmt.Sprintf("max_statement_time = %.3f", timeout.Seconds())
	}
	wait := max(1, int(min(timeout, killTime).Seconds()))
	// What the parser reads as a string the server has to read as one, too.
	settings := fmt.Sprintf(`set session sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', session %s,
		session lock_wait_timeout = %d, session innodb_lock_wait_timeout = %d, session sql_select_limit = %d`, limit, wait, wait, rows+1)
	for _, statement := range []string{settings, "set session transaction read only", "start transaction read only"} {
		if _, err := s.conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// close ends the connection, and with it the transaction.
func (s *session) close() {
	if s.conn != nil {
		_ = s.conn.Close() // nothing is kept in it
	}
	_ = s.pool.Close() // the same
}

// kill ends the session's statement at the server, which would else work on for
// nobody until its time is over.
func (s *session) kill(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	connector, err := mysql.NewConnector(s.database.config.Clone())
	if err != nil {
		return
	}
	pool := sql.OpenDB(connector)
	defer func() { _ = pool.Close() }()
	_, _ = pool.ExecContext(ctx, "kill "+strconv.FormatInt(s.id, 10)) // it may have ended by itself
}

// The numbers of errors that say something of the connection or the login.
func isLogin(number uint16) bool {
	return slices.Contains([]uint16{1044, 1045, 1130, 1142, 1227, 1251, 1524, 1698, 1862, 3118, 4151}, number)
}

func isBusy(number uint16) bool {
	return slices.Contains([]uint16{1040, 1053, 1129, 1203, 1205, 1213, 1226, 1927}, number)
}

// connectError sorts what went wrong before a statement ran.
func (d *database) connectError(err error) error {
	server, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		if network, isNet := errors.AsType[net.Error](err); isNet && network.Timeout() {
			return connectors.Retryable(fmt.Errorf("%s did not answer in time", d.place()), 0)
		}
		return connectors.Retryable(fmt.Errorf("connect to %s: %s", d.place(), strings.Join(strings.Fields(err.Error()), " ")), 0)
	}
	said := fmt.Errorf("%s says: %s (%d)", d.place(), server.Message, server.Number)
	switch {
	case isLogin(server.Number):
		return connectors.NeedsAuth(said)
	case server.Number == 1049:
		return connectors.Fatal(said)
	default:
		return connectors.Retryable(said, 0)
	}
}

// statementError sorts what went wrong with a statement.
func (d *database) statementError(err error, timeout time.Duration) error {
	server, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return d.connectError(err)
	}
	code := strconv.Itoa(int(server.Number))
	switch {
	case server.Number == 3024, server.Number == 1969, server.Number == 1317:
		return sqldb.Wrong(code, fmt.Sprintf("The statement was stopped after %s. Ask for less: filter, or aggregate.", timeout))
	case server.Number == 1792:
		return &connectors.QueryError{Refused: true, Code: code, Message: "The database refuses it: " + server.Message}
	case isBusy(server.Number):
		return d.connectError(err)
	}
	return sqldb.Wrong(code, server.Message)
}
