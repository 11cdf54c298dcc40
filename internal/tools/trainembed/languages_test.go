package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// parallels returns the parallel paragraphs of files, whose names are paths in the folder of a collection.
func parallels(t *testing.T, files map[string]string) []string {
	t.Helper()
	folder := t.TempDir()
	for path, content := range files {
		full := filepath.Join(folder, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sources, err := findSources(folder)
	if err != nil {
		t.Fatal(err)
	}
	readings := make([]reading, len(sources))
	for i := range sources {
		if readings[i], err = sources[i].read(&sources[i], sources[i].full); err != nil {
			t.Fatal(err)
		}
	}
	var found []string
	for _, p := range parallelPairs(readings) {
		found = append(found, fmt.Sprintf("%s %s-%s: %s = %s", p.kind, p.from, p.to, p.left, p.right))
	}
	return found
}

func TestTranslationsAreAligned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"names and keywords of emoji": {
			map[string]string{
				"cldr/usr/share/unicode/cldr/common/annotations/en.xml": `<ldml><annotations><annotation cp="x">cat | pet</annotation>` +
					`<annotation cp="x" type="tts">cat face</annotation></annotations></ldml>`,
				"cldr/usr/share/unicode/cldr/common/annotations/hi.xml": `<ldml><annotations><annotation cp="x">बिल्ली</annotation></annotations></ldml>`,
			},
			"gloss en-en: cat face = cat, pet\nmessage en-hi: cat, pet = बिल्ली",
		},
		"DocBook": {
			map[string]string{
				"kde/usr/share/doc/HTML/en/kate/index.docbook": "<chapter><title>The &kate; Handbook</title><para>Edit <b>text</b>.</para></chapter>",
				"kde/usr/share/doc/HTML/sv/kate/index.docbook": "<chapter><title>Handbok för &kate;</title><para>Redigera text.</para></chapter>",
			},
			"message en-sv: The kate Handbook = Handbok för kate\nmessage en-sv: Edit text. = Redigera text.",
		},
		"programs": {
			map[string]string{"apt/lists/x_dep11_Components-amd64.yml": "---\nFile: DEP-11\n---\nID: a\nSummary:\n  C: Play chess\n  ko: 체스 게임\n" +
				"Description:\n  C: <p>A game.</p>\n  ko: <p>게임입니다.</p>\n"},
			"message en-ko: Play chess = 체스 게임\nmessage en-ko: A game. = 게임입니다.",
		},
		"thesaurus": {
			map[string]string{"m/usr/share/mythes/th_ro_RO_v2.dat": "UTF-8\nmare|1\n-|vast\n"},
			"synonym ro-ro: mare = vast",
		},
	} {
		if got := strings.Join(parallels(t, c.files), "\n"); got != c.want {
			t.Errorf("%s give\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestWordsOfLanguagesWithLittleTextAreKept(t *testing.T) {
	t.Parallel()
	var drafts []draft
	for i := range 3000 {
		drafts = append(drafts, draft{left: fmt.Sprint("the english", i%300), from: "en"})
	}
	for i := range 40 {
		drafts = append(drafts, draft{left: fmt.Sprint("suomen sana", i%10), from: "fi"})
	}
	c := number(drafts, 2)
	place := func(term string) int {
		for i, found := range c.Terms {
			if found == term {
				return i
			}
		}
		t.Fatalf("%s is not a term", term)
		return 0
	}
	if place("sana1") > place("english1") {
		t.Error("a word of one in ten Finnish texts is after a word of one in three hundred English texts")
	}
	if a, b := c.Shares[place("the")], c.Shares[place("suomen")]; a < 0.4 || b < 0.4 {
		t.Errorf("every second word has a share of %.2f in English and %.2f in Finnish", a, b)
	}
}
