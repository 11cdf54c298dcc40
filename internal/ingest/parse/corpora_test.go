package parse_test

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
)

const corporaFolder = "../../../../shared/corpora"

// leastMatch is the share of files, in percent, whose derived value must equal the manifest's.
type leastMatch struct{ title, language, version, section float64 }

func TestDerivedFactsMatchTheManifests(t *testing.T) {
	t.Parallel()
	for corpus, least := range map[string]leastMatch{
		"helm-docs":        {98, 100, 100, 99},
		"etcd-docs":        {98, 92, 100, 100},
		"cockroachdb-docs": {99, 99, 100, 97},
	} {
		t.Run(corpus, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(corporaFolder, corpus)
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
			compareWithManifest(t, folder, records[1:], least)
		})
	}
}

func compareWithManifest(t *testing.T, folder string, records [][]string, least leastMatch) {
	t.Helper()
	var title, language, version, section, parsed int
	for _, record := range records {
		content, err := os.ReadFile(filepath.Join(folder, record[0]))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := parse.New(parse.Options{}).Parse(t.Context(), parse.Input{Name: record[0], Content: content})
		if unsupported := (*document.UnsupportedError)(nil); errors.As(err, &unsupported) {
			t.Logf("%s: %v", record[0], err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", record[0], err)
			continue
		}
		parsed++
		same := func(count *int, name, got, want string) {
			if got == want {
				*count++
			} else {
				t.Logf("%s: %s is %q, manifest %q", record[0], name, got, want)
			}
		}
		wantSection := record[4]
		if strings.Contains(wantSection, ".") {
			wantSection = "" // the manifest names the file itself where there is no folder
		}
		same(&title, "title", doc.Title, record[1])
		same(&language, "language", doc.Language, record[2])
		same(&version, "version", doc.Version, record[3])
		same(&section, "section", doc.Section, wantSection)
	}
	for _, column := range []struct {
		name  string
		count int
		least float64
	}{{"title", title, least.title}, {"language", language, least.language}, {"version", version, least.version}, {"section", section, least.section}} {
		share := 100 * float64(column.count) / float64(parsed)
		t.Logf("%s: %.2f%% of %d", column.name, share, parsed)
		if share < column.least {
			t.Errorf("%s matches in %.2f%% of %d files, want %.0f%%", column.name, share, parsed, column.least)
		}
	}
}
