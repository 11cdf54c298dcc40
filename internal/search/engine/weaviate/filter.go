package weaviate

import (
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// The operators of filters.
const (
	operatorEqual        = 1
	operatorAtLeast      = 4
	operatorBelow        = 5
	operatorAtMost       = 6
	operatorAnd          = 7
	operatorOr           = 8
	operatorContainsAny  = 12
	operatorContainsNone = 14
)

// maxInteger is the largest integer of a property. Integers are written as floating-point
// numbers.
const maxInteger = 1<<53 - 1

// condition is an encoded Filters message, nil for none.
type condition []byte

// all returns the conjunction of the conditions.
func all(parts ...condition) condition { return combine(operatorAnd, parts) }

// anyOf returns the disjunction of the conditions.
func anyOf(parts ...condition) condition { return combine(operatorOr, parts) }

func combine(operator int64, parts []condition) condition {
	var m message
	n := 0
	var only condition
	for _, p := range parts {
		if p != nil {
			only = p
			n++
		}
	}
	if n < 2 {
		return only
	}
	m.integer(filterOperator, operator)
	for _, p := range parts {
		if p != nil {
			m.bytes(filterFilters, p)
		}
	}
	return condition(m)
}

// on begins a condition on a property.
func on(property string, operator int64) message {
	var m, target message
	target.text(targetProperty, property)
	m.integer(filterOperator, operator)
	m.bytes(filterTarget, target)
	return m
}

func texts(property string, operator int64, values []string) condition {
	m, list := on(property, operator), message(nil)
	for _, v := range values {
		list.text(textsValues, v)
	}
	m.bytes(filterTexts, list)
	return condition(m)
}

func contains(property string, values []string) condition {
	return texts(property, operatorContainsAny, values)
}

func identifiers(property string, ids []uuid.UUID) condition {
	values := make([]string, len(ids))
	for i, id := range ids {
		values[i] = id.String()
	}
	return contains(property, values)
}

func isTrue(property string) condition {
	m := on(property, operatorEqual)
	m.boolean(filterBool, true)
	return condition(m)
}

func compare(property string, operator, value int64) condition {
	m := on(property, operator)
	m.integer(filterInt, value)
	return condition(m)
}

// conditionOf translates a filter. It returns false for one that selects nothing.
func conditionOf(f *rank.Filter) (condition, bool) {
	if f == nil {
		return nil, true
	}
	var parts []condition
	for facet, list := range f.Values {
		if len(list) == 0 {
			continue
		}
		values := encodeAll(list)
		if len(values) == 0 {
			return nil, false
		}
		parts = append(parts, contains(propertyOf(rank.Facet(facet)), values))
	}
	if len(f.Documents) > 0 {
		parts = append(parts, identifiers(propertyDocument, f.Documents))
	}
	parts = append(parts, timeConditions(f.From, f.Until)...)
	if f.Readers != nil {
		parts = append(parts, readable(propertyEveryone, propertyReaders, f.Readers), readable(propertyUnrestricted, propertyRestriction, f.Readers))
	}
	for _, phrase := range f.Phrases {
		for _, terms := range phrase {
			if words := encodeAll(terms); len(words) > 0 {
				parts = append(parts, hasWord(words))
			} else if len(terms) > 0 {
				return nil, false
			}
		}
	}
	for _, phrase := range f.Excluded {
		if len(phrase) == 1 { // of several words, which are neighbours is unknown here
			if words := encodeAll(phrase[0]); len(words) > 0 {
				parts = append(parts, hasNoWord(words)...)
			}
		}
	}
	return all(parts...), true
}

// readable selects the objects that are open to everyone or list one of the principals.
func readable(open, list string, principals []string) condition {
	if len(principals) == 0 {
		return isTrue(open)
	}
	return anyOf(isTrue(open), contains(list, encodePrincipals(principals)))
}

// hasWord selects the objects that have one of the words in a field. It does not demand the
// order of a phrase, which is checked where the positions are.
func hasWord(words []string) condition {
	parts := make([]condition, 0, len(textProperties))
	for _, property := range textProperties {
		parts = append(parts, contains(property, words))
	}
	return anyOf(parts...)
}

func hasNoWord(words []string) []condition {
	parts := make([]condition, 0, len(textProperties))
	for _, property := range textProperties {
		parts = append(parts, texts(property, operatorContainsNone, words))
	}
	return parts
}

// timeConditions bound the time. What maxInteger cannot express is compared as the
// nearest integer, so that times thousands of years away may pass that should not, but
// none is lost.
func timeConditions(from, until time.Time) []condition {
	var out []condition
	if !from.IsZero() {
		out = append(out, compare(propertyTime, operatorAtLeast, microsUp(from)))
	}
	if until.IsZero() {
		return out
	}
	switch limit := microsUp(until); limit {
	case maxInteger:
		out = append(out, compare(propertyTime, operatorAtLeast, -maxInteger))
	case -maxInteger:
		out = append(out, compare(propertyTime, operatorAtMost, limit))
	default:
		out = append(out, compare(propertyTime, operatorBelow, limit))
	}
	return out
}

// micros returns the whole microseconds since 1970, within what an integer can express.
func micros(t time.Time) int64 {
	const last = maxInteger / 1_000_000
	if s := t.Unix(); s >= last {
		return maxInteger
	} else if s <= -last {
		return -maxInteger
	}
	return t.UnixMicro()
}

// microsUp is micros rounded up. Times of documents have no fraction, so that comparing
// with a bound that is rounded up is exact.
func microsUp(t time.Time) int64 {
	m := micros(t)
	if m > -maxInteger && m < maxInteger && t.Nanosecond()%1000 > 0 {
		m++
	}
	return m
}

// limited returns an integer within what a property can express.
func limited(n int64) int64 { return max(min(n, maxInteger), -maxInteger) }

// wholeLimit returns a limit that the engine accepts.
func wholeLimit(n int) int64 { return int64(min(n, maxResults)) }
