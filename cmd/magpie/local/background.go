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
	pollEvery = 50 * time.Millisecond
	// stopPatience is what a process gets to end before it is killed.
	stopPatience = 45 * time.Second
	logTail      = 4096
)

// Background starts program with arguments in a session of its own, its output
// going to the folder's log, and returns when it runs in the folder and is
// ready. A process that ends before is an error that has its last words.
func (f *Folder) Background(ctx context.Context, program string, arguments ...string) (Run, error) {
	log, err := os.OpenFile(f.Log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, privateMode)
	if err != nil {
		return Run{}, fmt.Errorf("open the log: %w", err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	// The process outlives this one, and its context with it.
	command := exec.CommandContext(context.WithoutCancel(ctx), program, arguments...) //nolint:gosec // this very program
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return Run{}, fmt.Errorf("start the background process: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }() // ends with the process, or with this one
	run, err := f.await(ctx, ended, func(run Run) bool { return run.Ready })
	if err != nil && ctx.Err() != nil {
		err = errors.Join(err, command.Process.Signal(syscall.SIGTERM))
	}
	return run, err
}

// Await returns once the process that runs in the folder is ready.
func (f *Folder) Await(ctx context.Context) (Run, error) {
	return f.await(ctx, nil, func(run Run) bool { return run.Ready })
}

// AwaitDemo is Await for a process that keeps the demo documents. For one that
// does not it returns a *BusyError as soon as the process tells.
func (f *Folder) AwaitDemo(ctx context.Context) (Run, error) {
	run, err := f.await(ctx, nil, func(run Run) bool { return run.Ready || !run.Demo })
	if err == nil && !run.Demo {
		return Run{}, &BusyError{Path: f.path, PID: run.PID, Run: run}
	}
	return run, err
}

func (f *Folder) await(ctx context.Context, ended <-chan error, enough func(Run) bool) (Run, error) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		run, found, err := f.Running()
		if err != nil {
			return Run{}, err
		}
		if found && enough(run) {
			return run, nil
		}
		if ended == nil {
			if _, held, err := f.Holder(); err != nil || !held {
				return Run{}, errors.Join(err, fmt.Errorf("it ended before it was ready; %s says why", f.Log()))
			}
		}
		select {
		case <-ticker.C:
		case <-ended:
			return Run{}, fmt.Errorf("it ended before it was ready: %s (all of it is in %s)", f.lastWords(), f.Log())
		case <-ctx.Done():
			return Run{}, fmt.Errorf("wait for Magpie: %w", ctx.Err())
		}
	}
}

// lastWords is the last line of the log.
func (f *Folder) lastWords() string {
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

// End asks the process that runs in the folder to stop and waits until it has;
// stopped is false when none runs. One that does not stop is killed.
func (f *Folder) End(ctx context.Context) (stopped bool, err error) {
	pid, held, err := f.awaitHolder(ctx)
	if err != nil || !held {
		return false, err
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return false, fmt.Errorf("stop process %d: %w", pid, err)
		}
		gone, err := f.gone(ctx)
		if err != nil || gone {
			return gone, err
		}
	}
	return false, fmt.Errorf("process %d does not end; end it by hand", pid)
}

// awaitHolder gives a process that has just claimed the folder the moment it
// takes to write its id down.
func (f *Folder) awaitHolder(ctx context.Context) (pid int, held bool, err error) {
	limit, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		pid, held, err := f.Holder()
		if err != nil || !held || pid > 1 {
			return pid, held, err
		}
		select {
		case <-ticker.C:
		case <-limit.Done():
			return 0, false, errors.New("a process holds the data folder and does not say its id; end it by hand")
		}
	}
}

func (f *Folder) gone(ctx context.Context) (bool, error) {
	limit, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
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
				return false, fmt.Errorf("wait for the process to end: %w", ctx.Err())
			}
			return false, nil
		}
	}
}
