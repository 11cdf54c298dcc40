package rank

import (
	"context"
	"slices"
	"unicode/utf8"
)

const (
	// maxCompletions is the largest number of terms of a part that a prefix is completed to.
	maxCompletions = 30
	// widerCompletions is by how much more terms are asked for when no passage in sight has
	// any of the most frequent ones, and widest the largest number of them.
	widerCompletions, widest = 16, maxCompletions * 16 * 16
	// minBeginning is the length in characters of the shortest term that a longer word is
	// taken to begin with.
	minBeginning = 3
)

// complete returns the most frequent terms that start with the prefix.
func (s *search) complete(ctx context.Context, prefix string) ([]string, error) {
	return complete(ctx, s.parts, prefix, maxCompletions)
}

func complete(ctx context.Context, parts []Part, prefix string, limit int) ([]string, error) {
	var all []string
	for _, p := range parts {
		terms, err := p.Source.Complete(ctx, prefix, limit)
		if err != nil {
			return nil, err
		}
		all = union(all, terms)
	}
	return all, nil
}

// completeLast returns terms that the last word of a question may become, each in a
// passage that the filters of the parts select: the most frequent terms that start with it,
// and stems of words that do ("restor" of "restori"). Short stems, which other words have,
// too, count only if no term starts with it.
func completeLast(ctx context.Context, parts []Part, q *Question) ([]string, error) {
	for limit := maxCompletions; ; limit *= widerCompletions {
		terms, err := complete(ctx, parts, q.prefix, limit)
		if err != nil {
			return nil, err
		}
		stems := q.inflected
		if len(terms) > 0 {
			stems = q.withoutShort(stems)
		}
		found, err := inSight(ctx, parts, union(terms, stems))
		if err != nil {
			return nil, err
		}
		if len(found) > 0 || len(terms) < limit || limit >= widest {
			return found[:min(len(found), maxCompletions*max(1, len(parts)))], nil
		}
	}
}

// beginning returns the longest term in sight that the last word of a question begins
// with, if the term is at least half of it. It stands for a word whose rest an unknown
// inflection has, so that the word finds something until it is complete.
func beginning(ctx context.Context, parts []Part, q *Question) ([]string, error) {
	var terms []string
	letters := utf8.RuneCountInString(q.prefix)
	for rest := q.prefix; ; {
		_, size := utf8.DecodeLastRuneInString(rest)
		last := rest[len(rest)-size:]
		rest = rest[:len(rest)-size]
		if letters--; letters < minBeginning || 2*letters < utf8.RuneCountInString(q.prefix) {
			break
		}
		terms = append(terms, rest)
		if last == "y" {
			terms = append(terms, rest+"i") // as stems have it
		}
	}
	found, err := inSight(ctx, parts, terms)
	return found[:min(len(found), 1)], err
}

// inSight returns the terms that a passage has which the filters of the parts select.
func inSight(ctx context.Context, parts []Part, terms []string) ([]string, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	seen := make([]bool, len(terms))
	for _, p := range parts {
		has, err := p.Source.Contains(ctx, terms)
		if err != nil {
			return nil, err
		}
		for i := range has {
			seen[i] = seen[i] || has[i]
		}
	}
	var out []string
	for i, term := range terms {
		if seen[i] {
			out = append(out, term)
		}
	}
	return out, nil
}

// lastWord returns the terms of the last word of a question that is being typed. A stop
// word has no terms of its own.
func (s *search) lastWord(ctx context.Context, terms []string) ([]string, error) {
	found, err := completeLast(ctx, s.parts, s.question)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && len(terms) > 0 {
		whole, err := inSight(ctx, s.parts, terms)
		if err != nil || len(whole) > 0 {
			return terms, err
		}
		if found, err = beginning(ctx, s.parts, s.question); err != nil {
			return nil, err
		}
	}
	if len(found) > 0 {
		terms = s.question.withoutShort(terms)
	}
	return union(terms, found), nil
}

// withoutShort leaves out the short stems of the last word ("set" of "setu").
func (q *Question) withoutShort(stems []string) []string {
	return slices.DeleteFunc(slices.Clone(stems), func(stem string) bool {
		return utf8.RuneCountInString(stem) <= minBeginning && len(stem) < len(q.prefix)
	})
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
