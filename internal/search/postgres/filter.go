package postgres

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// filter is the JSON form of a rank.Filter that the database functions accept.
type filter struct {
	Sections   []string    `json:"sections,omitempty"`
	Versions   []string    `json:"versions,omitempty"`
	Languages  []string    `json:"languages,omitempty"`
	Types      []string    `json:"types,omitempty"`
	Sources    []string    `json:"sources,omitempty"`
	Connectors []string    `json:"connectors,omitempty"`
	Tags       []string    `json:"tags,omitempty"`
	Documents  []uuid.UUID `json:"documents,omitempty"`
	From       string      `json:"from,omitempty"`
	Until      string      `json:"until,omitempty"`
	Readers    *[]string   `json:"readers,omitempty"` // an empty list is nobody
	Phrases    string      `json:"phrases,omitempty"`
	Excluded   string      `json:"excluded,omitempty"`
}

// noFilter is the filter that selects everything.
const noFilter = "{}"

func filterJSON(f *rank.Filter) (string, error) {
	if f == nil {
		return noFilter, nil
	}
	out := filter{
		Sections: f.Values[rank.FacetSection], Versions: f.Values[rank.FacetVersion], Languages: f.Values[rank.FacetLanguage],
		Types: f.Values[rank.FacetDocType], Sources: f.Values[rank.FacetSource], Connectors: f.Values[rank.FacetConnector],
		Tags: f.Values[rank.FacetTag], Documents: f.Documents,
		From: timestamp(f.From), Until: timestamp(f.Until), Phrases: phraseQuery(f.Phrases, " & "), Excluded: phraseQuery(f.Excluded, " | "),
	}
	if f.Readers != nil {
		out.Readers = &f.Readers
	}
	b, err := json.Marshal(out)
	if err != nil {
		return "", fmt.Errorf("write the filter: %w", err)
	}
	return string(b), nil
}

func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.999999Z07:00")
}

// phraseQuery returns a tsquery of phrases joined by an operator. The positions of
// different fields are far apart, so consecutive words are of one field, unless a field
// fills all of its positions (255 of a title or heading, 512 of a path).
func phraseQuery(all []rank.Phrase, operator string) string {
	var parts []string
	for _, phrase := range all {
		words := make([]string, 0, len(phrase))
		for _, terms := range phrase {
			if len(terms) > 0 {
				words = append(words, "("+anyOf(terms)+")")
			}
		}
		if len(words) > 0 {
			parts = append(parts, "("+strings.Join(words, " <-> ")+")")
		}
	}
	return strings.Join(parts, operator)
}

// anyOf returns the disjunction of lexemes as a tsquery.
func anyOf(lexemes []string) string {
	var b strings.Builder
	for i, l := range lexemes {
		if i > 0 {
			b.WriteString(" | ")
		}
		writeLexeme(&b, l)
	}
	return b.String()
}

func writeLexeme(b *strings.Builder, lexeme string) {
	b.WriteByte('\'')
	for _, r := range lexeme {
		if r == '\'' || r == '\\' {
			b.WriteRune(r)
		}
		b.WriteRune(r)
	}
	b.WriteByte('\'')
}
