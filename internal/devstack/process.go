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

// identity tells which process has a process ID that was read from a file.
type identity uint8

const (
	noProcess identity = iota
	ownServer
	otherProcess   // the ID was reused
	unknownProcess // it runs, but this process may not inspect it
)

// reapTimeout is also long enough for the children of a killed PostgreSQL to exit.
const reapTimeout = 2 * time.Second

// readPID returns the process ID in the first line of a file, or 0.
func readPID(path string) int {
	content, err := os.ReadFile(path) //nolint:gosec // the path of a private server's PID file
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

// identify reports whether a process is the server of the data folder dir, which is its working folder. The name of its
// program is not enough: after a reboot, the server of another folder may have the same process ID.
func identify(ctx context.Context, pid int, dir string) identity {
	if pid == 0 {
		return noProcess
	}
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return noProcess
	}
	if runtime.GOOS != "linux" {
		output, err := exec.CommandContext(ctx, "ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output() //nolint:gosec // a number
		switch {
		case err != nil || len(output) == 0:
			return noProcess
		case strings.Contains(string(output), filepath.Dir(dir)):
			return ownServer
		}
		return otherProcess
	}
	folder, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return noProcess // a zombie
	case err != nil:
		return unknownProcess
	}
	expected, err := os.Stat(dir)
	if err != nil || !os.SameFile(folder, expected) {
		return otherProcess
	}
	return ownServer
}

// terminate sends signals one after the other, each with a timeout, until the process has exited.
func terminate(ctx context.Context, pid int, dir string, steps ...terminateStep) error {
	for _, step := range steps {
		if identify(ctx, pid, dir) != ownServer {
			return nil
		}
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal process %d: %w", pid, err)
		}
		if exited, err := waitExit(ctx, pid, dir, step.timeout); err != nil || exited {
			return err
		}
	}
	return fmt.Errorf("process %d does not exit; end it by hand", pid)
}

// waitReaped waits until the parent of an exited process has reaped it, and reports whether that happened. In a container
// without an init process it may never happen.
func waitReaped(ctx context.Context, pid int) (reaped bool, err error) {
	limit, cancel := context.WithTimeout(ctx, reapTimeout)
	defer cancel()
	for pid != 0 && syscall.Kill(pid, 0) == nil {
		if err := pause(limit); err != nil {
			if ctx.Err() != nil {
				return false, fmt.Errorf("wait for the exit of process %d: %w", pid, err)
			}
			return false, nil
		}
	}
	return true, nil
}

type terminateStep struct {
	signal  syscall.Signal
	timeout time.Duration
}

// waitExit waits until the process has exited, and reports whether it did within the timeout.
func waitExit(ctx context.Context, pid int, dir string, timeout time.Duration) (exited bool, err error) {
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for identify(ctx, pid, dir) == ownServer {
		if err := pause(limit); err != nil {
			if ctx.Err() != nil {
				return false, fmt.Errorf("wait for the exit of process %d: %w", pid, err)
			}
			return false, nil
		}
	}
	return true, nil
}
