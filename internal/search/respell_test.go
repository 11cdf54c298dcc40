package search_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// automation are documents about automation.
func (f *fixture) automation(id tenant) {
	f.Helper()
	for path, text := range map[string]string{
		"playbook.md":  "# Playbooks\n\nA playbook lists tasks. Ansible runs each playbook against the hosts of an inventory.",
		"inventory.md": "# Inventory file\n\nThe inventory file names the hosts. Groups of hosts stand in the inventory, too.",
		"dynamic.md":   "# Dynamic inventory\n\nA dynamic inventory asks a cloud for its hosts. Its configuration names the cloud.",
		"check.md":     "# Check mode\n\nA dry-run changes nothing. Start the command with --dry-run to see the changes.",
		"roles.md":     "# Roles\n\nRoles share tasks and handlers between projects.",
	} {
		f.add(id, path, text, func(r *index.Record) { r.Language = "en" })
	}
}

// engines returns an engine of each tier.
func (f *fixture) engines() map[string]*search.Engine {
	return map[string]*search.Engine{
		"resident": f.engine, "stored": newEngine(f, f.db, analysis.New(), f.models, search.Options{Memory: -1}),
	}
}

func passagesOf(r *search.Results) []uuid.UUID {
	var out []uuid.UUID
	for _, h := range r.Hits {
		out = append(out, h.Passage)
	}
	return out
}

func TestMisspelledWordsFindWhatTheRightSpellingFinds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.automation(id)
	for tier, engine := range f.engines() {
		for typed, want := range map[string]struct {
			meant     string
			corrected []rank.Correction
		}{
			"playbok":                  {"playbook", []rank.Correction{{From: "playbok", To: "playbook"}}},
			"Playbok":                  {"Playbook", []rank.Correction{{From: "Playbok", To: "Playbook"}}},
			"PLAYBOK":                  {"PLAYBOOK", []rank.Correction{{From: "PLAYBOK", To: "PLAYBOOK"}}},
			"inventry file":            {"inventory file", []rank.Correction{{From: "inventry", To: "inventory"}}},
			"dynamic invetory":         {"dynamic inventory", []rank.Correction{{From: "invetory", To: "inventory"}}},
			"dynamc invetory, dynamc?": {"dynamic inventory, dynamic?", []rank.Correction{{From: "dynamc", To: "dynamic"}, {From: "invetory", To: "inventory"}}},
			"nventory":                 {"", nil}, // the first letter must be right
			"ivnentory":                {"inventory", []rank.Correction{{From: "ivnentory", To: "inventory"}}},
			"configuraton":             {"configuration", []rank.Correction{{From: "configuraton", To: "configuration"}}},
			"playbook":                 {"", nil},
			"the playbook":             {"", nil},
			`"playbok" inventory`:      {"", nil},
			"inventory -playbok":       {"", nil},
			"playbok1":                 {"", nil},
			"play_bok":                 {"", nil},
			"xylophone":                {"", nil},
			"dynamicinventory":         {"dynamic inventory", []rank.Correction{{From: "dynamicinventory", To: "dynamic inventory"}}},
			"checkmode":                {"check mode", []rank.Correction{{From: "checkmode", To: "check mode"}}},
			"inventorydynamic":         {"", nil}, // nowhere side by side
		} {
			query := search.Query{Text: typed, Limit: 10, MinScore: 0.5}
			r, err := engine.Search(t.Context(), id.scope, query)
			if err != nil {
				t.Fatal(err)
			}
			if r.DidYouMean != want.meant || !slices.Equal(r.Corrected, want.corrected) {
				t.Errorf("%s: Search(%q) corrects %+v to %q, want %+v and %q", tier, typed, r.Corrected, r.DidYouMean, want.corrected, want.meant)
			}
			if want.meant == "" {
				continue
			}
			query.Text = want.meant
			right, err := engine.Search(t.Context(), id.scope, query)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Hits) == 0 || !slices.Equal(passagesOf(r), passagesOf(right)) || r.Total != right.Total {
				t.Errorf("%s: Search(%q) = %v, want that of %q: %v", tier, typed, passagesOf(r), want.meant, passagesOf(right))
			}
			if len(r.Hits) > 0 && len(right.Hits) > 0 && r.Hits[0].Score > right.Hits[0].Score {
				t.Errorf("%s: Search(%q) scores %f, the right spelling %f", tier, typed, r.Hits[0].Score, right.Hits[0].Score)
			}
		}
	}
}

// A question in an unknown language is stemmed in all languages. In one of them,
// certifcate has the stem that certificate has in English.
func TestAStemInAnotherLanguageDoesNotMakeAWordKnown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "# Certificates\n\nEach host has a certificate.", func(r *index.Record) { r.Language = "en" })
	if r := f.search(id, search.Query{Text: "certifcate", Limit: 10}); r.DidYouMean != "certificate" || len(r.Hits) != 1 {
		t.Errorf("Search(certifcate) means %q", r.DidYouMean)
	}
	german := f.tenant()
	f.add(german, "a.md", "# Sicherung\n\nDie Sicherung läuft.", func(r *index.Record) { r.Language = "de" })
	if r := f.search(german, search.Query{Text: "Sicherungen", Limit: 10}); r.DidYouMean != "" || len(r.Hits) != 1 {
		t.Errorf("Search(Sicherungen) means %q", r.DidYouMean)
	}
}

func TestCompoundsAreFoundHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.automation(id)
	for tier, engine := range f.engines() {
		var want []uuid.UUID
		for _, typed := range []string{"dry-run", "dry run", "dryrun", "--dry-run", "Dry-Run", "DRY RUN"} {
			r, err := engine.Search(t.Context(), id.scope, search.Query{Text: typed, Limit: 10, MinScore: 0.5})
			if err != nil {
				t.Fatal(err)
			}
			got := passagesOf(r)
			if want == nil {
				want = got
			}
			if len(got) == 0 || !slices.Equal(got, want) || r.DidYouMean != "" {
				t.Errorf("%s: Search(%q) = %v, did you mean %q, want %v", tier, typed, got, r.DidYouMean, want)
			}
		}
	}
}

func TestCompoundsAreFoundWhicheverFormDocumentsHave(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, text := range []string{
		"# Preview\n\nA dry run changes nothing.", "# Preview\n\nA dry-run changes nothing.", "# Preview\n\nA dryrun changes nothing.",
	} {
		id := f.tenant()
		f.add(id, "a.md", text, func(r *index.Record) { r.Language = "en" })
		f.add(id, "b.md", "# Other\n\nOf dry land, and of a long run.", func(r *index.Record) { r.Language = "en" })
		for tier, engine := range f.engines() {
			for _, typed := range []string{"dry-run", "dry run", "dryrun", "dry-run changes", "dryrun changes"} {
				r, err := engine.Search(t.Context(), id.scope, search.Query{Text: typed, Limit: 10, MinScore: 0})
				if err != nil {
					t.Fatal(err)
				}
				place := slices.IndexFunc(r.Hits, func(h search.Hit) bool { return h.Title == "Preview" })
				// The words apart are in both passages, the compound as one word only in the right one.
				if place != 0 && (place < 0 || typed != "dry run") {
					t.Errorf("%s: Search(%q) in %q finds %d passages, the right one at %d", tier, typed, text, len(r.Hits), place)
				}
			}
		}
	}
}

func TestCorrectionsNeverShowWordsOfHiddenDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.automation(id)
	f.add(id, "secret.md", "# Otterhound\n\nThe otterhound is secret, and so is the paybook.", func(r *index.Record) {
		r.Language, r.Readers = "en", []string{"user:ann"}
	})
	other := f.collection(id, "Other", "builtin-static-256")
	f.add(other, "walrus.md", "# Walrus\n\nOf the walrus.", nil)
	foreign := f.tenant()
	f.add(foreign, "narwhal.md", "# Narwhal\n\nOf the narwhal.", nil)
	for tier, engine := range f.engines() {
		for _, c := range []struct {
			as    []string
			typed string
			meant string
		}{
			{[]string{"user:ben"}, "oterhound", ""},
			{[]string{"user:ann"}, "oterhound", "otterhound"},
			{nil, "oterhound", "otterhound"},
			// A word of a hidden document is corrected like any word that no passage has.
			{[]string{"user:ben"}, "paybook", "playbook"},
			{[]string{"user:ann"}, "paybook", ""},
			{nil, "walrs", ""},
			{nil, "narwhl", ""},
		} {
			query := search.Query{Text: c.typed, Limit: 10, Collection: &id.collection}
			r, err := engine.Search(viewerWith(t, c.as), id.scope, query)
			if err != nil {
				t.Fatal(err)
			}
			if r.DidYouMean != c.meant {
				t.Errorf("%s: Search(%q) as %q means %q, want %q", tier, c.typed, c.as, r.DidYouMean, c.meant)
			}
			query.Filters.Readers = []string{"user:ben"}
			if r, err = engine.Search(viewerWith(t, nil), id.scope, query); err != nil {
				t.Fatal(err)
			}
			if c.typed == "oterhound" && r.DidYouMean != "" || c.typed == "paybook" && r.DidYouMean != "playbook" {
				t.Errorf("%s: Search(%q) for the readers %q means %q", tier, c.typed, query.Filters.Readers, r.DidYouMean)
			}
		}
	}
}

func TestWordsOfEveryAlphabetAreCorrected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct{ language, text, typed, meant string }{
		{"de", "# Sicherung\n\nDie Sicherung der Datenbank läuft jede Nacht.", "Sicherng Datenbank", "Sicherung Datenbank"},
		{"fr", "# Sauvegarde\n\nLa sauvegarde des données commence à minuit.", "sauvgarde", "sauvegarde"},
		{"ru", "# Резервное копирование\n\nРезервное копирование базы данных.", "копиравание", "копирование"},
		{"el", "# Αντίγραφα\n\nΤα αντίγραφα ασφαλείας της βάσης δεδομένων.", "αντιγραφα δεδομρνων", "αντιγραφα δεδομένων"},
		{"ar", "# قاعدة\n\nالنسخ الاحتياطي لقاعدة البيانات في المستودع.", "المستودغ", "المستودع"},
		{"he", "# גיבוי\n\nגיבוי של מסד הנתונים במחשבים.", "במחשביס", "במחשבים"},
		{"hi", "# बैकअप\n\nपुस्तकालय में किताबें रखी जाती हैं।", "पुसतकालय", "पुस्तकालय"},
		{"ja", "# 東京\n\n東京は日本の首都です。", "東京都庁", ""},
		{"th", "# ภาษา\n\nภาษาไทยเป็นภาษาที่มีวรรณยุกต์", "ภาษส", ""},
	} {
		id := f.tenant()
		f.add(id, "a.md", c.text, func(r *index.Record) { r.Language = c.language })
		for tier, engine := range f.engines() {
			r, err := engine.Search(t.Context(), id.scope, search.Query{Text: c.typed, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			if r.DidYouMean != c.meant {
				t.Errorf("%s: Search(%q) means %q, want %q", tier, c.typed, r.DidYouMean, c.meant)
			}
		}
	}
}

func TestAQuestionWithoutTonesFindsWordsWithTones(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for path, text := range map[string]string{
		"hanoi.md":  "# Hà Nội\n\nHà Nội là thủ đô của Việt Nam. Dân số của thành phố hơn tám triệu người.",
		"autumn.md": "# Mùa\n\nThu trời mát, gió từ phía bắc. Lá vàng rơi đầy sân.",
		"rice.md":   "# Lúa\n\nNông dân trồng lúa trên đồng bằng. Mỗi năm có hai vụ.",
	} {
		f.add(id, path, text, func(r *index.Record) { r.Language = "vi" })
	}
	for tier, engine := range f.engines() {
		for typed, want := range map[string]struct {
			meant, title string
			corrected    []rank.Correction
		}{
			"thu do ha noi": {"thủ đô hà nội", "Hà Nội", []rank.Correction{{From: "thu do ha noi", To: "thủ đô hà nội"}}},
			"dan so ha noi": {"dân số hà nội", "Hà Nội", []rank.Correction{{From: "dan so ha noi", To: "dân số hà nội"}}},
			"trong lua":     {"trồng lúa", "Lúa", []rank.Correction{{From: "trong lua", To: "trồng lúa"}}},
			"thủ đô hà nội": {"", "Hà Nội", nil},
			"Hà Nội là gì":  {"", "Hà Nội", nil},
			"Hà Nôị, lã":    {"", "Hà Nội", nil}, // other tones are other words
			"lá vàng":       {"", "Mùa", nil},
		} {
			r, err := engine.Search(t.Context(), id.scope, search.Query{Text: typed, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			if r.DidYouMean != want.meant || !slices.Equal(r.Corrected, want.corrected) || len(r.Hits) == 0 || r.Hits[0].Title != want.title {
				t.Errorf("%s: Search(%q) means %q, %+v, finds %+v", tier, typed, r.DidYouMean, r.Corrected, r.Hits)
			}
		}
	}
}

func TestSuggestionsCorrectWhatNothingCompletes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.automation(id)
	for tier, engine := range f.engines() {
		for typed, want := range map[string]string{
			"playbo": "Playbooks", "plybo": "Playbooks", "dynamic invetor": "Dynamic inventory", "dynamc inven": "Dynamic inventory", "zzgg": "",
		} {
			found, err := engine.Suggest(t.Context(), id.scope, search.Query{Text: typed, Limit: 5})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(found) > 0 {
				got = found[0].Title
			}
			if got != want {
				t.Errorf("%s: Suggest(%q) = %q, want %q", tier, typed, got, want)
			}
		}
	}
}

func TestAHostileQuestionCorrectsFewWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.automation(id)
	text := ""
	for _, w := range []string{"playbok", "inventry", "dynamc", "comand", "chnges", "cloud", "grops", "taks", "hndlers", "projcts", "betwen", "configuraton"} {
		text += w + " "
	}
	for tier, engine := range f.engines() {
		r, err := engine.Search(t.Context(), id.scope, search.Query{Text: text, Limit: 10})
		if err != nil || len(r.Corrected) > 8 || len(r.Corrected) < 5 {
			t.Errorf("%s: corrected %d words: %+v, %v", tier, len(r.Corrected), r, err)
		}
	}
}
