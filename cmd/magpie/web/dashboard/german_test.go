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

// english returns the messages, and the texts of the service, that are other words in
// German. Those with values are left out.
func english(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("src/messages/*.en.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of messages: %v", len(files), err)
	}
	said := map[string]bool{} // whether it is German, too
	add := func(text, german string) {
		if !said[text] {
			said[text] = false
		}
		said[german] = true
	}
	for _, file := range files {
		german := texts(t, strings.Replace(file, ".en.", ".de.", 1))
		for key, text := range texts(t, file) {
			add(text, german[key])
		}
	}
	for _, family := range []string{"forms", "problems", "reasons"} {
		for text, german := range wordsOf(t, family) {
			add(text, german)
		}
	}
	out := map[string]bool{}
	for text, isGerman := range said {
		out[text] = !isGerman && !strings.Contains(text, "{")
	}
	return out
}

// texts reads a file of texts.
func texts(t *testing.T, path string) (out map[string]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
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

// inGerman opens a page in German.
func (p *person) inGerman(path string) {
	p.t.Helper()
	p.Eval(`localStorage.setItem("magpie-language", "de")`, nil)
	p.open(path)
}

// germanProblems is told in German what cannot be done: that a name is taken, what is wrong with a field, and why a
// connection fails.
func germanProblems(p *person, _ *world) {
	p.t.Helper()
	p.inGerman("/people?tab=invitations")
	p.hit("Jemanden einladen")
	p.fill("E-Mail-Adresse", stacktest.Email)
	p.hit("Einladung anlegen")
	p.sees("Diese Person ist schon Mitglied des Arbeitsbereichs")
	p.Press("\x1b")
	p.goTo("/account")
	p.fill("Bisheriges Passwort", "not this one")
	p.fill("Neues Passwort", "aaaaaaaaaaaa")
	p.hit("Passwort ändern")
	p.sees("Das bisherige Passwort ist falsch")
	p.goTo("/connectors/new/web_crawler")
	p.enter("Startadressen", "http://127.0.0.1:1/")
	p.hit("Verbindung testen")
	p.sees("Verbinden mit 127.0.0.1:1: ")
}

// germanPages checks that no page is partly English in German.
func germanPages(t *testing.T, m *world) {
	messages := english(t)
	// What the workspace calls things is the same in every language.
	for _, name := range []string{"Test", "Files", "Site", "Code", "Desk", "Reports", "Handbook", "Owner"} {
		messages[name] = false
	}
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/search")
	p.inGerman("/account")
	paths := []string{"/connectors/new/web_crawler", "/integrations/new?provider=prometheus", "/connectors/new/jira", "/inbound/new?provider=github"}
	for _, page := range pages() {
		paths = append(paths, m.address(page.path))
	}
	for _, path := range paths {
		p.goTo(path)
		p.Is(`document.documentElement.lang`, "de")
		var said []string
		p.Eval(shown, &said)
		slices.Sort(said)
		for _, text := range slices.Compact(said) {
			if messages[text] {
				t.Errorf("%s says %q", path, text)
			}
		}
	}
	p.Clean()
}
