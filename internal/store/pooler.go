package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// become makes a new connection use AppRole. Behind a pooler that gives each transaction
// another connection to the server, no statement can do that: the login must have the
// role as a setting of its own, and statements must not be prepared by name.
func become(ctx context.Context, c *pgx.Conn) error {
	results, err := c.PgConn().Exec(ctx, "set role "+AppRole+"; select pg_backend_pid()").ReadAll()
	if err != nil {
		return roleError(c.Config().User, err)
	}
	if len(results) == 2 && len(results[1].Rows) == 1 && string(results[1].Rows[0][0]) == strconv.FormatUint(uint64(c.PgConn().PID()), 10) {
		return nil
	}
	if !strings.Contains(c.Config().ConnString(), "default_query_exec_mode") {
		return fmt.Errorf("connect through a pooler: %w", &Mismatch{
			Problem: "prepared statements do not work through a pooler such as PgBouncer in transaction mode",
			Remedy:  "add default_query_exec_mode=cache_describe to the parameters of the URL",
		})
	}
	var has bool
	const query = `select exists (select from pg_db_role_setting s join pg_roles r on r.oid = s.setrole
		where r.rolname = session_user and 'role=` + AppRole + `' = any (s.setconfig))`
	if err := c.QueryRow(ctx, query).Scan(&has); err != nil {
		return fmt.Errorf("connect through a pooler: read the settings of the login: %w", err)
	}
	if !has {
		login := pgx.Identifier{c.Config().User}.Sanitize()
		return fmt.Errorf("connect through a pooler: %w", &Mismatch{
			Problem: "the login does not become " + AppRole + " by itself",
			Remedy:  "as a superuser run: alter role " + login + " set role = " + AppRole + "; then reconnect the pooler",
		})
	}
	return nil
}
