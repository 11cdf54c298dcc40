package dashboard_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// english returns the messages that are other words in German. Messages with values are
// left out.
func english(t *testing.T) []string {
	t.Helper()
	read := func(path string) (messages map[string]string) {
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &messages)
		}
		if err != nil {
			t.Fatal(err)
		}
		return messages
	}
	files, err := filepath.Glob("src/messages/*.en.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of messages: %v", len(files), err)
	}
	said := map[string]bool{} // whether it is German, too
	for _, file := range files {
		german := read(strings.Replace(file, ".en.", ".de.", 1))
		for key, text := range read(file) {
			if !said[text] {
				said[text] = false
			}
			said[german[key]] = true
		}
	}
	var out []string
	for text, isGerman := range said {
		if !isGerman && !strings.Contains(text, "{") {
			out = append(out, text)
		}
	}
	return out
}

// shown returns the texts of a page: of its elements, and those that only assistive
// technology and an empty field show.
const shown = `(() => {
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	const texts = [];
	while (walk.nextNode()) if (visible(walk.currentNode.parentElement)) texts.push(walk.currentNode.data.trim());
	for (const name of ["aria-label", "placeholder", "title"]) texts.push(...all("[" + name + "]").map((e) => e.getAttribute(name).trim()));
	return texts;
})()`

// germanPages checks that no page is partly English in German.
func germanPages(t *testing.T, m *world) {
	// What the workspace and the service call things is the same in every language.
	var named struct {
		ConnectorKinds []struct {
			Title                string
			Options, Credentials []struct{ Title, Help, Group string }
		}
		AgentTools []struct{ Title string }
	}
	m.GraphQL(&named, `{ connectorKinds { title options { title help group } credentials { title help group } } agentTools { title } }`, nil)
	names := []string{"Test", "Files", "Site", "Code", "Desk", "Reports", "Handbook", "Owner"}
	for _, tool := range named.AgentTools {
		names = append(names, tool.Title)
	}
	for _, kind := range named.ConnectorKinds {
		names = append(names, kind.Title)
		for _, option := range slices.Concat(kind.Options, kind.Credentials) {
			names = append(names, option.Title, option.Help, option.Group)
		}
	}
	messages := map[string]bool{}
	for _, message := range english(t) {
		messages[message] = !slices.Contains(names, message)
	}
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/search")
	p.Eval(`localStorage.setItem("magpie-language", "de")`, nil)
	p.open("/account")
	for _, page := range pages() {
		p.goTo(m.address(page.path))
		p.Is(`document.documentElement.lang`, "de")
		var texts []string
		p.Eval(shown, &texts)
		slices.Sort(texts)
		for _, text := range slices.Compact(texts) {
			if messages[text] {
				t.Errorf("%s says %q", page.path, text)
			}
		}
	}
	p.Clean()
}
