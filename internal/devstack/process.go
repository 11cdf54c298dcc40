package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// verdict is what is known about a process id that was found in a file.
type verdict uint8

const (
	gone verdict = iota
	ours
	foreign // the id was given to another process since
	unknown // it lives but may not be looked at
)

// reapPatience is also long enough for the children of a killed PostgreSQL to end.
const reapPatience = 2 * time.Second

// readPID returns the number in the first line of a pid file, 0 when there is none.
func readPID(path string) int {
	content, err := os.ReadFile(path) //nolint:gosec // the pid file of a server of our own
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 {
		return 0
	}
	return pid
}

// examine says whether the process is a server whose working folder is dir, which both servers make their data folder.
// The name of the program alone would not do: another cluster's server may have been given the same id after a restart.
func examine(ctx context.Context, pid int, dir string) verdict {
	if pid == 0 {
		return gone
	}
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return gone
	}
	if runtime.GOOS != "linux" {
		output, err := exec.CommandContext(ctx, "ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output() //nolint:gosec // a number
		switch {
		case err != nil || len(output) == 0:
			return gone
		case strings.Contains(string(output), filepath.Dir(dir)):
			return ours
		}
		return foreign
	}
	folder, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return gone // ended, and not yet waited for by its parent
	case err != nil:
		return unknown
	}
	expected, err := os.Stat(dir)
	if err != nil || !os.SameFile(folder, expected) {
		return foreign
	}
	return ours
}

// end sends the signals one after the other, each with its time to work, until the process is gone.
func end(ctx context.Context, pid int, dir string, steps ...endStep) error {
	for _, step := range steps {
		if examine(ctx, pid, dir) != ours {
			return nil
		}
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal process %d: %w", pid, err)
		}
		if left, err := waitGone(ctx, pid, dir, step.patience); err != nil || !left {
			return err
		}
	}
	return fmt.Errorf("process %d does not end; end it by hand", pid)
}

// waitReaped gives a dead process time to be taken note of by its parent and says whether it lingers, which in a container
// without a proper first process is for ever.
func waitReaped(ctx context.Context, pid int) (lingers bool, err error) {
	limit, cancel := context.WithTimeout(ctx, reapPatience)
	defer cancel()
	for pid != 0 && syscall.Kill(pid, 0) == nil {
		if err := pause(limit); err != nil {
			if ctx.Err() != nil {
				return true, fmt.Errorf("wait for the end of process %d: %w", pid, err)
			}
			return true, nil
		}
	}
	return false, nil
}

type endStep struct {
	signal   syscall.Signal
	patience time.Duration
}

// waitGone waits until the process is gone and says whether it is still there after the given time.
func waitGone(ctx context.Context, pid int, dir string, patience time.Duration) (still bool, err error) {
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for examine(ctx, pid, dir) == ours {
		if err := pause(limit); err != nil {
			if ctx.Err() != nil {
				return true, fmt.Errorf("wait for process %d to end: %w", pid, err)
			}
			return true, nil
		}
	}
	return false, nil
}
