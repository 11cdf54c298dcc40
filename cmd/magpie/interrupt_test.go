package main_test

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestAnInterruptIsTheExitCode130(t *testing.T) {
	t.Parallel()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	c := programCommand(path, "parse", "-", "--name", "page.txt")
	var errs bytes.Buffer
	c.Stderr = &errs
	input, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds, so the program has begun to read when it is written.
	if _, err := input.Write(bytes.Repeat([]byte("words "), 50_000)); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 || strings.TrimSpace(errs.String()) != "magpie: interrupted" {
		t.Errorf("%v %q", err, errs.String())
	}
}
