package command_test

import (
	"fmt"
	"maps"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// words cuts a line as a shell does.
func words(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", `set -f; eval "set -- $1"; printf '%s\0' "$@"`, "sh", line).Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// printedOption is a line of connectors kinds.
type printedOption struct {
	flag, word, name string
	conditions       []string // options that it depends on, as arguments
	needed           bool
}

// printedOptions are the options that connectors kinds prints, by kind.
func printedOptions(t *testing.T, s *shell) map[string][]printedOption {
	t.Helper()
	printed := map[string][]printedOption{}
	kind := ""
	for line := range strings.Lines(s.ok("connectors", "kinds")) {
		if !strings.HasPrefix(line, "  --") {
			kind, _, _ = strings.Cut(line, " ")
			printed[kind] = nil
			continue
		}
		usage, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		usage, needed := strings.CutSuffix(usage, " (needed)")
		parts := words(t, usage)
		if len(parts) < 2 || len(parts)%2 != 0 {
			t.Fatalf("%s: %q is %q to a shell", kind, usage, parts)
		}
		conditions, own := parts[:len(parts)-2], parts[len(parts)-2:]
		name, _, _ := strings.Cut(own[1], "=")
		printed[kind] = append(printed[kind], printedOption{own[0], own[1], name, conditions, needed})
	}
	return printed
}

func TestOptionsOfAFolderThatWouldBeIgnoredAreRefused(t *testing.T) {
	t.Parallel()
	s := &shell{t: t}
	for _, c := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"dev", "--base-url", "https://docs.example.com"}, "--base-url needs --corpus"},
		{[]string{"dev", "--corpus", t.TempDir(), "--strip-extension"}, "--strip-extension needs --base-url"},
	} {
		if o := s.run(c.arguments...); o.code != 2 || !strings.Contains(o.err, c.want) {
			t.Errorf("%q: %+v", c.arguments, o)
		}
	}
}

func TestTheExamplesOfKindsAreAcceptedAsTheyArePrinted(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t, "TOKEN_RATE_LIMIT", "0") // hundreds of requests in seconds
	s := as(t, m, personalToken(m))                  // quicker than commands that each open the stores
	s.ok("collections", "create", "Docs")
	var kinds []struct {
		Name                 string
		Options, Credentials []struct{ Name, Type string }
	}
	s.read(&kinds, "connectors", "kinds")
	printed := printedOptions(t, s)
	tried := 0
	for _, kind := range kinds {
		create := []string{"connectors", "create", "--type", kind.Name, "--collection", "Docs"}
		for _, o := range printed[kind.Name] {
			if o.needed {
				create = append(create, o.flag, o.word)
			}
		}
		if want := len(kind.Options) + len(kind.Credentials); len(printed[kind.Name]) != want {
			t.Errorf("%s prints %d options of %d", kind.Name, len(printed[kind.Name]), want)
		}
		for i, o := range printed[kind.Name] {
			tried++
			arguments := append(slices.Clone(create), "--name", fmt.Sprintf("%s %d", kind.Name, i))
			if !o.needed {
				arguments = append(append(arguments, o.conditions...), o.flag, o.word)
			}
			got := s.run(arguments...)
			// Credentials need one another, and a secret's sample is none.
			wrong := got.code != 0 && !strings.Contains(got.err, "credentials.")
			if o.flag == "--credential" {
				wrong = wrong || strings.Contains(got.err, "must be")
			}
			if wrong {
				t.Errorf("%s %s of %s: %s", o.flag, o.word, kind.Name, got.err)
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d options", tried)
	}
}

func TestListsTakeCommasRepeatsAndJSON(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("collections", "create", "Docs")
	create := func(name string, options ...string) map[string]any {
		arguments := []string{"connectors", "create", "--name", name, "--type", "github", "--collection", "Docs", "--credential", "token=12345"}
		for _, o := range options {
			arguments = append(arguments, "--option", o)
		}
		s.ok(arguments...)
		var row struct{ Config map[string]any }
		s.read(&row, "connectors", "show", name)
		return row.Config
	}
	two := []any{"acme/handbook", "acme/site"}
	for name, options := range map[string][]string{
		"commas": {"repos=acme/handbook, acme/site"}, "repeats": {"repos=acme/handbook", "repos=acme/site"}, "JSON": {`repos=["acme/handbook","acme/site"]`},
		"both": {`repos=["acme/handbook"]`, "repos=acme/site,"},
	} {
		if got := create(name, options...); !reflect.DeepEqual(got["repos"], two) {
			t.Errorf("%s: %v", name, got)
		}
	}
	got := create("odd", "repos=acme/handbook", "branch=2024", "pathFilter=docs/{a,b}/**,README.md")
	if !maps.Equal(map[string]string{"branch": fmt.Sprint(got["branch"]), "pathFilter": fmt.Sprintf("%q", got["pathFilter"])},
		map[string]string{"branch": "2024", "pathFilter": `["docs/{a,b}/**" "README.md"]`}) {
		t.Errorf("%v", got)
	}
	if s.ok("connectors", "update", "odd", "--option", "branch=true", "--option", "repos=acme/site"); !strings.Contains(s.ok("connectors", "show", "odd"), `"branch":"true"`) {
		t.Error("a text was not changed to another")
	}
	s.fails("--option branch is given twice", "connectors", "update", "odd", "--option", "branch=a", "--option", "branch=b")
	s.fails("--option takes NAME=VALUE", "connectors", "update", "odd", "--option", "branch")
	s.fails("none", "connectors", "update", "odd", "--option", "none=1")
}
