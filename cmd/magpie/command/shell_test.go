package command_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/command"
	"github.com/magpie-search/magpie/internal/testkit"
)

// shell runs commands against a Magpie of the test's own.
type shell struct {
	t     *testing.T
	flags []string
}

// newShell makes a database with one workspace, and a Redis.
func newShell(t *testing.T) *shell {
	t.Helper()
	s := emptyShell(t)
	s.ok("users", "create", "owner@example.com", "--new-workspace", "Test")
	return s
}

func emptyShell(t *testing.T) *shell {
	t.Helper()
	database := testkit.Database(t)
	return &shell{t: t, flags: []string{
		"--config", settingsFile(t, "MIGRATE_DATABASE_URL="+database.OwnerURL),
		"--database-url", database.AppURL, "--redis-url", testkit.Redis(t),
	}}
}

// settingsFile writes the settings that every process of a test needs.
func settingsFile(t *testing.T, further ...string) string {
	t.Helper()
	folder := t.TempDir()
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))
	lines := append([]string{
		"SESSION_KEY=" + key, "SECRET_KEYS=test:" + key, "BLOB_URL=file://" + filepath.Join(folder, "blobs"),
		"ALLOWED_PRIVATE_NETWORKS=127.0.0.0/8,::1", "LISTEN_ADDR=127.0.0.1:0", "SHUTDOWN_TIMEOUT=5s",
	}, further...)
	file := filepath.Join(folder, "settings")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

type outcome struct {
	code     int
	out, err string
}

func (s *shell) run(arguments ...string) outcome { return s.runWith("", arguments...) }

func (s *shell) runWith(input string, arguments ...string) outcome {
	s.t.Helper()
	var out, err bytes.Buffer
	code := command.Run(s.t.Context(), append(append([]string{}, s.flags...), arguments...),
		command.Streams{In: strings.NewReader(input), Out: &out, Err: &err})
	return outcome{code, out.String(), err.String()}
}

// ok runs a command that must succeed and returns what it printed.
func (s *shell) ok(arguments ...string) string {
	s.t.Helper()
	o := s.run(arguments...)
	if o.code != 0 {
		s.t.Fatalf("magpie %s: %d\n%s%s", strings.Join(arguments, " "), o.code, o.out, o.err)
	}
	return o.out
}

// fails runs a command that must fail with one line that has a text in it.
func (s *shell) fails(want string, arguments ...string) {
	s.t.Helper()
	o := s.run(arguments...)
	line := strings.TrimSuffix(o.err, "\n")
	if o.code == 0 || !strings.HasPrefix(line, "magpie: ") || strings.Contains(line, "\n") || !strings.Contains(line, want) {
		s.t.Errorf("magpie %s: code %d, output %q, error %q, want a line with %q", strings.Join(arguments, " "), o.code, o.out, o.err, want)
	}
}

// read runs a command with --json and decodes what it prints.
func (s *shell) read(into any, arguments ...string) {
	s.t.Helper()
	out := s.ok(append([]string{"--json"}, arguments...)...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		s.t.Fatalf("magpie --json %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}
