package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/command"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	s := &shell{t: t, flags: []string{"--config", settingsFile(t)}}
	for _, c := range []struct {
		code      int
		arguments []string
	}{
		{0, []string{"--version"}},
		{0, []string{"collections", "--help"}},
		{1, []string{"parse", "/nothing/here"}},
		{2, []string{"fly"}},
		{2, []string{"search"}},
		{2, []string{"sync", "start", "Files", "--mode", "sideways"}},
		{2, []string{"bench", "--passages", "0"}},
	} {
		if o := s.run(c.arguments...); o.code != c.code {
			t.Errorf("%q: %+v, want %d", c.arguments, o, c.code)
		}
	}
}

func TestASignalIsInTheExitCode(t *testing.T) {
	t.Parallel()
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(command.Interrupted{Signal: signal})
		var out, errs bytes.Buffer
		code := command.Run(ctx, []string{"--config", settingsFile(t), "parse", "-"}, command.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != want || errs.String() != "magpie: interrupted\n" {
			t.Errorf("%s: %d %q", signal, code, errs.String())
		}
	}
}

func TestTheVersionNeedsNoSettings(t *testing.T) {
	t.Parallel()
	s := &shell{t: t, flags: []string{"--config", settingsFile(t)}}
	flag, command := (&shell{t: t}).ok("--version"), s.ok("version")
	if flag != command || !strings.HasPrefix(flag, "magpie ") {
		t.Errorf("%q and %q", flag, command)
	}
	if out := s.ok("--config", "/nothing/here", "--version"); out != flag {
		t.Errorf("%q", out)
	}
	var all map[string]string
	if err := json.Unmarshal([]byte(s.ok("version", "--json")), &all); err != nil || all["version"] == "" {
		t.Errorf("%v %v", all, err)
	}
}

func TestQuietPrintsResultsOnly(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if o := s.run("collections"); o.out != "" || !strings.Contains(o.err, "There is no collection yet") {
		t.Errorf("%+v", o)
	}
	if o := s.run("collections", "--quiet"); o.code != 0 || o.out != "" || o.err != "" {
		t.Errorf("%+v", o)
	}
	s.ok("collections", "create", "Docs")
	if o := s.run("collections", "delete", "Docs", "-q"); o.code != 1 || !strings.Contains(o.err, "--yes") {
		t.Errorf("%+v", o)
	}
	if o := s.run("-q", "collections"); !strings.Contains(o.out, "Docs") {
		t.Errorf("%+v", o)
	}
}

func TestListsOfOptionsTakeCommasBlanksAndRepeats(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("collections", "create", "Docs")
	for name, options := range map[string][]string{
		"commas": {"--host", "a.example.com,b.example.com"}, "blanks": {"--host", "a.example.com, b.example.com"},
		"repeats": {"--host", "a.example.com", "--host", "b.example.com"},
	} {
		var made struct {
			APIKey struct{ AllowedHosts []string }
		}
		s.read(&made, append([]string{"keys", "create", "--name", name, "--all-collections"}, options...)...)
		if got := strings.Join(made.APIKey.AllowedHosts, " "); got != "a.example.com b.example.com" {
			t.Errorf("%s: %q", name, got)
		}
	}
	s.ok("connectors", "create", "--name", "Files", "--type", "file_upload", "--collection", "Docs")
	s.ok("sync", "items", "Files", "--status", "failed, skipped", "--status", "deleted")
}
