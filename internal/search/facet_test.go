package search_test

import (
	"cmp"
	"context"
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
	"github.com/magpie-search/magpie/internal/apierr"
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

func allFacets() *search.FacetQuery { return &search.FacetQuery{Fields: fields(), Values: 20} }

// facets counts the documents of a query's results, or all documents if the query has no
// text.
func facets(ctx context.Context, e *search.Engine, scope viewer.Scope, q search.Query) ([]search.Facet, error) {
	if q.Text == "" {
		return e.DocumentFacets(ctx, scope, q)
	}
	return e.Facets(ctx, scope, q)
}

// storedDocument is a document that the oracle counts.
type storedDocument struct {
	id, collection, connector                   uuid.UUID
	source, section, version, docType, language string
	tags, readers                               []string
	at                                          time.Time
}

func (d *storedDocument) values(field search.Field) []string {
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

// selection is the selection of a query, by field.
type selection struct {
	values      map[search.Field][]string
	from, until time.Time
	readers     []string
}

// includes reports whether the selections in all fields but one include a document.
func (c *selection) includes(d *storedDocument, except search.Field) bool {
	for field, values := range c.values {
		if field != except && !overlap(values, d.values(field)) {
			return false
		}
	}
	if dated := !c.from.IsZero() || !c.until.IsZero(); dated && except != search.FieldDate {
		if d.at.IsZero() || d.at.Before(c.from) || !c.until.IsZero() && !d.at.Before(c.until) {
			return false
		}
	}
	return c.readers == nil || d.readers == nil || overlap(c.readers, d.readers)
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// filters returns the selection of all fields but one as filters.
func (c *selection) filters(except search.Field) search.Filters {
	values := func(field search.Field) []string {
		if field == except {
			return nil
		}
		return c.values[field]
	}
	f := search.Filters{
		Sections: values(search.FieldSection), Versions: values(search.FieldVersion), Languages: values(search.FieldLanguage),
		Tags: values(search.FieldTags), DocTypes: values(search.FieldDocType), Sources: values(search.FieldSource),
	}
	if len(f.Sections) == 1 { // a single value may be in either field
		f.Section, f.Sections = f.Sections[0], nil
	}
	for _, text := range values(search.FieldConnector) {
		f.Connectors = append(f.Connectors, uuid.MustParse(text))
	}
	for _, text := range values(search.FieldCollection) {
		f.Collections = append(f.Collections, uuid.MustParse(text))
	}
	if except != search.FieldDate {
		f.From, f.Until = c.from, c.until
	}
	return f
}

// facet counts documents by brute force.
func (c *selection) facet(field search.Field, documents []*storedDocument, ranges []search.Range, limit int) search.Facet {
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
		if i < limit || selected {
			f.Values = append(f.Values, search.FacetValue{Value: name, Count: counts[name], Selected: selected})
		} else {
			f.Other += counts[name]
		}
	}
	return f
}

// library is a workspace with random documents, and the oracle's list of them.
type library struct {
	*fixture
	*rand.Rand
	places    []tenant // a collection and connector each
	sources   map[uuid.UUID]string
	documents map[string]*storedDocument // by path
	serial    int
}

func (f *fixture) library(random *rand.Rand) *library {
	f.Helper()
	s := &library{fixture: f, Rand: random, sources: map[uuid.UUID]string{}, documents: map[string]*storedDocument{}}
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

func (s *library) pick(list ...string) string { return list[s.IntN(len(list))] }

// write stores a new document, or a new version of a document.
func (s *library) write(path string, place tenant) {
	s.Helper()
	d := &storedDocument{
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

// change adds, changes and deletes documents.
func (s *library) change(n int) {
	s.Helper()
	for range n {
		switch paths := slices.Sorted(maps.Keys(s.documents)); {
		case len(paths) > 20 && s.IntN(3) == 0: // deleted
			path := paths[s.IntN(len(paths))]
			if _, err := s.index.SoftDelete(s.Context(), s.places[0].scope, index.Fence{}, []uuid.UUID{s.documents[path].id}); err != nil {
				s.Fatal(err)
			}
			delete(s.documents, path)
		case len(paths) > 20 && s.IntN(2) == 0: // changed
			path := paths[s.IntN(len(paths))]
			i := slices.IndexFunc(s.places, func(p tenant) bool { return p.connector == s.documents[path].connector })
			s.write(path, s.places[i])
		default:
			s.serial++
			s.write(fmt.Sprintf("%d.md", s.serial), s.places[s.IntN(len(s.places))])
		}
	}
}

// selection returns a random selection. Its collections are in scope.
func (s *library) selection(inScope []uuid.UUID) *selection {
	c := &selection{values: map[search.Field][]string{}}
	maybe := func(field search.Field, list ...string) {
		if s.IntN(4) == 0 {
			c.values[field] = []string{s.pick(list...), s.pick(list...)}
			if s.IntN(2) == 0 {
				c.values[field] = c.values[field][:1]
			}
		}
	}
	var collections, connectors []string
	for _, id := range inScope {
		collections = append(collections, id.String())
	}
	for _, p := range s.places {
		connectors = append(connectors, p.connector.String())
	}
	maybe(search.FieldSection, "guides", "api", "it's \"quoted\", {odd}", "rare 7", "nowhere")
	maybe(search.FieldVersion, "v1", "v2", "v3")
	maybe(search.FieldTags, "red", "a,b", "blue", "none")
	maybe(search.FieldDocType, "page", "faq")
	maybe(search.FieldLanguage, "en", "de", "xx")
	maybe(search.FieldCollection, collections...)
	maybe(search.FieldSource, "s3", "file_upload", "slack")
	maybe(search.FieldConnector, append(connectors, uuid.NewString())...)
	if s.IntN(4) == 0 {
		c.from = time.Date(2026, 1, 1+s.IntN(300), 0, 0, 0, 0, time.UTC)
	}
	if s.IntN(4) == 0 {
		c.until = time.Date(2026, 4, 1+s.IntN(300), 5, 0, 0, 1500, time.UTC)
	}
	c.readers = [][]string{nil, nil, {}, {"anna"}, {"ben", "nobody"}}[s.IntN(5)]
	return c
}

// TestFacetsEqualBruteForce changes documents at random and compares the counts of both
// tiers under random selections, readers and scopes.
func TestFacetsEqualBruteForce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			s := f.library(rand.New(rand.NewPCG(seed, 4)))
			other := f.library(rand.New(rand.NewPCG(seed, 5)))
			other.change(10)
			stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
			for round := range 5 {
				s.change(25)
				for range 8 {
					s.compare(t, map[string]*search.Engine{"resident": f.engine, "stored": stored})
				}
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
		})
	}
}

func (s *library) compare(t *testing.T, engines map[string]*search.Engine) {
	t.Helper()
	scope, inScope := s.places[0].scope, []uuid.UUID{s.places[0].collection, s.places[1].collection, s.places[2].collection}
	if s.IntN(3) == 0 {
		inScope = inScope[s.IntN(2) : 2+s.IntN(2)]
		var err error
		if scope, err = (viewer.Viewer{Workspace: s.places[0].workspace, Kind: viewer.KindKey, Collections: inScope}).Scope(); err != nil {
			t.Fatal(err)
		}
	}
	c := s.selection(inScope)
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	q := search.Query{Filters: c.filters(""), Facets: &search.FacetQuery{Fields: fields(), Values: 1 + s.IntN(12)}, Now: now}
	ranges := search.DefaultRanges(now)
	if s.IntN(2) == 0 {
		from := time.Date(2026, 1, 1+s.IntN(400), 0, 0, 0, 0, time.UTC)
		ranges = []search.Range{{Name: "own", From: from, Until: from.AddDate(0, 1, 0)}, {Name: "before", Until: from}}
		q.Facets.Ranges = ranges
	}
	if s.IntN(2) == 0 {
		q.Text, q.MinScore = s.pick("otters", "otters river", "heron -badgers", "badgers \"at night\""), []float64{0, 0.3, 0.5}[s.IntN(3)]
	}
	for name, e := range engines {
		var want []search.Facet
		for _, field := range fields() {
			results := s.results(t, e, scope, q, c, field)
			var documents []*storedDocument
			for _, d := range s.documents {
				if slices.Contains(inScope, d.collection) && c.includes(d, field) && (results == nil || results[d.id]) {
					documents = append(documents, d)
				}
			}
			want = append(want, c.facet(field, documents, ranges, q.Facets.Values))
		}
		got, err := facets(viewerWith(t, c.readers), e, scope, q)
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: Facets(%q, %+v): %v (-want +got)\n%s", name, q.Text, c, err, diff)
		}
		if q.Text == "" {
			continue
		}
		q.Limit = 10
		results, err := e.Search(viewerWith(t, c.readers), scope, q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, results.Facets, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: Facets of Search(%q, %+v) (-want +got)\n%s", name, q.Text, c, diff)
		}
	}
}

// results returns the documents of a query's results without the selection in one field;
// nil for a query without a text.
func (s *library) results(t *testing.T, e *search.Engine, scope viewer.Scope, q search.Query, c *selection, except search.Field) map[uuid.UUID]bool {
	t.Helper()
	if q.Text == "" {
		return nil
	}
	documents := map[uuid.UUID]bool{}
	q.Facets, q.Limit, q.Filters = nil, 100, c.filters(except)
	for {
		r, err := e.Search(viewerWith(t, c.readers), scope, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Hits {
			documents[h.Document] = true
		}
		if q.Offset += len(r.Hits); len(r.Hits) == 0 || q.Offset >= r.Total {
			return documents
		}
	}
}

func TestFacetQueriesAreValidated(t *testing.T) {
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
		if _, err := f.engine.DocumentFacets(t.Context(), id.scope, search.Query{Facets: &q}); err == nil {
			t.Errorf("DocumentFacets accepts %s", name)
		}
		if _, err := f.engine.Facets(t.Context(), id.scope, search.Query{Text: "x", Facets: &q}); err == nil {
			t.Errorf("Facets accepts %s", name)
		}
		if _, err := f.engine.Search(t.Context(), id.scope, search.Query{Text: "x", Limit: 1, Facets: &q}); err == nil {
			t.Errorf("Search accepts %s", name)
		}
	}
	if _, err := f.engine.Facets(t.Context(), id.scope, search.Query{Text: " ", Facets: allFacets()}); apierr.From(err).Field != "query" {
		t.Errorf("Facets of a blank query: error %v", err)
	}
	got, err := f.engine.DocumentFacets(t.Context(), id.scope, search.Query{Facets: allFacets()})
	if err != nil || len(got) != len(fields()) || got[0].Documents != 0 || len(got[len(got)-1].Values) != 6 {
		t.Errorf("DocumentFacets of an empty collection = %+v, %v", got, err)
	}
}

func TestSuggestionsAreTitles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, other := f.tenant(), f.tenant()
	add := func(place tenant, path, title string, readers []string) {
		f.add(place, path, "# "+title+"\n\nSomething about otters and kubernetes.", func(r *index.Record) { r.Title, r.Readers = title, readers })
	}
	add(id, "a", "Kubernetes operator", nil)
	add(id, "b", "kubernetes operator", nil)
	add(id, "c", "Running a kubelet", nil)
	add(id, "d", "Otters", nil)
	add(id, "e", "Kubernetes for bosses", []string{"boss"})
	add(other, "x", "Kubernetes of others", nil)
	for typed, want := range map[string]int{"kube": 2, "KUBERN": 1, "running kubel": 1, "otters": 1, "zebra": 0, "kubernetes o": 2, "\"": 0, "-kube": 0} {
		got, err := f.engine.Suggest(viewerWith(t, []string{"me"}), id.scope, search.Query{Text: typed, Limit: 10})
		if err != nil || len(got) != want {
			t.Errorf("Suggest(%q) = %+v, %v, want %d titles", typed, got, err, want)
		}
	}
	if got, err := f.engine.Suggest(t.Context(), id.scope, search.Query{Text: "kube", Limit: 1}); err != nil || len(got) != 1 {
		t.Errorf("Suggest with limit 1 = %+v, %v", got, err)
	}
	for field, q := range map[string]search.Query{"limit": {Text: "kube", Limit: 21}, "prefix": {Text: " ", Limit: 1}} {
		if _, err := f.engine.Suggest(t.Context(), id.scope, q); apierr.From(err).Field != field {
			t.Errorf("Suggest(%+v): error %v, want one of %s", q, err, field)
		}
	}
}
