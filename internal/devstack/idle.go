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

// watchIdle starts the script that ends PostgreSQL once it is idle. It is a process of its own because the one that
// starts it, a test binary, ends long before.
func watchIdle(ctx context.Context, where place, database *postgres, programs postgresPrograms, after time.Duration) error {
	minutes := max(1, int(after/time.Minute))
	command := where.account.command(ctx, where.base, "/bin/sh", "-c", idleScript, "idle",
		filepath.Join(database.data, "postmaster.pid"), filepath.Join(where.base, leaseFile),
		where.sockets, programs.path("psql"), strconv.Itoa(minutes))
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("watch PostgreSQL for idleness: %w: %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}
