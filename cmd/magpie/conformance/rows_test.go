package conformance_test

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata/rows.txt
var rowList string

// rows are the names of the rows of the interface.
func rows() []string {
	var names []string
	for line := range strings.Lines(rowList) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			names = append(names, line)
		}
	}
	return names
}

// check is the case of one row. They run at the same time on one site.
type check func(t *testing.T, s *site)

func cases(t *testing.T) map[string]check {
	t.Helper()
	all := map[string]check{}
	for _, some := range []map[string]check{endpointCases(), filterCases(), keyCases(), chatCases(), errorCases(), limitCases(), decisionCases(), dashboardCases(), documentCases(), oauthCases(), webhookCases(), engineCases(), actingCases(), versionCases()} {
		for name, c := range some {
			if all[name] != nil {
				t.Errorf("%q has two cases", name)
			}
			all[name] = c
		}
	}
	return all
}

func TestEveryRowHasACase(t *testing.T) {
	t.Parallel()
	listed, made := rows(), cases(t)
	for i, name := range listed {
		if made[name] == nil {
			t.Errorf("the row %q has no case", name)
		}
		if slices.Contains(listed[:i], name) {
			t.Errorf("the row %q is listed twice", name)
		}
	}
	for name := range made {
		if !slices.Contains(listed, name) {
			t.Errorf("the case %q has no row", name)
		}
	}
}

func TestTheInterfaceHolds(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	s.put(t, s.docs, library()...)
	s.put(t, s.notes, document{path: "note.md", title: "A note", texts: []string{"The note in the other collection speaks of marmalade."}})
	made := cases(t)
	for _, name := range slices.Sorted(maps.Keys(made)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made[name](t, s)
		})
	}
}

// library is what the docs collection holds.
func library() []document {
	long := document{path: "long.md", title: "Long guide", section: "guides", version: "2.0", docType: "guide", tags: []string{"long"}, updated: "2025-06-01"}
	for _, word := range strings.Fields("apple banana cherry damson elder fig") {
		long.texts = append(long.texts, "The lighthouse keeper counts every "+word+" before the lighthouse is lit, and writes the number of the "+word+" into the lighthouse book.")
	}
	return []document{
		{path: "keys.md", title: "Rotate the signing key", url: "https://example.com/keys", section: "guides", version: "2.0", docType: "how-to",
			tags: []string{"security", "keys"}, created: "2024-01-10", updated: "2026-03-01", metadata: map[string]any{"author": "Ada", "pages": 3},
			texts: []string{"The signing key is rotated once a year. Run the rotate command and restart every worker.", "Old signing keys stay valid for a day so that nobody is locked out of the lighthouse."}},
		{path: "backup.md", title: "Backup and restore", section: "operations", version: "1.0", docType: "how-to", tags: []string{"backup"},
			created: "2024-05-05", texts: []string{"A backup of the lighthouse database is taken every night and kept for thirty days."}},
		{path: "referenz.md", title: "Sicherung", section: "operations", version: "2.0", docType: "reference", language: "de", tags: []string{"backup", "keys"},
			updated: "2025-12-31", texts: []string{"Die Sicherung der Datenbank des Leuchtturms (lighthouse) läuft jede Nacht."}},
		{path: "hostile.md", title: "Hostile <b>title</b>", version: "3.0", updated: "2026-01-01", tags: []string{`"><script>`},
			texts: []string{`The zebra says <script>alert("zebra")</script> & <mark>zebra</mark> <img src=x onerror='zebra'> and nothing else about the lighthouse.`}},
		long,
	}
}
