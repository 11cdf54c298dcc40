package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// tenantPolicy is the condition that row-level security puts on the rows of a workspace,
// as PostgreSQL prints it.
const tenantPolicy = `(workspace_id = (NULLIF(current_setting('magpie.workspace'::text, true), ''::text))::uuid)`

// advisoryLock takes the lock that one backup of a database holds. The session of one
// that was cut off may end a moment later.
const advisoryLock = "set lock_timeout = '10s'; select pg_advisory_lock(hashtextextended('magpie backup', 0)); set lock_timeout = 0"

// A source is the database that is saved, in one snapshot.
type source struct {
	conn   *pgx.Conn
	tx     pgx.Tx // nil before begin and after end
	tables []sourceTable
}

// A sourceTable is a table with the way in which its rows are seen.
type sourceTable struct {
	name    string
	columns []string
	// partitioned says that the rows are in partitions, which are not saved on their own.
	partitioned bool
	// byWorkspace says that the login sees the rows of one workspace at a time.
	byWorkspace bool
}

// connect opens the database. url is a login that sees all rows; see ready.
func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL cannot be read; it has the form postgres://user:password@host:5432/name")
	}
	cfg.RuntimeParams["application_name"] = "magpie backup"
	cfg.RuntimeParams["search_path"] = "public"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	// The work takes as long as it takes.
	if _, err := conn.Exec(ctx, "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set lock_timeout = 0"); err != nil {
		return nil, errors.Join(fmt.Errorf("reach the database: %w", err), conn.Close(ctx))
	}
	return conn, nil
}

// openSource connects for a backup and takes the lock.
func openSource(ctx context.Context, url string) (*source, error) {
	conn, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	s := &source{conn: conn}
	if _, err = conn.Exec(ctx, advisoryLock); err != nil {
		err = fmt.Errorf("take the lock of backups: %w", err)
		if hasCode(err, "55P03") { // lock_not_available
			err = errors.New("another backup of this database is running")
		}
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

func (s *source) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.conn.Close(ctx); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// begin takes the snapshot, and finds out how each table is read. Its moment is that of
// the clock of the database.
func (s *source) begin(ctx context.Context) (moment time.Time, err error) {
	if s.tx, err = s.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}); err != nil {
		return moment, fmt.Errorf("take a snapshot: %w", err)
	}
	if err := s.tx.QueryRow(ctx, "select clock_timestamp()").Scan(&moment); err != nil {
		return moment, fmt.Errorf("take a snapshot: %w", err)
	}
	if s.tables, err = tablesOf(ctx, s.tx); err != nil {
		return moment, err
	}
	return moment, s.ready(ctx)
}

// end releases the snapshot.
func (s *source) end(ctx context.Context) error {
	err := s.tx.Rollback(ctx)
	s.tx = nil
	if err != nil {
		return fmt.Errorf("release the snapshot: %w", err)
	}
	return nil
}

// stepsTable has the steps of the schema, which a restore applies.
const stepsTable = "goose_db_version"

// derived returns the tables whose rows are in no backup: what a search engine has of the
// collections. After a restore, which leaves them empty, the engine gets everything again.
func derived() []string { return []string{"engine_collections", "engine_instance"} }

// tablesOf returns the tables whose rows are saved: all but that of the steps and the
// derived ones. Columns that PostgreSQL computes are left out, and partitions, whose rows
// are those of their table.
func tablesOf(ctx context.Context, tx pgx.Tx) ([]sourceTable, error) {
	rows, err := tx.Query(ctx, `
		select c.relname::text, c.relkind = 'p', array_agg(a.attname::text order by a.attnum) filter (where a.attgenerated = '')
		from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> all($1)
		  and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
		group by c.oid, c.relname, c.relkind order by c.relname`, append(derived(), stepsTable))
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t sourceTable, err error) {
		err = row.Scan(&t.name, &t.partitioned, &t.columns)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	if len(all) == 0 {
		return nil, errors.New("the database has no tables of Magpie")
	}
	return all, nil
}

// ready checks that the login sees all rows of all tables, and how.
func (s *source) ready(ctx context.Context) error {
	var login string
	if err := s.tx.QueryRow(ctx, "select current_user::text").Scan(&login); err != nil {
		return fmt.Errorf("ask for the privileges of the login: %w", err)
	}
	for i := range s.tables {
		t := &s.tables[i]
		var mayRead, hidden, tenant bool
		err := s.tx.QueryRow(ctx, `
			select has_table_privilege(c.oid, 'select'), row_security_active(c.oid),
			       coalesce((select bool_and(p.polpermissive and p.polcmd = '*' and p.polroles = '{0}' and pg_get_expr(p.polqual, p.polrelid) = $2)
			           and count(*) = 1 from pg_policy p where p.polrelid = c.oid), false)
			from pg_class c where c.relnamespace = 'public'::regnamespace and c.relname = $1`, t.name, tenantPolicy).Scan(&mayRead, &hidden, &tenant)
		if err != nil {
			return fmt.Errorf("ask for the privileges of the login: %w", err)
		}
		if !mayRead || hidden && !tenant {
			return &BlindError{Login: login, Table: t.name}
		}
		t.byWorkspace = hidden
	}
	// PostgreSQL then fails instead of hiding rows of the tables that are read as a whole.
	return nil
}

// A BlindError reports a login that does not see all rows. Its text says what to run.
type BlindError struct{ Login, Table string }

// Error implements error.
func (e *BlindError) Error() string {
	return fmt.Sprintf("the login %s does not see all rows of the table %s. Set MIGRATE_DATABASE_URL to the login that owns the schema, "+
		"or BACKUP_DATABASE_URL to one that a superuser makes: create role magpie_backup login bypassrls password '…'; grant pg_read_all_data to magpie_backup",
		e.Login, e.Table)
}

// describe reads versions, steps and sequences.
func (s *source) describe(ctx context.Context, m *Manifest) error {
	if err := s.tx.QueryRow(ctx, "select current_setting('server_version')").Scan(&m.Postgres); err != nil {
		return fmt.Errorf("read the version of the database: %w", err)
	}
	rows, err := s.tx.Query(ctx, "select version_id from "+stepsTable+" where is_applied and version_id > 0 order by version_id")
	if err == nil {
		m.Steps, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	if err != nil {
		return fmt.Errorf("read the steps of the schema: %w", err)
	}
	m.Sequences = map[string]int64{}
	rows, err = s.tx.Query(ctx, `select sequencename::text, last_value from pg_sequences where schemaname = 'public' and last_value is not null
		and sequencename not like 'goose%'`)
	if err != nil {
		return fmt.Errorf("read the sequences: %w", err)
	}
	var name string
	var last int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &last}, func() error { m.Sequences[name] = last; return nil }); err != nil {
		return fmt.Errorf("read the sequences: %w", err)
	}
	return nil
}

// copyTable writes the rows of a table as text, and returns their number.
func (s *source) copyTable(ctx context.Context, t sourceTable, to io.Writer) (int64, error) {
	columns := quoted(t.columns)
	table := quote(t.name)
	if !t.byWorkspace {
		// With row_security off, PostgreSQL fails instead of leaving out rows.
		if _, err := s.tx.Exec(ctx, "set local row_security = off"); err != nil {
			return 0, fmt.Errorf("read the table %s: %w", t.name, err)
		}
		if t.partitioned { // COPY reads such a table by a query only
			return s.copyRows(ctx, t.name, "copy (select "+columns+" from "+table+") to stdout", to)
		}
		return s.copyRows(ctx, t.name, "copy "+table+" ("+columns+") to stdout", to)
	}
	if _, err := s.tx.Exec(ctx, "set local row_security = on"); err != nil {
		return 0, fmt.Errorf("read the table %s: %w", t.name, err)
	}
	rows, err := s.tx.Query(ctx, "select id::text from workspaces order by id")
	if err != nil {
		return 0, fmt.Errorf("list the workspaces: %w", err)
	}
	workspaces, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, fmt.Errorf("list the workspaces: %w", err)
	}
	var all int64
	for _, workspace := range workspaces {
		if _, err := s.tx.Exec(ctx, "select set_config('magpie.workspace', $1, true)", workspace); err != nil {
			return 0, fmt.Errorf("read the table %s: %w", t.name, err)
		}
		n, err := s.copyRows(ctx, t.name, "copy (select "+columns+" from "+table+") to stdout", to)
		if err != nil {
			return 0, err
		}
		all += n
	}
	return all, nil
}

func (s *source) copyRows(ctx context.Context, table, statement string, to io.Writer) (int64, error) {
	tag, err := s.conn.PgConn().CopyTo(ctx, to, statement)
	if err != nil {
		return 0, fmt.Errorf("read the table %s: %w", table, err)
	}
	return tag.RowsAffected(), nil
}

// A sourceFile is an uploaded file by its row.
type sourceFile struct {
	key, sha256 string
	bytes       int64
}

// files returns the uploaded files, of the snapshot if there is one.
func (s *source) files(ctx context.Context) ([]sourceFile, error) {
	const query = "select blob_key, sha256, bytes from source_files order by blob_key"
	rows, err := s.conn.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list the uploaded files: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f sourceFile, err error) {
		err = row.Scan(&f.key, &f.sha256, &f.bytes)
		return f, err
	})
	if err != nil {
		if hasCode(err, "42P01") { // no such table
			return nil, errors.New("the database has no tables of Magpie")
		}
		return nil, fmt.Errorf("list the uploaded files: %w", err)
	}
	return all, nil
}

func hasCode(err error, code string) bool {
	refusal, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refusal.Code == code
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = quote(name)
	}
	return strings.Join(all, ", ")
}
