package synth

import "fmt"

// A Filter is a filter of searches and the share of the passages that it selects.
type Filter struct {
	Name  string
	Share float64
	// Version, Section and Tag are the values to filter by. "" does not filter.
	Version, Section, Tag string
}

const (
	versions  = 2
	sections  = 20
	rareTag   = "rare"
	rareShare = 0.001
)

// Filters returns filters that select all, half, a twentieth and a thousandth of
// the passages of a Generator.
func Filters() []Filter {
	return []Filter{
		{Name: "none", Share: 1},
		{Name: "50 %", Share: 1.0 / versions, Version: versionName(0)},
		{Name: "5 %", Share: 1.0 / sections, Section: sectionName(0)},
		{Name: "0.1 %", Share: rareShare, Tag: rareTag},
	}
}

// Selects reports whether the filter selects a document.
func (f Filter) Selects(d Document) bool {
	tagged := f.Tag == ""
	for _, tag := range d.Tags {
		tagged = tagged || tag == f.Tag
	}
	return tagged && (f.Version == "" || f.Version == d.Version) && (f.Section == "" || f.Section == d.Section)
}

// JSON returns the filter in the form of the public API, or nil when it selects
// everything.
func (f Filter) JSON() map[string]any {
	filters := map[string]any{}
	if f.Version != "" {
		filters["version"] = f.Version
	}
	if f.Section != "" {
		filters["section"] = f.Section
	}
	if f.Tag != "" {
		filters["tags"] = []string{f.Tag}
	}
	if len(filters) == 0 {
		return nil
	}
	return filters
}

func versionName(i int) string { return fmt.Sprintf("v%d.0", i+1) }
func sectionName(i int) string { return fmt.Sprintf("Part %02d", i+1) }
