package support

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/migrate/migrations"
)

// Limits of a bundle.
const (
	maxErrors     = 100
	maxStatements = 50
	queryTime     = 20 * time.Second
)

// database adds what PostgreSQL tells. Every column is named here.
func (b *bundle) database(ctx context.Context) {
	tables, err := migrations.Tables()
	if err != nil {
		b.fail("tables.json", err)
	}
	b.query(ctx, "migrations.json", nil, `select version_id, is_applied, tstamp from goose_db_version where version_id > 0 order by id`)
	b.query(ctx, "postgresql.json", []string{"name", "setting", "unit", "source"}, `select name, setting, unit, source from pg_settings where name = any($1) order by name`, postgresSettings())
	b.query(ctx, "tables.json", []string{"relname"}, `select relname::text, n_live_tup, n_dead_tup, pg_total_relation_size(relid) as bytes, seq_scan, idx_scan, last_vacuum, last_autovacuum, last_analyze, last_autoanalyze
		from pg_stat_user_tables where schemaname = 'public' and (relname = any($1) or relid in (
			select i.inhrelid from pg_inherits i join pg_class c on c.oid = i.inhparent where c.relname = any($1))) order by relname`, tables)
	b.query(ctx, "extensions.json", []string{"extname", "extversion"}, `select extname::text, extversion from pg_extension order by extname`)
	b.query(ctx, "connectors.json", []string{"type", "status", "sync_strategy"},
		`select id, workspace_id, collection_id, type, status, enabled, sync_strategy, last_sync, next_sync_at, last_error from connectors order by id`)
	b.query(ctx, "syncs.json", []string{"status", "mode", "cause"}, `select id, connector_id, status, mode, cause, collected, parsed, indexed, added, modified, deleted, unchanged, skipped, failed, retries, attempt,
		started_at, finished_at, heartbeat_at, error, warnings from sync_jobs where status in ('FAILED', 'RUNNING', 'QUEUED') or failed > 0 order by created_at desc limit $1`, maxErrors)
	b.query(ctx, "failures.json", nil, `select connector_id, failure, count(*) from documents where failure is not null group by 1, 2 order by 3 desc limit $1`, maxErrors)
	b.query(ctx, "runs.json", []string{"status"}, `select status, count(*), max(created_at) as newest from agent_runs group by 1 order by 1`)
	b.query(ctx, "waiting.json", nil, `select (select count(*) from inbound_events where done_at is null) as inbound_events, (select count(*) from integration_events where status = 'RECEIVED') as integration_events,
		(select count(*) from automation_runs where status in ('QUEUED', 'RUNNING', 'WAITING')) as automation_runs`)
	b.statements(ctx, tables)
}

// query adds the rows of a query. The texts of the columns in own are kept.
func (b *bundle) query(ctx context.Context, name string, own []string, query string, args ...any) {
	all, err := b.rows(ctx, query, args...)
	if err != nil {
		b.fail(name, err)
		return
	}
	b.put(name, all, own...)
}

// rows returns the rows of a query as JSON, which has all types.
func (b *bundle) rows(ctx context.Context, query string, args ...any) ([]map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	rows, err := b.Pool.Query(ctx, "select to_jsonb(r) from ("+query+") r", args...)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[map[string]any])
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	return append([]map[string]any{}, all...), nil
}

// statements adds the slowest statements of Magpie's own logins that name a table of Magpie, if
// the extension that counts them is there. Other people may use a login of Magpie, too.
func (b *bundle) statements(ctx context.Context, tables []string) {
	var found bool
	err := b.Pool.QueryRow(ctx, "select to_regclass('pg_stat_statements') is not null").Scan(&found)
	if err != nil || !found {
		b.fail("statements.json", errors.Join(errors.New("there is no pg_stat_statements"), err))
		return
	}
	all, err := b.rows(ctx, `select calls, round(total_exec_time::numeric, 1) as total_ms, round(mean_exec_time::numeric, 2) as mean_ms, round(max_exec_time::numeric, 1) as max_ms, rows, left(query, 2000) as query
		from pg_stat_statements s where dbid = (select oid from pg_database where datname = current_database())
		  and userid in ('magpie_app'::regrole, session_user::regrole) and query ~* '^\s*(select|insert|update|delete|with)\y'
		order by total_exec_time desc limit $1`, 4*maxStatements)
	if err != nil {
		b.fail("statements.json", err)
		return
	}
	own := make([]map[string]any, 0, maxStatements)
	for _, row := range all {
		text, _ := row["query"].(string)
		row["query"] = withoutConstants(text)
		if namesTable(withoutConstants(text), tables) && len(own) < maxStatements {
			own = append(own, row)
		}
	}
	b.raw("statements.json", own)
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
