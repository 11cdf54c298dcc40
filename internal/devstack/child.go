package devstack

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

// childScript runs a server until the other end of its standard input is closed, which happens even when the parent is
// killed. A server that was stopped by a signal is continued, since otherwise it would not end.
const childScript = `exec 3<&0
"$@" </dev/null 3<&- &
server=$!
( cat <&3 >/dev/null; kill "$server" 2>/dev/null; kill -CONT "$server" 2>/dev/null ) &
watcher=$!
wait "$server"
code=$?
kill "$watcher" 2>/dev/null
exit "$code"`

// child is a server process that ends with this process at the latest.
type child struct {
	command *exec.Cmd
	input   *os.File // closing it stops the server
	log     string
	exited  chan struct{}
	err     error // the exit error, valid after exited is closed
}

// startChild starts a server with the caller's environment and further entries. Secrets belong in the environment, since
// other users can read arguments.
func startChild(log string, environment []string, program string, arguments ...string) (*child, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // the path of a private server's log
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	defer func() { _ = output.Close() }() // the child has its own copy
	reader, input, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create pipe: %w", err)
	}
	defer func() { _ = reader.Close() }() // the child has its own copy
	// There is no context, since the child outlives the call that starts it.
	command := exec.Command("/bin/sh", append([]string{"-c", childScript, "child", program}, arguments...)...) //nolint:gosec,noctx // see above
	command.Stdin, command.Stdout, command.Stderr = reader, output, output
	command.Env = append(command.Environ(), environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), input.Close())
	}
	c := &child{command: command, input: input, log: log, exited: make(chan struct{})}
	go func() {
		defer close(c.exited)
		c.err = command.Wait()
	}()
	return c, nil
}

// waitReady waits until the probe succeeds. It fails when the child exits or after the timeout.
func (c *child) waitReady(ctx context.Context, timeout time.Duration, probe func(context.Context) error) error {
	limit, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		failure := probe(limit)
		if failure == nil {
			return nil
		}
		select {
		case <-c.exited:
			return fmt.Errorf("%s exited during startup: %w\n%s", c.program(), errors.Join(c.err, failure), tail(c.log, 12))
		default:
		}
		if err := pause(limit); err != nil {
			return fmt.Errorf("wait for %s: %w\n%s", c.program(), errors.Join(err, failure), tail(c.log, 12))
		}
	}
}

func (c *child) program() string { return strings.Join(c.command.Args[4:5], "") }

// stop stops the server and waits for its exit. It may be called again.
func (c *child) stop(ctx context.Context) error {
	if err := c.input.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("stop %s: %w", c.program(), err)
	}
	select {
	case <-c.exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the exit of %s: %w", c.program(), context.Cause(ctx))
	}
}
