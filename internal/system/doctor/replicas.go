package doctor

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/humanize"
)

const (
	// maxLag is the lag from which a replica answers few searches while syncs run.
	maxLag = time.Minute
	// replicaTimeout bounds the check of one replica, so that one that does not answer
	// leaves time for the others.
	replicaTimeout = 3 * time.Second
)

// replicas checks the servers of DATABASE_READ_URL.
func (r *report) replicas(ctx context.Context) {
	urls := r.Config.ReadURLs()
	if len(urls) == 0 {
		return
	}
	var system, position string
	const query = `select system_identifier::text, case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end::text from pg_control_system()`
	if err := ask(ctx, r.Config.DatabaseURL.Reveal(), query, nil, &system, &position); err != nil {
		r.fail("The primary cannot be asked: %s", "Correct what postgresql says first.", firstLine(err))
		return
	}
	for i, url := range urls {
		cfg, err := pgx.ParseConfig(url)
		if err != nil {
			r.fail("Address %d of DATABASE_READ_URL cannot be read.", "Write it as postgres://user:password@host:5432/name.", i+1)
			continue
		}
		r.replica(ctx, net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port))), url, system, position)
	}
}

// replica checks one replica of the cluster with a system identifier, whose log ends at a
// position.
func (r *report) replica(ctx context.Context, name, url, system, position string) {
	var own, feedback string
	var isReplica, isMember bool
	var missing int64
	var seconds float64
	const query = `select system_identifier::text, pg_is_in_recovery(), current_setting('hot_standby_feedback'),
		coalesce((select pg_has_role(session_user, oid, 'member') from pg_roles where rolname = 'magpie_app'), false),
		greatest(coalesce(pg_wal_lsn_diff($1::text::pg_lsn, pg_last_wal_replay_lsn()), 0), 0)::bigint,
		coalesce(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()), 0)::float8 from pg_control_system()`
	err := ask(ctx, url, query, []any{position}, &own, &isReplica, &feedback, &isMember, &missing, &seconds)
	lag := time.Duration(seconds * float64(time.Second))
	switch {
	case err != nil:
		r.fail("The replica %s cannot be reached: %s", "Start it, or correct DATABASE_READ_URL. Meanwhile others, or the primary, answer its reads.", name, firstLine(err))
	case own != system:
		r.fail("The replica %s belongs to another cluster than DATABASE_URL.", "Name streaming replicas of the server of DATABASE_URL.", name)
	case !isReplica:
		r.warn("The replica %s is not in recovery, so it is not read.", "Name streaming replicas, unless it was promoted and is the primary now.", name)
	case !isMember:
		r.fail("The login of the replica %s is no member of magpie_app.", "Use the login of DATABASE_URL.", name)
	case missing > 0 && lag > maxLag:
		r.warn("The replica %s is %s and %s behind.", "Look for long reads on it, a slow network or recovery_min_apply_delay. The primary answers what it lacks.",
			name, Known(humanize.Duration(lag)), Known(humanize.Bytes(missing)))
	default:
		r.ok("The replica %s follows the primary.", name)
	}
	if err == nil && isReplica && feedback != "on" {
		r.warn("The replica %s has hot_standby_feedback off: vacuum on the primary cancels long reads.", "Set hot_standby_feedback to on at the replica.", name)
	}
}

// ask runs one query on the primary or a replica.
func ask(ctx context.Context, url, query string, arguments []any, into ...any) error {
	ctx, cancel := context.WithTimeout(ctx, replicaTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := conn.QueryRow(ctx, query, arguments...).Scan(into...); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	return nil
}
