package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

func TestWordsAreCompletedByTheDefinitionsOfTheHelp(t *testing.T) {
	t.Parallel()
	s := &shell{t: t}
	settings := settingsFile(t, "MAGPIE_PROFILES="+filepath.Join(t.TempDir(), "profiles.json"))
	complete := func(words ...string) []string {
		return strings.Fields(s.ok(append([]string{"__complete", "bash", "--config", settings}, words...)...))
	}
	for _, c := range []struct{ words, want string }{
		{"conn", "connectors"}, {"connectors pa", "pause"}, {"connectors create --na", "--name"}, {"collections --qui", "--quiet"},
		{"sync start Files --mode inc", "incremental"}, {"sync start Files --mode=inc", "--mode=incremental"}, {"sync start --mode = f", "full"},
		{"users role ada@example.com ow", "owner"}, {"completion z", "zsh"}, {"documents --match", "--matching"}, {"keys update Site --no-req", "--no-require-signature"},
		{"documents --collection Docs de", "delete"},
	} {
		if got := complete(strings.Split(c.words, " ")...); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %q, want %s", c.words, got, c.want)
		}
	}
	all := complete("")
	for _, command := range []string{"search", "login", "documents", "serve"} {
		if !slices.Contains(all, command) {
			t.Errorf("%s is not among %q", command, all)
		}
	}
	if slices.Contains(all, "__complete") || len(complete("connectors", "--collection", "")) != 0 {
		t.Error("what must not be completed is")
	}
	if out := s.ok("__complete", "fish", "sea"); !strings.HasPrefix(out, "search\tSearch the") {
		t.Errorf("%q", out)
	}
	if out := s.ok("__complete", "zsh", "sea"); !strings.HasPrefix(out, "search:Search the") {
		t.Errorf("%q", out)
	}
}

func TestManualPagesAreWholeAndWellFormed(t *testing.T) {
	t.Parallel()
	s := &shell{t: t, flags: []string{"--config", settingsFile(t)}}
	folder := filepath.Join(t.TempDir(), "share", "man1")
	var result struct{ Written []string }
	s.read(&result, "man", folder)
	if len(result.Written) < 30 {
		t.Fatalf("%q", result.Written)
	}
	for name, want := range map[string]string{
		"magpie.1": "magpie\\-search (1)", "magpie-connectors.1": "\\-\\-credentials=FILE", "magpie-sync.1": ".SS magpie sync start <connector> [options]",
		"magpie-login.1": ".TH MAGPIE\\-LOGIN 1",
	} {
		page, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%s has no %s: %v", name, want, err)
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Fatal("groff, which checks the pages, is missing; scripts/setup.sh --tests installs it")
	}
	for _, page := range result.Written {
		var errs strings.Builder
		check := exec.CommandContext(t.Context(), groff, "-man", "-Tascii", "-ww", "-z", page)
		check.Stderr = &errs
		if err := check.Run(); err != nil || errs.Len() > 0 {
			t.Errorf("%s: %v %s", page, err, errs.String())
		}
	}
}

// typed starts a shell on a script, in which the function magpie stands for the program and prints the words that it gets.
func typed(t *testing.T, shell, script string, arguments ...string) string {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Fatalf("%s, whose completion is tried, is missing; scripts/setup.sh --tests installs it", shell)
	}
	out, err := exec.CommandContext(t.Context(), path, append(arguments, script)...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v %s", shell, err, out)
	}
	return string(out)
}

func TestShellsCompleteByTheirScripts(t *testing.T) {
	t.Parallel()
	s := &shell{t: t, flags: []string{"--config", settingsFile(t)}}
	for name, c := range map[string]struct {
		arguments    []string
		before, then string
		want         string
	}{
		"bash": {[]string{"--norc", "-c"}, `magpie() { printf '%s\n' "[$*]" 'with\ blanks'; }
`, `
COMP_WORDS=(magpie sync start); COMP_CWORD=2
_magpie
printf '%s|' "${COMPREPLY[@]}"`, `[__complete|bash|sync|start]|with\ blanks|`},
		"zsh": {[]string{"-f", "-c"}, `autoload -Uz compinit && compinit -u -D
magpie() { printf '%s\n' "[$*]" 'with blanks:help'; }
_describe() { print -r -- "$1" "${(@P)2}"; }
_files() { print files; }
`, `
print -r -- "$_comps[magpie]"
words=(magpie sync 'st'); CURRENT=3
_magpie
magpie() { :; }
_magpie`, "_magpie\nmagpie [__complete zsh sync st] with blanks:help\nfiles\n"},
		"fish": {[]string{"--no-config", "-c"}, `function magpie; printf '%s\n' "[$argv]" "with blanks"; end
`, `
complete -C "magpie sync "`, "with blanks\n[__complete fish sync ]\n"},
	} {
		script := c.before + s.ok("completion", name) + c.then
		if got := typed(t, name, script, c.arguments...); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestNamesAreCompletedFromAMagpieOverHTTP(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	s := as(t, m, personalToken(m))
	s.ok("collections", "create", "Hand book: A")
	s.ok("connectors", "create", "--name", "Files", "--type", "file_upload", "--collection", "Hand book: A")
	config := []string{"--config", s.flags[1]}
	complete := func(name string, words ...string) string {
		return (&shell{t: t}).ok(append(append([]string{"__complete", name}, config...), words...)...)
	}
	for _, c := range []struct{ shell, words, want string }{
		{"bash", "sync|start|F", "Files\n"}, {"bash", "sync|status|", "Files\n"}, {"bash", "collections|show|", `Hand\ book:\ A` + "\n"}, {"bash", `collections|show|Hand\ b`, `Hand\ book:\ A` + "\n"},
		{"bash", "documents|--collection|\"Hand", `Hand\ book:\ A` + "\n"}, {"fish", "documents|--collection=Ha", "--collection=Hand book: A\n"}, {"zsh", "collections|show|", `Hand book\: A` + "\n"},
		{"bash", "tokens|revoke|", "Laptop\n"}, {"bash", "sync|start|x", ""},
	} {
		if got := complete(c.shell, strings.Split(c.words, "|")...); got != c.want {
			t.Errorf("%s %s: %q", c.shell, c.words, got)
		}
	}
}
