package memory

import (
	"slices"
	"time"

	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// matches reports whether a filter selects an object. Of phrases it demands only that their
// words occur somewhere, and of exclusions it knows those of one word, since an object
// does not tell which words are neighbours.
func matches(o *engine.Object, f *rank.Filter) bool {
	if f == nil {
		return true
	}
	for facet, list := range f.Values {
		if len(list) > 0 && !slices.ContainsFunc(o.Values[facet], func(v string) bool { return v != "" && slices.Contains(list, v) }) {
			return false
		}
	}
	if len(f.Documents) > 0 && !slices.Contains(f.Documents, o.Document) {
		return false
	}
	if !within(o.Time, f.From, f.Until) {
		return false
	}
	if f.Readers != nil && (!admits(o.Readers, f.Readers) || !admits(o.Restriction, f.Readers)) {
		return false
	}
	for _, phrase := range f.Phrases {
		if slices.ContainsFunc(phrase, func(terms []string) bool { return len(terms) > 0 && !has(o, terms) }) {
			return false
		}
	}
	for _, phrase := range f.Excluded {
		if len(phrase) == 1 && len(phrase[0]) > 0 && has(o, phrase[0]) {
			return false
		}
	}
	return true
}

func within(t, from, until time.Time) bool {
	if from.IsZero() && until.IsZero() {
		return true
	}
	return !t.IsZero() && !t.Before(from) && (until.IsZero() || t.Before(until))
}

// admits reports whether one of the principals is in a list, nil for everyone.
func admits(list, principals []string) bool {
	return list == nil || slices.ContainsFunc(list, func(p string) bool { return slices.Contains(principals, p) })
}

// has reports whether an object has one of the terms in a field.
func has(o *engine.Object, terms []string) bool {
	for _, field := range o.Fields {
		if slices.ContainsFunc(field, func(t string) bool { return t != "" && slices.Contains(terms, t) }) {
			return true
		}
	}
	return false
}
