package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
)

func date(text string) time.Time {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return day
}

func TestFiltersNarrow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	at := func(day, clock string) time.Time {
		parsed, err := time.Parse("2006-01-02 15:04:05.999", day+" "+clock)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for name, change := range map[string]func(*index.Record){
		"guide": func(r *index.Record) {
			r.Section, r.Version, r.Tags, r.DocType = "guides", "v1", []string{"red", "blue"}, "how-to"
		},
		"guide2": func(r *index.Record) {
			r.Section, r.Version, r.Tags, r.DocType = "guides", "v2", []string{"green"}, "tutorial"
		},
		"german":  func(r *index.Record) { r.Section, r.Version, r.Language = "guides", "v2", "de" },
		"bare":    func(*index.Record) {},
		"morning": func(r *index.Record) { r.UpdatedAt = at("2026-03-10", "00:00:00") },
		"night":   func(r *index.Record) { r.UpdatedAt = at("2026-03-10", "23:59:59.999") },
		"next":    func(r *index.Record) { r.UpdatedAt = at("2026-03-11", "00:00:00") },
		"created": func(r *index.Record) { r.CreatedAt = at("2026-03-10", "12:00:00") },
		"changed": func(r *index.Record) {
			r.CreatedAt, r.UpdatedAt = at("2026-03-10", "12:00:00"), at("2026-06-01", "12:00:00")
		},
	} {
		f.add(id, name, "Otters swim in "+name, func(r *index.Record) {
			r.Section, r.Version, r.DocType, r.Tags, r.Language = "", "", "", nil, "en"
			r.CreatedAt, r.UpdatedAt = time.Time{}, time.Time{}
			change(r)
		})
	}
	for name, c := range map[string]struct {
		filters search.Filters
		want    string
	}{
		"none":             {search.Filters{}, "bare changed created german guide guide2 morning next night"},
		"section":          {search.Filters{Section: "guides"}, "german guide guide2"},
		"unknown section":  {search.Filters{Section: "Guides"}, ""},
		"version":          {search.Filters{Version: "v2"}, "german guide2"},
		"language":         {search.Filters{Language: "de"}, "german"},
		"one tag":          {search.Filters{Tags: []string{"blue"}}, "guide"},
		"any tag":          {search.Filters{Tags: []string{"green", "blue", "none"}}, "guide guide2"},
		"type":             {search.Filters{DocTypes: []string{"how-to"}}, "guide"},
		"any type":         {search.Filters{DocTypes: []string{"how-to", "tutorial"}}, "guide guide2"},
		"several":          {search.Filters{Section: "guides", Version: "v2", Tags: []string{"green"}}, "guide2"},
		"contradiction":    {search.Filters{Section: "guides", Tags: []string{"nowhere"}}, ""},
		"from a day on":    {search.Filters{After: date("2026-03-10")}, "changed created morning next night"},
		"up to a day":      {search.Filters{Before: date("2026-03-10")}, "created morning night"},
		"one day":          {search.Filters{After: date("2026-03-10"), Before: date("2026-03-10")}, "created morning night"},
		"the day after":    {search.Filters{After: date("2026-03-11"), Before: date("2026-03-11")}, "next"},
		"no day":           {search.Filters{After: date("2026-03-12"), Before: date("2026-03-11")}, ""},
		"hostile":          {search.Filters{Section: "'; drop table documents; --", Tags: []string{"'", "\\", "{}"}}, ""},
		"a day's late end": {search.Filters{Before: date("2026-03-10").Add(23 * time.Hour)}, "created morning night"},
	} {
		var got []string
		r := f.search(id, search.Query{Text: "otters", Limit: 100, Filters: c.filters})
		for _, h := range r.Hits {
			got = append(got, strings.TrimPrefix(h.URL, "https://docs.example/"))
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want || r.Total != len(got) {
			t.Errorf("%s: found %q, total %d, want %q", name, got, r.Total, c.want)
		}
	}
}

func TestFiltersKeepRecall(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	// One document in 200 has the version, and all others match better.
	for i := range 1200 {
		text, version := fmt.Sprintf("Otters otters otters, otters number %d.", i), "v1"
		if i%200 == 77 {
			text, version = fmt.Sprintf("A long passage about many other things in which otters are named once, number %d.", i), "v2"
		}
		f.add(id, fmt.Sprint(i), text, func(r *index.Record) { r.Version = version })
	}
	r := f.search(id, search.Query{Text: "otters", Filters: search.Filters{Version: "v2"}, MinScore: 0.1})
	if r.Total != 6 || len(r.Hits) != 6 {
		t.Errorf("%d passages are found, want 6", r.Total)
	}
}
