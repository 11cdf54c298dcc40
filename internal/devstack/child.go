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

// childScript runs a server that ends with the process that holds the other end of its input, however that process ends.
const childScript = `exec 3<&0
"$@" </dev/null 3<&- &
server=$!
( cat <&3 >/dev/null; kill "$server" 2>/dev/null ) &
watcher=$!
wait "$server"
code=$?
kill "$watcher" 2>/dev/null
exit "$code"`

// child is a server that lives at most as long as this process.
type child struct {
	command *exec.Cmd
	leash   *os.File // closing it ends the server
	log     string
	ended   chan struct{}
	err     error // of the server, readable once ended is closed
}

// startChild starts it with the caller's environment and the given entries; secrets go there, since arguments are public.
func startChild(log string, environment []string, program string, arguments ...string) (*child, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // a log of a server of our own
	if err != nil {
		return nil, fmt.Errorf("make a log: %w", err)
	}
	defer func() { _ = output.Close() }() // the child has its own copy
	input, leash, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer func() { _ = input.Close() }() // the child has its own copy
	// The leash ends the child, not a context: the context of the call that starts it may end long before.
	command := exec.Command("/bin/sh", append([]string{"-c", childScript, "child", program}, arguments...)...) //nolint:gosec,noctx // see above
	command.Stdin, command.Stdout, command.Stderr = input, output, output
	command.Env = append(command.Environ(), environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), leash.Close())
	}
	c := &child{command: command, leash: leash, log: log, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.err = command.Wait()
	}()
	return c, nil
}

// ready waits until the probe succeeds, the child ends or the patience is over.
func (c *child) ready(ctx context.Context, patience time.Duration, probe func(context.Context) error) error {
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		failure := probe(limit)
		if failure == nil {
			return nil
		}
		select {
		case <-c.ended:
			return fmt.Errorf("%s ended at its start: %w\n%s", c.program(), errors.Join(c.err, failure), tail(c.log, 12))
		default:
		}
		if err := pause(limit); err != nil {
			return fmt.Errorf("wait for %s: %w\n%s", c.program(), errors.Join(err, failure), tail(c.log, 12))
		}
	}
}

func (c *child) program() string { return strings.Join(c.command.Args[4:5], "") }

// stop asks the server to end and waits for it; a second call only waits.
func (c *child) stop(ctx context.Context) error {
	if err := c.leash.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("stop %s: %w", c.program(), err)
	}
	select {
	case <-c.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %s to end: %w", c.program(), context.Cause(ctx))
	}
}
