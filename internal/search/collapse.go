package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

const (
	// maxDistance is the largest number of bits in which the similarity hashes of passages
	// with nearly the same text differ.
	maxDistance = 8
	// minCopiedWords is the smallest number of words of a text that is the same in several
	// documents because it was copied. Shorter texts may be the same by chance.
	minCopiedWords = 32
)

// Duplicates are the passages that a result stands for besides itself, because their text is
// the same or nearly the same.
type Duplicates struct {
	Count    int
	Versions []string // of their documents but the result's own, newest first and each once
}

// editions say which results repeat each other. The zero value is of results that do not.
type editions struct {
	results []rank.Result
	leaders map[uuid.UUID]int // by passage: index of the first of the results with its text
	of      map[uuid.UUID]rank.Edition
	asked   func(version string) bool // whether the question names a version
}

// editions compares the results of a query with Collapse. Passages repeat each other if
// they are of different documents and
//
//   - have the same words: in documents of different versions, or at least minCopiedWords; or
//   - have nearly the same words, in documents that have versions, and titles that differ in
//     numbers at most.
//
// Documents without versions may be records of the same form that say different things.
func (s *searcher) editions(ctx context.Context, q *Query, results []rank.Result) (editions, error) {
	if !q.Collapse || q.MinScore <= 0 || len(results) < 2 {
		return editions{}, nil
	}
	e := editions{
		results: results,
		leaders: make(map[uuid.UUID]int, len(results)), of: make(map[uuid.UUID]rank.Edition, len(results)), asked: namesVersion(q.Text),
	}
	byPart := make([][]rank.Candidate, len(s.parts))
	for i := range results {
		part := results[i].Part
		byPart[part] = append(byPart[part], results[i].Candidate)
	}
	for part, candidates := range byPart {
		if len(candidates) == 0 {
			continue
		}
		found, err := s.parts[part].Source.Editions(ctx, candidates)
		if err != nil {
			return editions{}, fmt.Errorf("compare results: %w", err)
		}
		for i := range candidates {
			e.of[candidates[i].Passage] = found[i]
		}
	}
	var leaders []int
	for i := range results {
		leader := i
		for _, first := range leaders {
			if e.repeats(&results[first], &results[i]) {
				leader = first
				break
			}
		}
		if e.leaders[results[i].Passage] = leader; leader == i {
			leaders = append(leaders, i)
		}
	}
	return e, nil
}

// leader returns the first result that a result repeats, or the result itself.
func (e *editions) leader(r *rank.Result) *rank.Result {
	if i, ok := e.leaders[r.Passage]; ok {
		return &e.results[i]
	}
	return r
}

// repeats reports whether two results repeat each other.
func (e *editions) repeats(a, b *rank.Result) bool {
	x, y := e.of[a.Passage], e.of[b.Passage]
	if a.Document == b.Document || x.Body == 0 || y.Body == 0 {
		return false
	}
	words := min(bodyWords(a), bodyWords(b))
	if x.Body == y.Body {
		return x.Version != y.Version || words >= minCopiedWords
	}
	return x.Version != "" && y.Version != "" && x.TitleForm == y.TitleForm && x.Distance(&y.Fingerprint) <= maxDistance
}

func bodyWords(r *rank.Result) int32 { return r.FieldWords[index.FieldBody] }

// collapse returns one result of those that repeat each other, in the order of results, and
// by passage what it stands for. It is the best one, or that of the same page in the version
// that the question names, else in the newest.
func (e *editions) collapse(results []rank.Result) ([]rank.Result, map[uuid.UUID]*Duplicates) {
	if len(e.leaders) == 0 {
		return results, nil
	}
	groups := make(map[int][]int, len(results)) // of results, by leader
	for i := range results {
		leader := e.leaders[results[i].Passage]
		groups[leader] = append(groups[leader], i)
	}
	if len(groups) == len(results) {
		return results, nil
	}
	shown := make([]int, 0, len(groups))
	duplicates := make(map[uuid.UUID]*Duplicates)
	for _, group := range groups {
		i := e.shown(results, group)
		if shown = append(shown, i); len(group) > 1 {
			duplicates[results[i].Passage] = e.duplicates(results, group, i)
		}
	}
	slices.Sort(shown)
	out := make([]rank.Result, len(shown))
	for n, i := range shown {
		out[n] = results[i]
	}
	return out, duplicates
}

// expand returns the results and all that repeat them.
func (e *editions) expand(results []rank.Result) []rank.Result {
	if len(e.leaders) == 0 {
		return results
	}
	kept := make(map[int]bool, len(results))
	for i := range results {
		kept[e.leaders[results[i].Passage]] = true
	}
	return slices.DeleteFunc(slices.Clone(e.results), func(r rank.Result) bool { return !kept[e.leaders[r.Passage]] })
}

// shown returns the result of a group that stands for the others.
func (e *editions) shown(results []rank.Result, group []int) int {
	best := group[0]
	title := e.of[results[best].Passage].Title
	for _, i := range group[1:] {
		if x := e.of[results[i].Passage]; x.Title == title && e.compare(x.Version, e.of[results[best].Passage].Version) > 0 {
			best = i
		}
	}
	return best
}

// compare orders versions by what is shown rather.
func (e *editions) compare(a, b string) int {
	if x, y := e.asked(a), e.asked(b); x != y {
		if x {
			return 1
		}
		return -1
	}
	return compareVersions(a, b)
}

// duplicates returns what a result stands for besides itself.
func (e *editions) duplicates(results []rank.Result, group []int, shown int) *Duplicates {
	out := &Duplicates{Count: len(group) - 1}
	own := e.of[results[shown].Passage].Version
	for _, i := range group {
		if v := e.of[results[i].Passage].Version; v != "" && v != own && !slices.Contains(out.Versions, v) {
			out.Versions = append(out.Versions, v)
		}
	}
	slices.SortFunc(out.Versions, func(a, b string) int { return compareVersions(b, a) })
	return out
}

// namesVersion returns a function that reports whether the text of a question names a
// version, with or without a v before it.
func namesVersion(text string) func(version string) bool {
	words := make(map[string]bool)
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		words[plainVersion(strings.TrimFunc(word, func(r rune) bool { return unicode.IsPunct(r) }))] = true
	}
	return func(version string) bool { return version != "" && words[plainVersion(strings.ToLower(version))] }
}

// plainVersion returns a version without the v before it.
func plainVersion(v string) string {
	if rest, ok := strings.CutPrefix(v, "v"); ok && rest != "" && '0' <= rest[0] && rest[0] <= '9' {
		return rest
	}
	return v
}

// compareVersions orders versions from the oldest to the newest: by their numbers, a
// release after what precedes it (2.0-rc.1). Versions without a number, such as main, come
// first, except those that name the newest release.
func compareVersions(a, b string) int {
	x, y := parseVersion(a), parseVersion(b)
	return cmp.Or(
		cmp.Compare(x.class, y.class), slices.Compare(x.numbers, y.numbers), cmp.Compare(x.release, y.release),
		strings.Compare(x.suffix, y.suffix), strings.Compare(a, b),
	)
}

type version struct {
	class   int // 0 none, 1 a name, 2 numbers, 3 the newest
	numbers []int
	release int // 1 without a suffix
	suffix  string
}

func parseVersion(text string) version {
	text = plainVersion(strings.ToLower(text))
	switch text {
	case "":
		return version{}
	case "latest", "current", "stable":
		return version{class: 3}
	}
	out := version{class: 2, release: 1}
	for rest := text; ; {
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(rest)
		}
		n, err := strconv.Atoi(rest[:end])
		if err != nil {
			out.suffix = rest
			break
		}
		out.numbers = append(out.numbers, n)
		var more bool
		if rest, more = strings.CutPrefix(rest[end:], "."); !more {
			out.suffix = rest
			break
		}
	}
	if out.suffix != "" {
		out.release = 0
	}
	for n := len(out.numbers); n > 1 && out.numbers[n-1] == 0; n-- {
		out.numbers = out.numbers[:n-1] // 2.0 is 2
	}
	if len(out.numbers) == 0 {
		out.class = 1
	}
	return out
}
