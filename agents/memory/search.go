package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentmemory"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The weights of a score, found on testdata/search.json and the memories of
// search_test.go; go test ./agents/memory -run Quality -v prints what they give.
const (
	weightMeaning = 0.55
	weightWords   = 0.45
	// minScore is what a memory needs to count as found.
	minScore = 0.08
	// strange is what a word counts that no memory has, of what the rarest one
	// counts: it tells none of them apart.
	strange = 0.25
)

// Hit is a memory that a search found.
type Hit struct {
	Memory *ent.AgentMemory
	Score  float64 // 0 to 1
}

// Search finds the memories of an agent that are nearest to a text in meaning
// and words, the best first: everybody's and the viewer's own, of one kind when
// kind is not empty. The limit is from 1 to MaxResults. Without an embedder's
// help it goes by words. It must not be called within a transaction.
func (s *Store) Search(ctx context.Context, agentID uuid.UUID, query string, kind Kind, limit int) ([]Hit, error) {
	switch {
	case strings.TrimSpace(query) == "":
		return nil, apierr.Invalid("query", "must not be blank")
	case utf8.RuneCountInString(query) > maxQuery:
		return nil, apierr.Invalid("query", fmt.Sprintf("must have at most %d characters", maxQuery))
	case limit < 1 || limit > MaxResults:
		return nil, apierr.Invalid("limit", fmt.Sprintf("must be between 1 and %d", MaxResults))
	}
	if err := s.agent(ctx, agentID); err != nil {
		return nil, err
	}
	rows, err := s.reachable(ctx, agentID, kind)
	if err != nil {
		return nil, err
	}
	hits := slices.DeleteFunc(s.scored(ctx, rows, query), func(h Hit) bool { return h.Score < minScore })
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Memory.Importance, a.Memory.Importance), bytes.Compare(b.Memory.ID[:], a.Memory.ID[:]))
	})
	return hits[:min(limit, len(hits))], nil
}

// reachable are the memories of an agent that the viewer may be told, the most
// important first. There are at most MaxShared and MaxOwn of them.
func (s *Store) reachable(ctx context.Context, agentID uuid.UUID, kind Kind) ([]*ent.AgentMemory, error) {
	query := s.ent.AgentMemory.Query().Where(agentmemory.AgentID(agentID), told(ctx))
	if kind != "" {
		query.Where(agentmemory.KindEQ(agentmemory.Kind(kind)))
	}
	rows, err := query.Order(ent.Desc(agentmemory.FieldImportance), ent.Desc(agentmemory.FieldID)).Limit(MaxShared + MaxOwn).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the memories: %w", err)
	}
	return rows, nil
}

// told says again what the policy says: everybody's and the viewer's own.
func told(ctx context.Context) predicate.AgentMemory {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return agentmemory.PersonIDIsNil()
	}
	return agentmemory.Or(agentmemory.PersonIDIsNil(), agentmemory.PersonID(v.Subject))
}

// of is a person's memories, or everybody's.
func of(person *uuid.UUID) predicate.AgentMemory {
	if person == nil {
		return agentmemory.PersonIDIsNil()
	}
	return agentmemory.PersonID(*person)
}

// scored tells how near each memory is to a text.
func (s *Store) scored(ctx context.Context, rows []*ent.AgentMemory, text string) []Hit {
	if len(rows) == 0 {
		return nil
	}
	meaning := s.meaning(ctx, rows, text)
	words := s.words(rows, text)
	hits := make([]Hit, len(rows))
	for i, row := range rows {
		score := words[i] * (weightWords + weightMeaning/2) // words alone prove less
		if !math.IsNaN(meaning[i]) {
			score = weightMeaning*meaning[i] + weightWords*words[i]
		}
		hits[i] = Hit{row, min(max(score, 0), 1)}
	}
	return hits
}

// meaning is how near each memory is by its vector, 0 to 1; NaN where it has
// none to compare.
func (s *Store) meaning(ctx context.Context, rows []*ent.AgentMemory, text string) []float64 {
	out := make([]float64, len(rows))
	for i := range out {
		out[i] = math.NaN()
	}
	question, model := s.embed(ctx, embed.Query, text)
	if question == nil {
		return out // and the memories are not embedded now either
	}
	s.refresh(ctx, rows)
	for i, row := range rows {
		if row.EmbeddingModel != model {
			continue
		}
		if near, ok := cosine(question[0], row.Embedding); ok {
			out[i] = near
		}
	}
	base := s.unrelated(ctx)
	span := (1 - base) / 2
	for i, near := range out {
		out[i] = min(max((near-base)/span, 0), 1) // NaN stays
	}
	return out
}

// words is how much of a text's words each memory has, 0 to 1; rare ones count
// for more.
func (s *Store) words(rows []*ent.AgentMemory, text string) []float64 {
	out := make([]float64, len(rows))
	var asked [][]string
	for _, stop := range []bool{false, true} { // stop words only where there is nothing else
		for _, w := range s.analyzer.Words(text, "") {
			if w.Stop == stop && len(asked) < 64 {
				asked = append(asked, w.Terms)
			}
		}
		if len(asked) > 0 {
			break
		}
	}
	if len(asked) == 0 {
		return out
	}
	word := map[string][]int{}
	for i, terms := range asked {
		for _, term := range terms {
			word[term] = append(word[term], i)
		}
	}
	has := make([][]bool, len(rows))
	frequency := make([]int, len(asked))
	var tokens []analysis.Token
	for r, row := range rows {
		has[r] = make([]bool, len(asked))
		tokens = s.analyzer.AppendTokens(tokens[:0], row.Content, "")
		for _, token := range tokens {
			for _, i := range word[token.Term] {
				if !has[r][i] {
					has[r][i] = true
					frequency[i]++
				}
			}
		}
	}
	weight, total := make([]float64, len(asked)), 0.0
	for i, n := range frequency {
		weight[i] = math.Log(1 + (float64(len(rows)-n)+0.5)/(float64(n)+0.5))
		if n == 0 {
			weight[i] *= strange
		}
		total += weight[i]
	}
	for r := range rows {
		for i, there := range has[r] {
			if there {
				out[r] += weight[i] / total
			}
		}
	}
	return out
}
