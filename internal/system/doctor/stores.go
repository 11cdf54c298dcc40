package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/secret/reseal"
	"github.com/magpie-search/magpie/internal/store"
)

// Limits of what is in order.
const (
	minPostgres     = 150000
	minRedis        = 6
	maxClockWarning = 2 * time.Second
	maxClockError   = 30 * time.Second
)

// postgres checks the server, as the login sees it.
func (r *report) postgres(ctx context.Context) {
	if r.Config.DatabaseURL == "" {
		return
	}
	cfg, err := pgx.ParseConfig(r.Config.DatabaseURL.Reveal())
	if err != nil {
		r.fail("DATABASE_URL cannot be read.", "Write it as postgres://user:password@host:5432/name.")
		return
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		r.fail("PostgreSQL cannot be reached: %s", "Start it, or correct DATABASE_URL.", firstLine(err))
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var version, connections int
	var text, encoding, fsync, pages, idle, statement string
	var superuser, secure bool
	var buffers int64
	asked := r.Now()
	var now time.Time
	err = conn.QueryRow(ctx, `select current_setting('server_version_num')::int, current_setting('server_version'), current_setting('server_encoding'),
		current_setting('fsync'), current_setting('full_page_writes'), current_setting('idle_in_transaction_session_timeout'), current_setting('statement_timeout'),
		current_setting('max_connections')::int, pg_size_bytes(current_setting('shared_buffers')), (select rolsuper or rolbypassrls from pg_roles where rolname = session_user),
		coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false), clock_timestamp()`).
		Scan(&version, &text, &encoding, &fsync, &pages, &idle, &statement, &connections, &buffers, &superuser, &secure, &now)
	if err != nil {
		r.fail("PostgreSQL does not answer: %s", "Look at its log.", firstLine(err))
		return
	}
	answered := r.Now()
	text, _, _ = strings.Cut(text, " ")
	if version < minPostgres {
		r.fail("PostgreSQL %s is too old.", "Use version 15 or later.", text)
	} else {
		r.ok("PostgreSQL %s answers.", text)
	}
	if encoding != "UTF8" {
		r.fail("The database has the encoding %s.", "Create it with the encoding UTF8.", Known(encoding))
	}
	for _, setting := range [][2]string{{"fsync", fsync}, {"full_page_writes", pages}} {
		if setting[1] != "on" {
			r.warn("%s is off: a crash of the machine can destroy the database.", "Set it to on, unless its data may be lost.", Known(setting[0]))
		}
	}
	if statement != "0" || idle != "0" {
		r.warn("The login has statement_timeout %s and idle_in_transaction_session_timeout %s, which can end long syncs and builds of indexes.", "Set both to 0 for the logins of Magpie.",
			Known(statement), Known(idle))
	}
	if buffers < 128<<20 {
		r.warn("shared_buffers is %s.", "A quarter of the machine's memory is a good start; docs/operations.md says why.", Known(humanize.Bytes(buffers)))
	}
	if connections < 50 {
		r.warn("max_connections is %d.", "Each process uses twice DATABASE_MAX_CONNECTIONS; 100 is enough for a few processes.", connections)
	}
	if superuser {
		r.warn("The login of DATABASE_URL is a superuser or has bypassrls.", "Use a login of its own that is only a member of magpie_app, as docs/operations.md describes.")
	}
	if !secure && !isNear(cfg.Host) {
		r.warn("The connection to PostgreSQL is not encrypted.", "Add sslmode=verify-full to DATABASE_URL, unless the network between is trusted.")
	}
	r.clock(now, asked, answered)
}

// clock compares the clocks. The moment of the database lies between the two of here.
func (r *report) clock(now, asked, answered time.Time) {
	difference := max(asked.Sub(now), now.Sub(answered), 0)
	const text = "The clocks of this machine and of the database differ by %s."
	difference = difference.Round(time.Millisecond)
	switch {
	case difference > maxClockError:
		r.fail(text, "Synchronize both by NTP: signatures and tokens of other services depend on it.", difference)
	case difference > maxClockWarning:
		r.warn(text, "Synchronize both by NTP.", difference)
	default:
		r.ok("The clocks of this machine and of the database agree.")
	}
}

// isNear reports whether a host is a socket or this machine.
func isNear(host string) bool {
	ip := net.ParseIP(host)
	return strings.HasPrefix(host, "/") || host == "localhost" || ip != nil && ip.IsLoopback()
}

// schema checks the schema, row-level security and the sealed values, as the application.
func (r *report) schema(ctx context.Context) {
	if r.Config.DatabaseURL == "" {
		return
	}
	db, err := store.Open(ctx, r.Config.DatabaseURL.Reveal(), 2)
	if err == nil {
		defer db.Close()
		err = db.CheckSchema(ctx)
	}
	if m, ok := errors.AsType[*store.Mismatch](err); ok {
		r.fail("%s", sentence(m.Remedy), sentence(m.Problem))
		return
	}
	if err != nil {
		r.fail("The schema cannot be checked: %s", "Correct what postgresql says first.", firstLine(err))
		return
	}
	var step int64
	var vector string
	var bypass, owner bool
	var open []string
	err = db.Pool.QueryRow(ctx, `
		with expected as (select * from (values ('passages', true), ('document_texts', true), ('collection_terms', true), ('usage_counters', true), ('passage_index', false), ('passage_vectors', false)) t (name, forced))
		select (select max(version_id) from goose_db_version where is_applied), (select extversion from pg_extension where extname = 'vector'),
		       (select rolsuper or rolbypassrls from pg_roles where rolname = current_user),
		       exists (select from pg_class c, expected e where c.relname = e.name and c.relnamespace = 'public'::regnamespace and pg_has_role(current_user, c.relowner, 'usage')),
		       coalesce((select array_agg(e.name) from expected e left join pg_class c on c.relname = e.name and c.relnamespace = 'public'::regnamespace
		           where c.oid is null or not c.relrowsecurity or e.forced and not c.relforcerowsecurity), '{}')`).Scan(&step, &vector, &bypass, &owner, &open)
	if err != nil {
		r.fail("Row-level security cannot be checked: %s", "Run magpie migrate up.", firstLine(err))
		return
	}
	r.ok("The schema is at step %d, with pgvector %s.", step, vector)
	switch {
	case bypass || owner:
		r.fail("Row-level security does not bind the role magpie_app: it is a superuser, has bypassrls, or owns the tables.", "As a superuser run: alter role magpie_app nosuperuser nobypassrls; and give the tables to the owner of the schema.")
	case len(open) > 0:
		r.fail("Row-level security is off for %s.", "Restore a backup, or turn it on as ent/migrate/migrations do.", Known(strings.Join(open, ", ")))
	default:
		r.ok("Row-level security binds the application.")
	}
	r.sealed(ctx, db)
}

// sealed opens every sealed value.
func (r *report) sealed(ctx context.Context, db *store.DB) {
	keys, current, err := r.Config.SealingKeys()
	if err != nil || current == "" {
		return // settings has said so
	}
	box, err := secret.NewBox(keys, current)
	if err != nil {
		r.fail("SECRET_KEYS cannot be used: %s", "Correct it.", firstLine(err))
		return
	}
	counts, err := reseal.Check(ctx, db.Pool, box)
	if err != nil {
		r.warn("The sealed values could not be read: %s", "Run magpie secrets status --check, which takes as long as it needs.", firstLine(err))
		return
	}
	var all, old int64
	lost := false
	for _, c := range counts {
		all += c.Values
		if c.Key != current {
			old += c.Values - c.Lost
		}
		if c.Lost > 0 {
			lost = true
			r.fail("%d of the %s, sealed with the key %q, do not open.", "Put the key back into SECRET_KEYS, or set them anew; see docs/secrets.md.", c.Lost, Known(c.Column.What), c.Key)
		}
	}
	if !lost {
		r.ok("SECRET_KEYS opens all sealed values (%d).", all)
	}
	if old > 0 {
		r.warn("%d sealed values are sealed with an older key.", "Run magpie secrets rotate once all processes have the current key.", old)
	}
}

// redis checks the server.
func (r *report) redis(ctx context.Context) {
	if r.Redis == nil || r.Config.RedisURL == "" {
		return
	}
	client, err := r.Redis(r.Config.RedisURL.Reveal())
	if err != nil {
		r.fail("%s", "Correct REDIS_URL.", firstLine(err))
		return
	}
	defer func() { _ = client.Close() }()
	info, err := readInfo(ctx, client)
	if err != nil {
		r.fail("Redis cannot be reached: %s", "Start it, or correct REDIS_URL. Until then no sync starts.", firstLine(err))
		return
	}
	version := info["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < minRedis {
		r.warn("Redis %s is older than what Magpie is tested with.", "Use version 6 or later.", version)
	} else {
		r.ok("Redis %s answers.", version)
	}
	if policy := info["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		r.fail("Redis has the maxmemory-policy %s: it deletes queued tasks when its memory is full.", "Set maxmemory-policy noeviction.", Known(policy))
	}
	used, _ := strconv.ParseFloat(info["used_memory"], 64)
	most, _ := strconv.ParseFloat(info["maxmemory"], 64)
	if most > 0 && used > 0.9*most {
		r.warn("Redis uses %.0f%% of its maxmemory.", "Raise maxmemory.", 100*used/most)
	}
	if info["rdb_last_bgsave_status"] == "err" || info["aof_last_write_status"] == "err" {
		r.fail("Redis cannot write its data to disk, and may refuse writes.", "Look at its log and at its disk.")
	}
	if info["aof_enabled"] == "0" {
		r.ok("Redis has no append-only file. Queued work is found again in PostgreSQL, so that nothing is lost.")
	}
}

// readInfo reads INFO, of one node of a cluster.
func readInfo(ctx context.Context, client redis.UniversalClient) (map[string]string, error) {
	values := map[string]string{}
	for _, section := range []string{"server", "memory", "persistence"} {
		text, err := client.Info(ctx, section).Result()
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
				values[name] = value
			}
		}
	}
	return values, nil
}

// blobs writes, reads and deletes a blob.
func (r *report) blobs(ctx context.Context) {
	if r.Blobs == nil || r.Config.BlobURL == "" {
		return
	}
	blobs, err := r.Blobs(ctx)
	if err != nil {
		r.fail("The blob store cannot be opened: %s", "Correct BLOB_URL, BLOB_ACCESS_KEY_ID and BLOB_SECRET_ACCESS_KEY.", firstLine(err))
		return
	}
	if closer, ok := blobs.(io.Closer); ok {
		defer func() { _ = closer.Close() }()
	}
	key, text := "doctor/"+strings.ToLower(rand.Text()), rand.Text()
	err = blobs.Put(ctx, key, strings.NewReader(text), int64(len(text)))
	if err == nil {
		var content io.ReadCloser
		if content, err = blobs.Open(ctx, key); err == nil {
			var read []byte
			read, err = io.ReadAll(content)
			if err = errors.Join(err, content.Close()); err == nil && string(read) != text {
				err = errors.New("it returns another content than what was stored")
			}
		}
		err = errors.Join(err, blobs.Delete(ctx, key))
	}
	if err != nil {
		r.fail("The blob store does not work: %s", "The login needs the rights to write, read, list and delete.", firstLine(err))
		return
	}
	r.ok("The blob store writes, reads and deletes.")
}

// firstLine returns the first line of an error.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return sentence(line)
}

func sentence(text string) string {
	if text == "" {
		return text
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
