package devstack

import (
	"context"
	_ "embed" // the watcher's script
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed idle.sh
var idleScript string

// watchIdle starts a background process that stops PostgreSQL once it is idle. The caller, usually a test binary, exits
// earlier.
func watchIdle(ctx context.Context, l layout, database *postgres, programs postgresPrograms, after time.Duration) error {
	minutes := max(1, int(after/time.Minute))
	command := l.account.command(ctx, l.base, "/bin/sh", "-c", idleScript, "idle",
		filepath.Join(database.data, "postmaster.pid"), filepath.Join(l.base, leaseFile),
		l.sockets, programs.path("psql"), strconv.Itoa(minutes))
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("start the idle watcher of PostgreSQL: %w: %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}
