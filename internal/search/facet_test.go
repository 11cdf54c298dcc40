package search_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

func fields() []search.Field {
	return []search.Field{
		search.FieldSection, search.FieldVersion, search.FieldTags, search.FieldDocType, search.FieldLanguage,
		search.FieldCollection, search.FieldSource, search.FieldConnector, search.FieldDate,
	}
}

func everyField() *search.FacetQuery { return &search.FacetQuery{Fields: fields(), Values: 20} }

// filed is a document as the oracle knows it.
type filed struct {
	id, collection, connector                   uuid.UUID
	source, section, version, docType, language string
	tags, readers                               []string
	at                                          time.Time
}

func (d *filed) values(field search.Field) []string {
	one := map[search.Field]string{
		search.FieldSection: d.section, search.FieldVersion: d.version, search.FieldDocType: d.docType, search.FieldLanguage: d.language,
		search.FieldCollection: d.collection.String(), search.FieldSource: d.source, search.FieldConnector: d.connector.String(),
	}
	if field == search.FieldTags {
		return slices.Compact(slices.Sorted(slices.Values(d.tags)))
	}
	if one[field] == "" {
		return nil
	}
	return []string{one[field]}
}

// chosen is what a query selects, field by field.
type chosen struct {
	values      map[search.Field][]string
	from, until time.Time
	readers     []string
}

// passes tells whether the selections in all fields but one let a document through.
func (c *chosen) passes(d *filed, but search.Field) bool {
	for field, wanted := range c.values {
		if field != but && !common(wanted, d.values(field)) {
			return false
		}
	}
	if dated := !c.from.IsZero() || !c.until.IsZero(); dated && but != search.FieldDate {
		if d.at.IsZero() || d.at.Before(c.from) || !c.until.IsZero() && !d.at.Before(c.until) {
			return false
		}
	}
	return c.readers == nil || d.readers == nil || common(c.readers, d.readers)
}

func common(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// filters is the same for the engine; without leaves one field's selection out.
func (c *chosen) filters(without search.Field) search.Filters {
	values := func(field search.Field) []string {
		if field == without {
			return nil
		}
		return c.values[field]
	}
	f := search.Filters{
		Sections: values(search.FieldSection), Versions: values(search.FieldVersion), Languages: values(search.FieldLanguage),
		Tags: values(search.FieldTags), DocTypes: values(search.FieldDocType), Sources: values(search.FieldSource),
	}
	if len(f.Sections) == 1 { // one value may be said either way
		f.Section, f.Sections = f.Sections[0], nil
	}
	for _, text := range values(search.FieldConnector) {
		f.Connectors = append(f.Connectors, uuid.MustParse(text))
	}
	for _, text := range values(search.FieldCollection) {
		f.Collections = append(f.Collections, uuid.MustParse(text))
	}
	if without != search.FieldDate {
		f.From, f.Until = c.from, c.until
	}
	return f
}

// facet counts documents as naively as can be.
func (c *chosen) facet(field search.Field, documents []*filed, ranges []search.Range, most int) search.Facet {
	f := search.Facet{Field: field, Documents: len(documents)}
	if field == search.FieldDate {
		for _, r := range ranges {
			v := search.FacetValue{Value: r.Name, Range: r, Selected: (!c.from.IsZero() || !c.until.IsZero()) && c.from.Equal(r.From) && c.until.Equal(r.Until)}
			for _, d := range documents {
				if !d.at.IsZero() && !d.at.Before(r.From) && (r.Until.IsZero() || d.at.Before(r.Until)) {
					v.Count++
				}
			}
			if f.Values = append(f.Values, v); v.Count > 0 {
				f.Distinct++
			}
		}
		for _, d := range documents {
			if d.at.IsZero() {
				f.Missing++
			}
		}
		return f
	}
	counts := map[string]int{}
	for _, d := range documents {
		values := d.values(field)
		if len(values) == 0 {
			f.Missing++
		}
		for _, v := range values {
			counts[v]++
		}
	}
	f.Distinct = len(counts)
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	for i, name := range names {
		selected := slices.Contains(c.values[field], name)
		if i < most || selected {
			f.Values = append(f.Values, search.FacetValue{Value: name, Count: counts[name], Selected: selected})
		} else {
			f.Other += counts[name]
		}
	}
	return f
}

// shelf is a workspace with random documents, and the oracle's list of them.
type shelf struct {
	*fixture
	*rand.Rand
	places    []tenant // a collection and connector each
	sources   map[uuid.UUID]string
	documents map[string]*filed // by path
	serial    int
}

func (f *fixture) shelf(random *rand.Rand) *shelf {
	f.Helper()
	s := &shelf{fixture: f, Rand: random, sources: map[uuid.UUID]string{}, documents: map[string]*filed{}}
	first := f.tenant()
	s.places = []tenant{first, f.collection(first, "Second", embed.BuiltinModel), f.collection(first, "Third", embed.BuiltinModel)}
	for _, p := range slices.Clone(s.places) {
		s.sources[p.connector] = "file_upload"
		p.connector = gid.New(gid.Connector)
		f.exec(`insert into connectors (id, created_at, updated_at, workspace_id, name, type, config, collection_id)
			values ($1, now(), now(), $2, 'Bucket', 's3', '{}', $3)`, p.connector, p.workspace, p.collection)
		s.sources[p.connector] = "s3"
		s.places = append(s.places, p)
	}
	return s
}

func (s *shelf) pick(list ...string) string { return list[s.IntN(len(list))] }

// write stores a new document, or another version of one that is there.
func (s *shelf) write(path string, place tenant) {
	s.Helper()
	d := &filed{
		collection: place.collection, connector: place.connector, source: s.sources[place.connector],
		section: s.pick("", "guides", "api", "it's \"quoted\", {odd}", "ünïcode", "rare "+fmt.Sprint(s.IntN(30))), version: s.pick("", "v1", "v2"),
		docType: s.pick("", "page", "faq"), language: s.pick("", "en", "de", "fr"),
	}
	for range s.IntN(4) {
		d.tags = append(d.tags, s.pick("red", "green", "blue", "a,b"))
	}
	if s.IntN(5) > 0 {
		d.at = time.Date(2026, 1, 1+s.IntN(400), s.IntN(24), 0, 0, s.IntN(2)*1000, time.UTC)
	}
	switch s.IntN(4) {
	case 0:
		d.readers = []string{}
	case 1:
		d.readers = []string{s.pick("anna", "ben"), s.pick("ben", "cleo")}
	}
	text := ""
	for range 1 + s.IntN(4) {
		text += "# " + s.pick("Otters", "Badgers", "Herons") + "\n\n" + s.pick("Otters swim in the river.", "A heron waits.", "Badgers dig at night and otters watch.") + "\n\n"
	}
	d.id = s.add(place, path, text, func(r *index.Record) {
		r.Section, r.Version, r.DocType, r.Language, r.Tags, r.Readers = d.section, d.version, d.docType, d.language, d.tags, d.readers
		r.CreatedAt, r.UpdatedAt = time.Time{}, d.at
		r.Hash = []byte(fmt.Sprint(s.Uint64()))
	})
	s.documents[path] = d
}

// change writes, overwrites and deletes some.
func (s *shelf) change(n int) {
	s.Helper()
	for range n {
		switch paths := slices.Sorted(maps.Keys(s.documents)); {
		case len(paths) > 20 && s.IntN(3) == 0: // deleted
			path := paths[s.IntN(len(paths))]
			if _, err := s.index.SoftDelete(s.Context(), s.places[0].scope, index.Fence{}, []uuid.UUID{s.documents[path].id}); err != nil {
				s.Fatal(err)
			}
			delete(s.documents, path)
		case len(paths) > 20 && s.IntN(2) == 0: // changed in its place
			path := paths[s.IntN(len(paths))]
			at := slices.IndexFunc(s.places, func(p tenant) bool { return p.connector == s.documents[path].connector })
			s.write(path, s.places[at])
		default:
			s.serial++
			s.write(fmt.Sprintf("%d.md", s.serial), s.places[s.IntN(len(s.places))])
		}
	}
}

// choose makes a random selection.
func (s *shelf) choose() *chosen {
	c := &chosen{values: map[search.Field][]string{}}
	some := func(field search.Field, list ...string) {
		if s.IntN(4) == 0 {
			c.values[field] = []string{s.pick(list...), s.pick(list...)}
			if s.IntN(2) == 0 {
				c.values[field] = c.values[field][:1]
			}
		}
	}
	var collections, connectors []string
	for _, p := range s.places {
		collections, connectors = append(collections, p.collection.String()), append(connectors, p.connector.String())
	}
	some(search.FieldSection, "guides", "api", "it's \"quoted\", {odd}", "rare 7", "nowhere")
	some(search.FieldVersion, "v1", "v2", "v3")
	some(search.FieldTags, "red", "a,b", "blue", "none")
	some(search.FieldDocType, "page", "faq")
	some(search.FieldLanguage, "en", "de", "xx")
	some(search.FieldCollection, collections...)
	some(search.FieldSource, "s3", "file_upload", "slack")
	some(search.FieldConnector, append(connectors, uuid.NewString())...)
	if s.IntN(4) == 0 {
		c.from = time.Date(2026, 1, 1+s.IntN(300), 0, 0, 0, 0, time.UTC)
	}
	if s.IntN(4) == 0 {
		c.until = time.Date(2026, 4, 1+s.IntN(300), 5, 0, 0, 1500, time.UTC)
	}
	c.readers = [][]string{nil, nil, {}, {"anna"}, {"ben", "nobody"}}[s.IntN(5)]
	return c
}

// TestFacetsAreThoseOfANaiveCount changes documents at random and asks both
// tiers for counts, under random selections, readers and reaches.
func TestFacetsAreThoseOfANaiveCount(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			s := f.shelf(rand.New(rand.NewPCG(seed, 4)))
			stranger := f.shelf(rand.New(rand.NewPCG(seed, 5)))
			stranger.change(10)
			stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
			for round := range 5 {
				s.change(25)
				for range 8 {
					s.compare(t, map[string]*search.Engine{"memory": f.engine, "PostgreSQL": stored})
				}
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
		})
	}
}

func (s *shelf) compare(t *testing.T, engines map[string]*search.Engine) {
	t.Helper()
	c := s.choose()
	scope, reached := s.places[0].scope, []uuid.UUID{s.places[0].collection, s.places[1].collection, s.places[2].collection}
	if s.IntN(3) == 0 {
		reached = reached[s.IntN(2) : 2+s.IntN(2)]
		var err error
		if scope, err = (viewer.Viewer{Workspace: s.places[0].workspace, Kind: viewer.KindKey, Collections: reached}).Scope(); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	ask := search.Query{Filters: c.filters(""), Facets: &search.FacetQuery{Fields: fields(), Values: 1 + s.IntN(12)}, Now: now}
	ranges := search.UsualRanges(now)
	if s.IntN(2) == 0 {
		at := time.Date(2026, 1, 1+s.IntN(400), 0, 0, 0, 0, time.UTC)
		ranges = []search.Range{{Name: "own", From: at, Until: at.AddDate(0, 1, 0)}, {Name: "before", Until: at}}
		ask.Facets.Ranges = ranges
	}
	if s.IntN(2) == 0 {
		ask.Text, ask.MinScore = s.pick("otters", "otters river", "heron -badgers", "badgers \"at night\""), []float64{0, 0.3, 0.5}[s.IntN(3)]
	}
	for name, e := range engines {
		var want []search.Facet
		for _, field := range fields() {
			found := s.found(t, e, scope, ask, c, field)
			var documents []*filed
			for _, d := range s.documents {
				if slices.Contains(reached, d.collection) && c.passes(d, field) && (found == nil || found[d.id]) {
					documents = append(documents, d)
				}
			}
			want = append(want, c.facet(field, documents, ranges, ask.Facets.Values))
		}
		got, err := e.Facets(asking(t, c.readers), scope, ask)
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s, %q, %+v: %v (-want +got)\n%s", name, ask.Text, c, err, diff)
		}
		if ask.Text == "" {
			continue
		}
		ask.Limit = 10
		results, err := e.Search(asking(t, c.readers), scope, ask)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, results.Facets, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, with the results of %q, %+v (-want +got)\n%s", name, ask.Text, c, diff)
		}
	}
}

// found are the documents that a search finds without the selection in one
// field; nil without a text, when all are.
func (s *shelf) found(t *testing.T, e *search.Engine, scope viewer.Scope, ask search.Query, c *chosen, without search.Field) map[uuid.UUID]bool {
	t.Helper()
	if ask.Text == "" {
		return nil
	}
	documents := map[uuid.UUID]bool{}
	ask.Facets, ask.Limit, ask.Filters = nil, 100, c.filters(without)
	for {
		r, err := e.Search(asking(t, c.readers), scope, ask)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hits {
			documents[h.Document] = true
		}
		if ask.Offset += len(r.Hits); len(r.Hits) == 0 || ask.Offset >= r.Total {
			return documents
		}
	}
}

func TestFacetQueriesAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, q := range map[string]search.FacetQuery{
		"no values":        {Fields: fields()},
		"too many values":  {Fields: fields(), Values: 101},
		"an unknown field": {Fields: []search.Field{"author"}, Values: 1},
		"a field twice":    {Fields: []search.Field{"tags", "tags"}, Values: 1},
		"an endless range": {Fields: []search.Field{"date"}, Values: 1, Ranges: []search.Range{{}}},
		"a backward range": {Fields: []search.Field{"date"}, Values: 1, Ranges: []search.Range{{From: day, Until: day}}},
		"too many ranges":  {Fields: []search.Field{"date"}, Values: 1, Ranges: slices.Repeat([]search.Range{{From: day}}, 21)},
	} {
		if _, err := f.engine.Facets(t.Context(), id.scope, search.Query{Facets: &q}); err == nil {
			t.Errorf("%s is taken", name)
		}
		if _, err := f.engine.Search(t.Context(), id.scope, search.Query{Text: "x", Limit: 1, Facets: &q}); err == nil {
			t.Errorf("%s is taken with a search", name)
		}
	}
	got, err := f.engine.Facets(t.Context(), id.scope, search.Query{Facets: everyField()})
	if err != nil || len(got) != len(fields()) || got[0].Documents != 0 || len(got[len(got)-1].Values) != 6 {
		t.Errorf("of nothing: %+v, %v", got, err)
	}
}

func TestSuggestionsAreTitles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, other := f.tenant(), f.tenant()
	titled := func(at tenant, path, title string, readers []string) {
		f.add(at, path, "# "+title+"\n\nSomething about otters and kubernetes.", func(r *index.Record) { r.Title, r.Readers = title, readers })
	}
	titled(id, "a", "Kubernetes operator", nil)
	titled(id, "b", "kubernetes operator", nil)
	titled(id, "c", "Running a kubelet", nil)
	titled(id, "d", "Otters", nil)
	titled(id, "e", "Kubernetes for bosses", []string{"boss"})
	titled(other, "x", "Kubernetes of others", nil)
	for typed, want := range map[string]int{"kube": 2, "KUBERN": 1, "running kubel": 1, "otters": 1, "zebra": 0, "kubernetes o": 2, "\"": 0, "-kube": 0} {
		got, err := f.engine.Suggest(asking(t, []string{"me"}), id.scope, typed, 10, search.Filters{})
		if err != nil || len(got) != want {
			t.Errorf("%q: %+v, %v, want %d", typed, got, err, want)
		}
	}
	if got, err := f.engine.Suggest(t.Context(), id.scope, "kube", 1, search.Filters{}); err != nil || len(got) != 1 {
		t.Errorf("one: %+v, %v", got, err)
	}
}
