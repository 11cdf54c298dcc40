package conformance_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"testing"
)

func filterCases() map[string]check {
	return map[string]check{
		"4 search: filters": func(t *testing.T, s *site) {
			all := filtered(t, s, `{}`)
			if len(all) != len(library()) {
				t.Errorf("without a filter: %v", all)
			}
			for _, none := range []string{`null`, `{"section":null,"tags":null,"date_after":null}`, `{"tags":[],"doc_types":[]}`, `{"section":""}`} {
				if got := filtered(t, s, none); !slices.Equal(got, all) {
					t.Errorf("%s filters: %v", none, got)
				}
			}
			sees(t, s, `{"section":"operations","language":"en","tags":["backup"],"doc_types":["how-to"],"version":"1.0","date_after":"2024-05-05","date_before":"2024-05-05"}`, "Backup and restore")
			sees(t, s, `{"section":"operations","version":"9"}`)
			for unknown, field := range map[string]string{`{"unknown":[{}],"section":"guides"}`: "filters.unknown", `{"tag":["backup"]}`: "filters.tag", `{"Section":null}`: "filters.Section", `{"":1}`: "filters."} {
				invalid(t, unknown, s.search(t, `{"query":"lighthouse","filters":`+unknown+`}`), field)
			}
			for _, bad := range []string{`[]`, `"section"`, `1`, `true`} {
				invalid(t, bad, s.search(t, `{"query":"lighthouse","filters":`+bad+`}`), "filters")
			}
		},
		"4 filters: section": func(t *testing.T, s *site) {
			sees(t, s, `{"section":"guides"}`, "Rotate the signing key", "Long guide")
			sees(t, s, `{"section":"guide"}`)
			invalid(t, "a list", s.search(t, `{"query":"q","filters":{"section":["guides"]}}`), "filters.section")
			invalid(t, "NUL", s.search(t, `{"query":"q","filters":{"section":"\u0000"}}`), "filters.section")
		},
		"4 filters: version": func(t *testing.T, s *site) {
			sees(t, s, `{"version":"2.0"}`, "Rotate the signing key", "Long guide", "Sicherung")
			sees(t, s, `{"version":"2"}`)
			invalid(t, "a number", s.search(t, `{"query":"q","filters":{"version":2.0}}`), "filters.version")
		},
		"4 filters: tags": func(t *testing.T, s *site) {
			sees(t, s, `{"tags":["backup"]}`, "Backup and restore", "Sicherung")
			sees(t, s, `{"tags":["security","long","nothing"]}`, "Rotate the signing key", "Long guide")
			sees(t, s, `{"tags":["\"><script>"]}`, "Hostile <b>title</b>")
			sees(t, s, `{"tags":["back"]}`)
			invalid(t, "a text", s.search(t, `{"query":"q","filters":{"tags":"backup"}}`), "filters.tags")
			invalid(t, "a number in the list", s.search(t, `{"query":"q","filters":{"tags":["backup",1]}}`), "filters.tags[1]")
			invalid(t, "null in the list", s.search(t, `{"query":"q","filters":{"tags":[null]}}`), "filters.tags[0]")
			invalid(t, "a list in the list", s.search(t, `{"query":"q","filters":{"tags":["a","b",["c"]]}}`), "filters.tags[2]")
			invalid(t, "NUL in the list", s.search(t, `{"query":"q","filters":{"tags":["a\u0000"]}}`), "filters.tags[0]")
		},
		"4 filters: doc_types": func(t *testing.T, s *site) {
			sees(t, s, `{"doc_types":["guide","reference"]}`, "Long guide", "Sicherung")
			invalid(t, "a text", s.search(t, `{"query":"q","filters":{"doc_types":"guide"}}`), "filters.doc_types")
			invalid(t, "true in the list", s.search(t, `{"query":"q","filters":{"doc_types":[true]}}`), "filters.doc_types[0]")
		},
		"4 filters: language": func(t *testing.T, s *site) {
			sees(t, s, `{"language":"de"}`, "Sicherung")
			sees(t, s, `{"language":"DE-at"}`, "Sicherung")
			sees(t, s, `{"language":"fr"}`)
			invalid(t, "a list", s.search(t, `{"query":"q","filters":{"language":["de"]}}`), "filters.language")
		},
		"4 filters: date_after": func(t *testing.T, s *site) {
			// Made in 2024 and changed in March 2026: found by its change.
			sees(t, s, `{"date_after":"2026-01-02"}`, "Rotate the signing key")
			sees(t, s, `{"date_after":"2026-01-01"}`, "Rotate the signing key", "Hostile <b>title</b>")
			// One that was never changed counts by when it was made.
			sees(t, s, `{"date_after":"2024-05-05","date_before":"2024-12-31"}`, "Backup and restore")
			badDates(t, s, "date_after")
		},
		"4 filters: date_before": func(t *testing.T, s *site) {
			sees(t, s, `{"date_before":"2024-05-04"}`)
			sees(t, s, `{"date_after":"2025-06-01","date_before":"2025-12-31"}`, "Long guide", "Sicherung")
			sees(t, s, `{"date_after":"2025-12-31","date_before":"2025-12-31"}`, "Sicherung")
			sees(t, s, `{"date_after":"2026-06-01","date_before":"2025-01-01"}`)
			badDates(t, s, "date_before")
		},
		"design filters on GET": func(t *testing.T, s *site) {
			for query, want := range map[string][]string{
				"filters[section]=guides&filters[tags]=keys":             {"Rotate the signing key"},
				"filters[tags]=security&filters[tags]=long":              {"Rotate the signing key", "Long guide"},
				"filters[tags][]=security&filters[tags][]=long":          {"Rotate the signing key", "Long guide"},
				"filters%5Btags%5D=long":                                 {"Long guide"},
				"filters[doc_types]=guide&unknown=1&filtersX=2&filter=3": {"Long guide"},
				"filters[language]=de":                                   {"Sicherung"},
				"filters[section]=&filters[tags]=&filters[version]=1.0":  {"Backup and restore"},
				"filters[date_after]=2026-01-02":                         {"Rotate the signing key"},
				"filters=" + url.QueryEscape(`{"tags":["long"]}`):        {"Long guide"},
			} {
				r := found(t, query, s.get(t, "query=lighthouse&min_score=0&limit=100&"+query))
				if got := r.titles(); !same(got, want) {
					t.Errorf("%s: %v, not %v", query, got, want)
				}
			}
			for query, field := range map[string]string{
				"filters[section]=a&filters[section]=b":       "filters[section]",
				"filters[doc_types]=guide&filters[unknown]=1": "filters[unknown]",
				"filters[foo]=":            "filters[foo]",
				"filters[section][x]=a":    "filters[section][x]",
				"filters[section][]=a":     "filters[section][]",
				"filters[tags][0]=a":       "filters[tags][0]",
				"filters[tags=a":           "filters[tags",
				"filters[]=2":              "filters[]",
				"filters.section=guides":   "filters.section",
				"filters[SECTION]=guides":  "filters[SECTION]",
				"Filters[foo]=1":           "Filters[foo]",
				"Filters[section]=guides":  "Filters[section]",
				"FILTERS=%7B%7D":           "FILTERS",
				"+filters[section]=guides": " filters[section]",
				"filters+=%7B%7D":          "filters ",
				"filter[section]=guides":   "filter[section]",
				"filterss[x]=1":            "filterss[x]",
				"limit[]=1":                "limit[]",
				"filters%5Bfoo%00%0A%5D=1": `"filters[foo\x00\n]"`,
				"filters[date_after]=2026-01-01&filters[date_after]=2026-01-02": "filters[date_after]",
				"filters=abc": "filters",
				"filters=" + url.QueryEscape(`{"tags":["long"],"unknown":1}`): "filters.unknown",
				"filters[date_after]=yesterday":                               "filters[date_after]",
				"filters[date_after]=":                                        "filters[date_after]",
				"filters=guides":                                              "filters",
				"filters=" + url.QueryEscape(`{"tags":[1]}`):                  "filters.tags[0]",
				"filters=" + url.QueryEscape(`{} {}`):                         "filters",
				"filters=" + url.QueryEscape(`{}}`):                           "filters",
				"filters=%7B%7D&filters[tags]=a":                              "filters",
				"filters[tags]=a&filters[tags]=%FF":                           "filters[tags]",
				"filters[version]=%00":                                        "filters[version]",
				"filters=" + url.QueryEscape(`{"date_before":"2026-13"}`):     "filters.date_before",
			} {
				invalid(t, query, s.get(t, "query=lighthouse&"+query), field)
			}
			for _, path := range []string{"/api/v1/search", "/api/v1/search/facets"} {
				for _, bad := range []string{"filters[foo]=x", "filters[section][x]=a", "filters[tags", "filters[]=x", "filters=abc", "filters[sections]=a&filters[collectionz]=b", "Filters[sections]=a", "FILTERS=a", "+filters[sections]=a", "filter[sections]=a"} {
					denied(t, path+" "+bad, s.dashboard(t, "GET", path+"?query=lighthouse&"+bad, ""), 400, "invalid_request")
				}
				read[any](t, path, s.dashboard(t, "GET", path+"?query=lighthouse&filters[sections]=guides&filters[sections][]=operations&other=1", ""), 200)
			}
			for _, broken := range []string{"%", "%zz", "query=%2", "a=1;b=2"} {
				refused(t, broken, s.do(t, call{"GET", searchPath + "?query=lighthouse&" + broken, "", s.keyed(nil)}), 400, "invalid_request", "")
			}
		},
	}
}

// filtered lists the titles that a filter leaves, sorted.
func filtered(t *testing.T, s *site, filters string) []string {
	t.Helper()
	r := found(t, filters, s.search(t, `{"query":"lighthouse","min_score":0,"limit":100,"filters":`+filters+`}`))
	if len(r.Data.Results) != r.Data.Total {
		t.Errorf("%s: %d results and a total of %d", filters, len(r.Data.Results), r.Data.Total)
	}
	titles := r.titles()
	slices.Sort(titles)
	return titles
}

func sees(t *testing.T, s *site, filters string, want ...string) {
	t.Helper()
	if got := filtered(t, s, filters); !same(got, want) {
		t.Errorf("%s leaves %q, not %q", filters, got, want)
	}
}

func same(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func badDates(t *testing.T, s *site, field string) {
	t.Helper()
	for _, bad := range []any{"2026-02-30", "2026-2-3", "26-02-03", "2026-02-03T00:00:00Z", "03/02/2026", "", " 2026-02-03", "2026-00-01", "today", "+2026-02-03", 2026, true, []string{"2026-02-03"}} {
		body, err := json.Marshal(map[string]any{"query": "lighthouse", "filters": map[string]any{field: bad}})
		must(t, err)
		invalid(t, string(body), s.search(t, string(body)), "filters."+field)
	}
	for _, good := range []string{"0001-01-01", "9999-12-31", "2024-02-29", "0000-01-01"} {
		found(t, good, s.search(t, `{"query":"lighthouse","filters":{"`+field+`":"`+good+`"}}`))
	}
}
