package main_test

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/internal/testkit/sample"
)

// The command that `dev --fake` prints makes a connector that syncs, for each kind.
func TestDevStartsFakes(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	if out, err := l.run("dev", "--fake", "fax"); err == nil || !strings.Contains(out, "there are confluence, github") {
		t.Errorf("an unknown kind: %v %s", err, out)
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	command := programCommand(path, "--data", l.data, "dev", "--listen", "127.0.0.1:0", "--fake", strings.Join(sample.Kinds(), ","))
	output, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	printed := make(chan string, 100)
	reading.Go(func() {
		defer close(printed)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			printed <- lines.Text()
		}
	})
	t.Cleanup(func() {
		if out, err := l.run("down"); err != nil {
			t.Errorf("%v %s", err, out)
		}
		for range printed {
		}
		reading.Wait()
		if err := command.Wait(); err != nil {
			t.Error(err)
		}
	})
	var connections []string
	for line := range printed {
		if rest, found := strings.CutPrefix(strings.TrimSpace(line), "connect it    magpie "); found {
			connections = append(connections, rest)
		}
		if len(connections) == len(sample.Kinds()) {
			break
		}
	}
	if len(connections) != len(sample.Kinds()) {
		t.Fatalf("dev ended after it printed %q", connections)
	}
	if out, err := l.run("collections", "create", "COLLECTION"); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for i, kind := range sample.Kinds() {
		// The shell takes the words apart, as it does for a person.
		shell := exec.CommandContext(t.Context(), "sh", "-c", `exec "$0" --data "$1" `+connections[i], path, l.data)
		shell.Env = programCommand(path).Env
		if out, err := shell.CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", kind, err, out)
			continue
		}
		out, err := l.run("--json", "sync", "start", kind)
		var job struct {
			Status string
			Stats  struct{ Added, Errors int }
		}
		at := strings.Index(out, "{")
		if err != nil || at < 0 || json.Unmarshal([]byte(out[at:]), &job) != nil || job.Stats.Added < 2 || job.Stats.Errors > 0 {
			t.Errorf("%s: %v %s", kind, err, out)
		}
	}
}
