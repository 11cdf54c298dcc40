package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWordsAreCompletedByTheDefinitionsOfTheHelp(t *testing.T) {
	t.Parallel()
	s := &shell{t: t}
	complete := func(words ...string) []string {
		return strings.Fields(s.ok(append([]string{"__complete", "bash"}, words...)...))
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
		t.Skip("groff is not installed, which checks the pages")
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

func TestBashCompletesBySourcingTheScript(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	s := &shell{t: t, flags: []string{"--config", settingsFile(t)}}
	// The function stands for the program and prints the words that it gets.
	script := s.ok("completion", "bash") + `
magpie() { printf '%s\n' "[$*]" "with blanks"; }
COMP_WORDS=(magpie sync start); COMP_CWORD=2
_magpie
printf '%s|' "${COMPREPLY[@]}"`
	out, err := exec.CommandContext(t.Context(), bash, "-c", script).CombinedOutput()
	if err != nil || string(out) != "[__complete|bash|sync|start]|with blanks|" {
		t.Errorf("%v %q", err, out)
	}
}
