package mssql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
	"github.com/magpie-search/magpie/internal/httpx"
)

const (
	connectTimeout  = 15 * time.Second
	rollbackTimeout = 3 * time.Second
	maxLockWait     = 3 * time.Second
	// maxValue bounds one value of a result, in bytes.
	maxValue = 4 << 20
)

// A dialer connects as the application does, which resolves names itself.
type dialer struct {
	dial connectors.Dial
	host string
	// verified says that nothing is sent to a server without a valid certificate.
	verified bool
}

// errUnverified says that the login would be sent to an unknown server.
var errUnverified = errors.New("the login is not sent to a host on the internet without encryption and a valid certificate; set config.encrypt to true or strict, and config.trustServerCertificate to false")

// DialContext implements mssql.Dialer.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dial(ctx, network, address)
	if err == nil && !d.verified && httpx.Public(conn.RemoteAddr()) {
		_ = conn.Close()
		return nil, errUnverified
	}
	return conn, err
}

// HostName implements mssql.HostDialer, so that the driver does not resolve names.
func (d dialer) HostName() string { return d.host }

// newConfig returns the configuration of connections. The environment of the
// process is ignored.
func newConfig(s connectors.Settings) (msdsn.Config, error) {
	mode := sqldb.TLSVerify
	if s.Boolean(optionTrust) || s.String(optionEncrypt) == encryptFalse {
		mode = sqldb.TLSRequire
	}
	tlsConfig, _, err := sqldb.TLSConfig(s, mode)
	if err != nil {
		return msdsn.Config{}, connectors.Fatal(err)
	}
	config := msdsn.Config{
		Host: s.String(sqldb.OptionHost), Port: uint64(s.Integer(sqldb.OptionPort)), //nolint:gosec // 1 to 65535
		Database: s.String(sqldb.OptionDatabase), User: s.Credentials[credentialUser], Password: s.Credentials[sqldb.CredentialPassword],
		TLSConfig: tlsConfig, TrustServerCertificate: tlsConfig.InsecureSkipVerify, AppName: "Magpie", Workstation: "magpie", ReadOnlyIntent: true, DisableRetry: true,
		DialTimeout: connectTimeout, Protocols: []string{"tcp"}, Parameters: map[string]string{}, NoTraceID: true,
	}
	switch s.String(optionEncrypt) {
	case encryptStrict:
		config.Encryption = msdsn.EncryptionStrict
		config.TLSConfig.NextProtos = []string{"tds/8.0"}
	case encryptFalse:
		config.Encryption = msdsn.EncryptionOff
	default:
		config.Encryption = msdsn.EncryptionRequired
	}
	return config, nil
}

// A session is a connection in a transaction that is rolled back.
type session struct {
	pool *sql.DB
	conn *sql.Conn
}

// open connects and begins a transaction, in which each statement returns at most
// some rows.
func (d *database) open(ctx context.Context, timeout time.Duration, rows int) (*session, error) {
	if err := d.CheckOpen(); err != nil {
		return nil, err
	}
	connector := mssql.NewConnectorConfig(d.config)
	connector.Dialer = dialer{d.dial, d.config.Host, !d.config.TrustServerCertificate}
	s := &session{pool: sql.OpenDB(connector)}
	s.pool.SetMaxOpenConns(1)
	if err := s.begin(ctx, timeout, rows); err != nil {
		s.close(ctx)
		return nil, d.connectError(err)
	}
	return s, nil
}

func (s *session) begin(ctx context.Context, timeout time.Duration, rows int) (err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if s.conn, err = s.pool.Conn(ctx); err != nil {
		return err
	}
	// The estimated cost of a plan is in seconds of a machine of long ago.
	const costFactor = 100
	// The server must parse quotation marks as the lexer does.
	_, err = s.conn.ExecContext(ctx, fmt.Sprintf(`set quoted_identifier on; set ansi_nulls on; set implicit_transactions off; set xact_abort on; set nocount off;
set lock_timeout %d; set transaction isolation level read committed; set query_governor_cost_limit %d; set textsize %d; set rowcount %d; begin transaction`,
		min(timeout, maxLockWait).Milliseconds(), int(costFactor*timeout.Seconds()), maxValue, rows))
	return err
}

// close rolls the transaction back and ends the connection.
func (s *session) close(ctx context.Context) {
	if s.conn != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		_, _ = s.conn.ExecContext(ctx, "if @@trancount > 0 rollback transaction") // the end of the connection does it, too
		_ = s.conn.Close()
	}
	_ = s.pool.Close()
}

func isLoginError(number int32) bool {
	return slices.Contains([]int32{4060, 18456, 18470, 18486, 18487, 18488, 18452, 40532, 40615, 229, 230, 916, 300, 297}, number)
}

func isBusyError(number int32) bool {
	return slices.Contains([]int32{1205, 1222, 701, 802, 8645, 8651, 10928, 10929, 40197, 40501, 40613, 49918, 49919, 49920, 17142, 6005, 3989}, number)
}

// connectError returns the marked error of a connection.
func (d *database) connectError(err error) error {
	if errors.Is(err, errUnverified) {
		return connectors.Fatal(fmt.Errorf("%s is not asked: %w", d.server(), errUnverified))
	}
	server, ok := errors.AsType[mssql.Error](err)
	if !ok {
		return sqldb.NetworkError(d.server(), err)
	}
	err = fmt.Errorf("%s says: %s (%d)", d.server(), server.Message, server.Number)
	if isLoginError(server.Number) {
		return connectors.NeedsAuth(err)
	}
	return connectors.Retryable(err, 0)
}

// statementError returns the error of a statement.
func (d *database) statementError(ctx context.Context, err error, timeout time.Duration) error {
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return sqldb.StatementError("", sqldb.TimeoutMessage(timeout))
	case ctx.Err() != nil:
		return fmt.Errorf("the statement was given up: %w", context.Cause(ctx))
	}
	server, ok := errors.AsType[mssql.Error](err)
	if !ok || isBusyError(server.Number) {
		return d.connectError(err)
	}
	return sqldb.StatementError(strconv.Itoa(int(server.Number)), server.Message)
}

// errTimeout says that a statement took longer than it may.
var errTimeout = errors.New("the statement took too long")
