package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	pollInterval = 50 * time.Millisecond
	// stopTimeout is the time between SIGTERM and SIGKILL.
	stopTimeout = 45 * time.Second
	logTail     = 4096
)

// Background starts a program in a new session, with its output in the folder's log,
// and waits until it is ready. The error of a process that exits earlier has the last
// line of the log.
func (f *Folder) Background(ctx context.Context, program string, arguments ...string) (Run, error) {
	log, err := os.OpenFile(f.Log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, privateMode)
	if err != nil {
		return Run{}, fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = log.Close() }() // the process has its own copy
	// The process outlives this one, so the context must not stop it.
	command := exec.CommandContext(context.WithoutCancel(ctx), program, arguments...) //nolint:gosec // the path of this program
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return Run{}, fmt.Errorf("start background process: %w", err)
	}
	exited := make(chan error, 1)
	go func() { exited <- command.Wait() }() // ends with either process
	run, err := f.await(ctx, exited, func(run Run) bool { return run.Ready })
	if err != nil && ctx.Err() != nil {
		err = errors.Join(err, command.Process.Signal(syscall.SIGTERM))
	}
	return run, err
}

// Await waits until the running process is ready.
func (f *Folder) Await(ctx context.Context) (Run, error) {
	return f.await(ctx, nil, func(run Run) bool { return run.Ready })
}

// AwaitDemo waits until a process with the demo documents is ready. For another
// process it returns a *BusyError.
func (f *Folder) AwaitDemo(ctx context.Context) (Run, error) {
	run, err := f.await(ctx, nil, func(run Run) bool { return run.Ready || !run.Demo })
	if err == nil && !run.Demo {
		return Run{}, &BusyError{Path: f.path, PID: run.PID, Run: run}
	}
	return run, err
}

func (f *Folder) await(ctx context.Context, exited <-chan error, done func(Run) bool) (Run, error) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		run, found, err := f.Running()
		if err != nil {
			return Run{}, err
		}
		if found && done(run) {
			return run, nil
		}
		if exited == nil {
			if _, held, err := f.Holder(); err != nil || !held {
				return Run{}, errors.Join(err, fmt.Errorf("the process exited before it was ready; see %s", f.Log()))
			}
		}
		select {
		case <-ticker.C:
		case <-exited:
			return Run{}, fmt.Errorf("the process exited before it was ready: %s (see %s)", f.lastLine(), f.Log())
		case <-ctx.Done():
			return Run{}, fmt.Errorf("wait for Magpie: %w", ctx.Err())
		}
	}
}

// lastLine returns the last line of the log.
func (f *Folder) lastLine() string {
	content, err := os.ReadFile(f.Log())
	if err != nil {
		return "no log"
	}
	if len(content) > logTail {
		content = content[len(content)-logTail:]
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return lines[len(lines)-1]
}

// End stops the running process, and reports whether there was one. A process that
// does not stop is killed.
func (f *Folder) End(ctx context.Context) (stopped bool, err error) {
	pid, held, err := f.awaitHolder(ctx)
	if err != nil || !held {
		return false, err
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return false, fmt.Errorf("stop process %d: %w", pid, err)
		}
		exited, err := f.waitExit(ctx)
		if err != nil || exited {
			return exited, err
		}
	}
	return false, fmt.Errorf("process %d does not exit; end it by hand", pid)
}

// awaitHolder waits until a process that has just claimed the folder has written its
// process ID.
func (f *Folder) awaitHolder(ctx context.Context) (pid int, held bool, err error) {
	limit, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		pid, held, err := f.Holder()
		if err != nil || !held || pid > 1 {
			return pid, held, err
		}
		select {
		case <-ticker.C:
		case <-limit.Done():
			return 0, false, errors.New("a process without a recorded ID holds the data folder; end it by hand")
		}
	}
}

// waitExit waits until no process holds the folder, and reports whether that happened
// in time.
func (f *Folder) waitExit(ctx context.Context) (bool, error) {
	limit, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		_, held, err := f.Holder()
		if err != nil || !held {
			return !held, err
		}
		select {
		case <-ticker.C:
		case <-limit.Done():
			if ctx.Err() != nil {
				return false, fmt.Errorf("wait for the exit of the process: %w", ctx.Err())
			}
			return false, nil
		}
	}
}
