package dashboard_test

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	approvalslack "github.com/magpie-search/magpie/agents/approval/slack"
	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/agents/catalog"
	integrations "github.com/magpie-search/magpie/agents/integration/all"
	"github.com/magpie-search/magpie/agents/integration/toolserver"
	"github.com/magpie-search/magpie/agents/integration/webhook"
	"github.com/magpie-search/magpie/agents/template"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/all"
	inbound "github.com/magpie-search/magpie/internal/event/provider"
)

// wordsOf reads the German words of a family.
func wordsOf(t *testing.T, family string) map[string]string {
	t.Helper()
	return texts(t, "src/words/"+family+".de.json")
}

// formTexts returns what forms and galleries show of the service: texts of connectors,
// integrations, tools and templates.
func formTexts(t *testing.T) []string {
	t.Helper()
	var found []string
	var add func(options ...connectors.Option)
	add = func(options ...connectors.Option) {
		for _, o := range options {
			found = append(found, o.Title, o.Help, o.Group)
			for _, choice := range o.Choices {
				if regexp.MustCompile(`^[a-z_-]+$`).MatchString(choice) { // others are versions
					found = append(found, choice)
				}
			}
			add(o.Fields...)
		}
	}
	kinds, err := all.Registry(all.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	add(connectors.CommonOptions()...)
	for _, kind := range kinds.Kinds() {
		found = append(found, kind.Title, kind.Description)
		add(kind.Options...)
		add(kind.Credentials...)
	}
	packs, err := integrations.Registry()
	if err != nil {
		t.Fatal(err)
	}
	servers := toolserver.New(nil, map[string][]string{"1": nil}, toolserver.OAuth{RedirectURL: "{1}"}).Provider()
	for _, p := range append(packs.Providers(), servers, webhook.AnyHost()) {
		found = append(found, p.Title, p.Summary)
		add(p.Config...)
		add(p.Credentials...)
		for _, tool := range p.Tools {
			found = append(found, tool.Title, tool.Description)
		}
	}
	for _, p := range append(inbound.All(inbound.Deps{}), approvalslack.New(approvalslack.Options{}).Provider()) {
		found = append(found, p.Title, p.Description, p.Hint)
		add(p.Options...)
		add(p.Credentials...)
	}
	for _, tool := range catalog.Tools() {
		found = append(found, tool.Title, tool.Description)
	}
	for _, made := range template.Builtin() {
		found = append(found, made.Name, made.Description)
	}
	for _, made := range automation.Templates() {
		found = append(found, made.Title, made.Description)
	}
	return found
}

// compare reports texts without words, and words without a text.
func compare(t *testing.T, family string, texts []string) {
	t.Helper()
	words := wordsOf(t, family)
	said := map[string]bool{"": true}
	for _, text := range texts {
		if !said[text] && words[text] == "" {
			t.Errorf("src/words/%s.de.json lacks %q", family, text)
		}
		said[text] = true
	}
	for _, text := range slices.Sorted(maps.Keys(words)) {
		if !said[text] {
			t.Errorf("src/words/%s.de.json has %q, which nothing says", family, text)
		}
	}
}

// Forms and galleries are German in a German dashboard.
func TestGermanForms(t *testing.T) {
	t.Parallel()
	compare(t, "forms", formTexts(t))
}
