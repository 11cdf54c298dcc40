package support

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/config"
)

// Limits of a bundle.
const (
	maxErrors     = 100
	maxStatements = 50
	queryTime     = 20 * time.Second
)

// Options say what a bundle has. Config and Now are required.
type Options struct {
	Config *config.Config
	// Pool is nil if PostgreSQL cannot be reached.
	Pool *pgxpool.Pool
	// Names keeps names and addresses. Mail addresses and secrets are left out anyway.
	Names bool
	Now   time.Time
	// About says what the program was built from, Doctor what it found. States are those
	// of the system by workspace, as they are shown to administrators. They are encoded
	// as JSON.
	About, Doctor, States any
	// Metrics are the metrics of processes, by the name of the process.
	Metrics map[string]string
}

// Write writes a bundle as a ZIP archive and returns the names of its files. What cannot be
// collected is noted in the file errors.txt.
func Write(ctx context.Context, to io.Writer, o Options) (names []string, err error) {
	b := &bundle{Options: o, files: map[string][]byte{}, scrub: scrubber{hide: o.Config.Hide, names: o.Names}}
	b.collect(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	archive := zip.NewWriter(to)
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: o.Now})
		if err == nil {
			_, err = w.Write(b.files[name])
		}
		if err != nil {
			return nil, fmt.Errorf("write the bundle: %w", err)
		}
		names = append(names, name)
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("write the bundle: %w", err)
	}
	return names, nil
}

// A bundle is collected in memory.
type bundle struct {
	Options
	scrub  scrubber
	files  map[string][]byte
	failed []string
}

func (b *bundle) collect(ctx context.Context) {
	if b.Pool != nil {
		b.readNames(ctx)
	}
	b.put("about.json", b.About, b.scrub.fixed)
	settings := b.Config.Shown()
	for name, value := range settings {
		settings[name] = b.scrub.setting(value)
	}
	b.put("settings.json", settings, nil)
	b.put("doctor.json", b.Doctor, b.scrub.text)
	b.put("system.json", b.States, b.scrub.text)
	for process, text := range b.Metrics {
		b.files["metrics-"+process+".txt"] = []byte(b.scrub.fixed(text))
	}
	if b.Pool != nil {
		b.query(ctx, "migrations.json", b.scrub.fixed, `select version_id, is_applied, tstamp from goose_db_version where version_id > 0 order by id`)
		b.query(ctx, "postgresql.json", b.scrub.setting, `select name, setting, unit, source from pg_settings where name = any($1) order by name`, postgresSettings())
		b.query(ctx, "tables.json", b.scrub.fixed, `select relname::text, n_live_tup, n_dead_tup, pg_total_relation_size(relid) as bytes, seq_scan, idx_scan, last_vacuum, last_autovacuum, last_analyze, last_autoanalyze
			from pg_stat_user_tables where schemaname = 'public' order by relname`)
		b.query(ctx, "extensions.json", b.scrub.fixed, `select extname::text, extversion from pg_extension order by extname`)
		b.query(ctx, "connectors.json", b.scrub.text, `select id, workspace_id, collection_id, type, status, enabled, sync_strategy, last_sync, next_sync_at, last_error from connectors order by id`)
		b.query(ctx, "syncs.json", b.scrub.text, `select id, connector_id, status, mode, cause, collected, parsed, indexed, added, modified, deleted, unchanged, skipped, failed, retries, attempt,
			started_at, finished_at, heartbeat_at, error, warnings from sync_jobs where status in ('FAILED', 'RUNNING', 'QUEUED') or failed > 0 order by created_at desc limit $1`, maxErrors)
		b.query(ctx, "failures.json", b.scrub.text, `select connector_id, failure, count(*) from documents where failure is not null group by 1, 2 order by 3 desc limit $1`, maxErrors)
		b.query(ctx, "runs.json", b.scrub.text, `select status, count(*), max(created_at) as newest from agent_runs group by 1 order by 1`)
		b.query(ctx, "waiting.json", b.scrub.text, `select (select count(*) from inbound_events where done_at is null) as inbound_events, (select count(*) from integration_events where status = 'RECEIVED') as integration_events,
			(select count(*) from automation_runs where status in ('QUEUED', 'RUNNING', 'WAITING')) as automation_runs`)
		b.statements(ctx)
	}
	if len(b.failed) > 0 {
		b.files["errors.txt"] = []byte(b.scrub.text(strings.Join(b.failed, "\n")) + "\n")
	}
}

// readNames reads the names that texts may contain.
func (b *bundle) readNames(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	for _, query := range []string{
		"select name from workspaces", "select name from users", "select name from collections", "select name from connectors", "select name from agents",
		"select name from inbound_integrations", "select name from tool_integrations", "select name from automations", "select name from api_keys", "select name from tokens",
	} {
		rows, err := b.Pool.Query(ctx, query)
		if err == nil {
			var names []string
			if names, err = pgx.CollectRows(rows, pgx.RowTo[string]); err == nil {
				b.scrub.remember(names)
			}
		}
		if err != nil {
			b.failed = append(b.failed, "names: "+err.Error())
		}
	}
}

// put adds a value as JSON, with every text in it scrubbed.
func (b *bundle) put(name string, value any, scrub func(string) string) {
	data, err := json.Marshal(value)
	if err == nil && scrub != nil {
		var tree any
		if err = json.Unmarshal(data, &tree); err == nil {
			value = scrubTree(tree, scrub)
		}
	}
	if err == nil {
		data, err = json.MarshalIndent(value, "", "  ")
	}
	if err != nil {
		b.failed = append(b.failed, name+": "+err.Error())
		return
	}
	b.files[name] = append(data, '\n')
}

// scrubTree scrubs every text but the names of fields, ids and times.
func scrubTree(tree any, scrub func(string) string) any {
	switch value := tree.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339Nano, value); err == nil || ids.MatchString(value) {
			return value
		}
		return scrub(value)
	case []any:
		for i := range value {
			value[i] = scrubTree(value[i], scrub)
		}
	case map[string]any:
		for name := range value {
			value[name] = scrubTree(value[name], scrub)
		}
	}
	return tree
}

// query adds the rows of a query.
func (b *bundle) query(ctx context.Context, name string, scrub func(string) string, query string, args ...any) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	// Row by row as JSON, which has all types.
	rows, err := b.Pool.Query(ctx, "select to_jsonb(r) from ("+query+") r", args...)
	if err == nil {
		var all []any
		if all, err = pgx.CollectRows(rows, pgx.RowTo[any]); err == nil {
			b.put(name, append([]any{}, all...), scrub)
		}
	}
	if err != nil {
		b.failed = append(b.failed, name+": "+err.Error())
	}
}

// statements adds the slowest statements, if the extension that counts them is there. It
// replaces their constants.
func (b *bundle) statements(ctx context.Context) {
	var found bool
	err := b.Pool.QueryRow(ctx, "select to_regclass('pg_stat_statements') is not null").Scan(&found)
	if err != nil || !found {
		b.failed = append(b.failed, errors.Join(errors.New("statements.json: there is no pg_stat_statements"), err).Error())
		return
	}
	b.query(ctx, "statements.json", b.scrub.setting, `select calls, round(total_exec_time::numeric, 1) as total_ms, round(mean_exec_time::numeric, 2) as mean_ms, round(max_exec_time::numeric, 1) as max_ms, rows,
		regexp_replace(left(query, 2000), '''[^'']*''', '''...''', 'g') as query
		from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database()) and query ~* '^\s*(select|insert|update|delete|with)\y'
		order by total_exec_time desc limit $1`, maxStatements)
}

// postgresSettings are the settings that matter and contain nothing private.
func postgresSettings() []string {
	return []string{
		"server_version", "max_connections", "shared_buffers", "work_mem", "maintenance_work_mem", "effective_cache_size", "max_wal_size", "min_wal_size", "wal_level",
		"checkpoint_timeout", "checkpoint_completion_target", "synchronous_commit", "fsync", "full_page_writes", "random_page_cost", "effective_io_concurrency",
		"max_worker_processes", "max_parallel_workers", "max_parallel_workers_per_gather", "max_parallel_maintenance_workers", "autovacuum", "autovacuum_max_workers",
		"autovacuum_vacuum_scale_factor", "autovacuum_naptime", "statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout", "jit", "huge_pages",
		"server_encoding", "lc_collate", "TimeZone", "shared_preload_libraries", "track_io_timing",
	}
}
