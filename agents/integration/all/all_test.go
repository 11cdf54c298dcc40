package all_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/all"
)

var update = flag.Bool("update", false, "rewrite the table of docs/tool-packs.md")

const page = "../../../docs/tool-packs.md"

func TestEveryToolIsListedWithRiskAndPolicy(t *testing.T) {
	t.Parallel()
	registry, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, p := range registry.Providers() {
		for _, tool := range p.Tools {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |", p.FullName(tool), tool.Title, tool.Risk, tool.Risk.Default()))
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const head = "|---|---|---|---|\n"
	before, _, found := strings.Cut(string(text), head)
	want := before + head + strings.Join(rows, "\n") + "\n"
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !found || string(text) != want {
		t.Error("docs/tool-packs.md does not list the tools with their risks and policies; run go test ./agents/integration/all -update")
	}
}

// A package that is not in the list would not be found by anybody, and one without the
// suite has promised nothing.
func TestEveryPackageIsListedAndPassesTheSuite(t *testing.T) {
	t.Parallel()
	registry, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob("../*/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, doc := range folders {
		source, err := filepath.Glob(filepath.Join(filepath.Dir(doc), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		provides, suite := false, false
		for _, file := range source {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			provides = provides || strings.Contains(string(text), "\nfunc Provider() integration.Provider")
			suite = suite || strings.Contains(string(text), "integrationtest.Run(t, ")
		}
		if !provides {
			continue
		}
		if !suite {
			t.Errorf("%s does not run the suite", filepath.Dir(doc))
		}
		found++
	}
	if found != len(registry.Providers()) {
		t.Errorf("there are %d packages and %d providers", found, len(registry.Providers()))
	}
}
