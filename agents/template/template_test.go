package template_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/agents/catalog"
	"github.com/magpie-search/magpie/agents/template"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/apierr/check"
)

func TestBuiltInTemplatesAreValidAgents(t *testing.T) {
	t.Parallel()
	all := template.Builtin()
	if len(all) != 12 {
		t.Errorf("%d templates; update this number and docs/agents.md", len(all))
	}
	names, used := map[string]bool{}, map[string]bool{}
	for i, x := range all {
		if kind, ok := gid.KindOf(x.ID); !ok || kind != gid.AgentTemplate {
			t.Errorf("%s: %s is not the id of a template", x.Name, x.ID)
		}
		if i > 0 && slices.Compare(all[i-1].ID[:], x.ID[:]) >= 0 {
			t.Errorf("%s: the id %s is out of order", x.Name, x.ID)
		}
		if custom := gid.New(gid.AgentTemplate); slices.Compare(custom[:], x.ID[:]) <= 0 {
			t.Errorf("%s: the id %s sorts after those of a workspace", x.Name, x.ID)
		}
		if err := catalog.CheckTools(x.Tools); err != nil || len(x.Tools) == 0 {
			t.Errorf("%s: %v", x.Name, err)
		}
		if _, err := check.Name("name", x.Name); err != nil || names[x.Name] {
			t.Errorf("%s: %v", x.Name, err)
		}
		if err := check.Text("systemPrompt", x.SystemPrompt, catalog.MaxPrompt); err != nil || utf8.RuneCountInString(x.SystemPrompt) < 1000 {
			t.Errorf("%s: the prompt has %d characters: %v", x.Name, utf8.RuneCountInString(x.SystemPrompt), err)
		}
		if !x.BuiltIn || x.Category == "" || x.Category != strings.ToLower(x.Category) || x.Description == "" || x.StartMessage == nil || *x.StartMessage == "" || x.CreatedAt != nil {
			t.Errorf("%+v", x)
		}
		names[x.Name] = true
		for _, tool := range x.Tools {
			used[tool] = true
		}
	}
	for _, tool := range catalog.ToolNames() {
		if !used[tool] {
			t.Errorf("no template uses %s", tool)
		}
	}
	all[0].Tools[0] = "changed"
	if template.Builtin()[0].Tools[0] == "changed" {
		t.Error("a caller can change a built-in template")
	}
}
