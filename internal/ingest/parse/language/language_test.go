package language_test

import (
	"encoding/csv"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

func TestLanguagesOfSentencesAndParagraphs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		texts func(lines []string) []string
		least float64 // the share in percent that must be right; none may be wrong
	}{
		"sentences":        {func(lines []string) []string { return lines }, 88},
		"two sentences":    {func(lines []string) []string { return pairs(lines) }, 96},
		"paragraphs":       {func(lines []string) []string { return []string{strings.Join(lines, " ")} }, 100},
		"half a sentence":  {halves, 70},
		"prose among code": {amongCode, 95},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			right, all := 0, 0
			for _, language := range slices.Sorted(maps.Keys(parsetest.AllSentences())) {
				want := strings.TrimSuffix(language, "-Hant")
				for _, text := range c.texts(parsetest.Sentences(language)) {
					all++
					switch got := parsetest.Read(t, "page.md", text).Language; got {
					case want:
						right++
					case "":
					default:
						t.Errorf("%s is taken for %s: %q", want, got, text)
					}
				}
			}
			share := 100 * float64(right) / float64(all)
			t.Logf("%.1f%% of %d are right, none is wrong", share, all)
			if share < c.least {
				t.Errorf("%.1f%% are right, want %.0f%%", share, c.least)
			}
		})
	}
}

func pairs(lines []string) (texts []string) {
	for i := range lines[1:] {
		texts = append(texts, lines[i]+" "+lines[i+1])
	}
	return texts
}

func halves(lines []string) (texts []string) {
	for _, line := range lines {
		runes := []rune(line)
		texts = append(texts, string(runes[:len(runes)/2]), string(runes[len(runes)/2:]))
	}
	return texts
}

func amongCode(lines []string) []string {
	return []string{"# getUserById()\n\n" + strings.Join(lines, "\n\n```go\nfor i := range list { if value, found := list[i].get(); found { return value } }\n```\n\n`GET /v1/users` ")}
}

func TestWhatIsNoKnownLanguageHasNone(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"filler":      "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua.",
		"names":       "Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson",
		"random":      "xkq wvz rtp lmn bgh yuz qwx zzt plk mjh ghb vfd csx waz eds rfv tgb yhn ujm " + strings.Repeat("qwx zzt plk mjh ", 20),
		"encoded":     strings.Repeat("TWFuIGlzIGRpc3Rpbmd1aXNoZWQ sIG5vdCBvbmx5IGJ5IGhpcyByZWFzb24 ", 5),
		"identifiers": "getUserById setUserName parseHTML newReader ioWriter toString hashCode isEmpty addAll removeIf compareTo",
		"short":       "Version two",
	} {
		if got := parsetest.Read(t, "page.md", text).Language; got != "" {
			t.Errorf("%s has the language %q", name, got)
		}
	}
}

// The manifest says in which language's folder a page is. Some pages there are still in English, or all code.
func TestLanguagesOfTheHelmDocumentationWithoutItsFolders(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(parsetest.Corpora, "helm-docs")
	manifest, err := os.Open(filepath.Join(folder, "manifest.csv"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the shared corpora are not beside this checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manifest.Close() }()
	records, err := csv.NewReader(manifest).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	parser := parse.New(parse.Options{})
	right, none, all := 0, 0, 0
	for _, record := range records[1:] {
		content, err := os.ReadFile(filepath.Join(folder, record[0]))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := parser.Parse(t.Context(), parse.Input{Name: "page" + filepath.Ext(record[0]), Content: content})
		if unsupported := (*document.UnsupportedError)(nil); errors.As(err, &unsupported) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", record[0], err)
		}
		all++
		switch doc.Language {
		case record[2]:
			right++
		case "":
			none++
		default:
			t.Logf("%s is in %q, the manifest says %q", record[0], doc.Language, record[2])
		}
	}
	share := 100 * float64(right) / float64(all)
	t.Logf("%.2f%% of %d pages are in the language of the manifest, %d have none", share, all, none)
	if share < 97 || all-right-none > all/200 {
		t.Errorf("%.2f%% are right and %d wrong, want 97%% and less than half a percent wrong", share, all-right-none)
	}
}

func BenchmarkLanguage(b *testing.B) {
	text := strings.Join(parsetest.Sentences("de"), " ")
	text += " " + text + " " + text + " " + text
	parser := parse.New(parse.Options{})
	content := []byte(text)
	b.ReportAllocs()
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		if _, err := parser.Parse(b.Context(), parse.Input{Name: "page.txt", Content: content}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestLanguageIsDetectedOnlyWhenSure(t *testing.T) {
	t.Parallel()
	german := "Dieses Handbuch beschreibt, wie die Anwendung installiert wird und wie man sie danach im Betrieb überwacht. " +
		"Es richtet sich an Menschen, die mit der Verwaltung von Servern vertraut sind und schnell beginnen wollen."
	for text, want := range map[string]string{
		german:                      "de",
		"Short text":                "",
		"OK":                        "",
		strings.Repeat("备份数据库", 40): "zh",
		strings.Repeat("バックアップを取ります。", 20):                            "ja",
		"The backup of the database is in the folder that you named.": "en",
	} {
		if got := parsetest.Read(t, "x.md", text).Language; got != want {
			t.Errorf("%.20q: got %q, want %q", text, got, want)
		}
	}
	if got := parsetest.Read(t, "it/x.md", strings.Repeat("Questa guida descrive come installare il programma e come usarlo per la prima volta. ", 4)).Language; got != "it" {
		t.Errorf("an Italian page in a folder it has language %q", got)
	}
}
