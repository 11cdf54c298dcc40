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

// The weights of a score, fitted on testdata/search.json and the memories of
// search_test.go. go test ./agents/memory -run Quality -v prints the results.
const (
	semanticWeight = 0.55
	lexicalWeight  = 0.45
	// minScore is the lowest score of a result.
	minScore = 0.08
	// missingWordWeight scales the weight of a query word that no memory has,
	// because such a word does not distinguish memories.
	missingWordWeight = 0.25
)

// Hit is a result of Search.
type Hit struct {
	Memory *ent.AgentMemory
	Score  float64 // 0 to 1
}

// DefaultResults is the number of results of a search without a limit.
const DefaultResults = 10

// Search returns the shared memories of an agent and the viewer's own that are
// nearest to a text in meaning and words, the best first. If kind is not empty,
// only memories of that kind are searched. The limit is 1 to MaxResults. If the
// embedder fails, only words count. Search must not be called within a
// transaction.
func (s *Store) Search(ctx context.Context, agentID uuid.UUID, query string, kind Kind, limit int) ([]Hit, error) {
	switch {
	case strings.TrimSpace(query) == "":
		return nil, apierr.Invalid("query", "must not be blank")
	case utf8.RuneCountInString(query) > maxQuery:
		return nil, apierr.Invalid("query", fmt.Sprintf("must have at most %d characters", maxQuery))
	case limit < 1 || limit > MaxResults:
		return nil, apierr.Invalid("limit", fmt.Sprintf("must be between 1 and %d", MaxResults))
	}
	if err := s.checkAgent(ctx, agentID); err != nil {
		return nil, err
	}
	rows, err := s.visibleMemories(ctx, agentID, kind)
	if err != nil {
		return nil, err
	}
	hits := slices.DeleteFunc(s.score(ctx, rows, query), func(h Hit) bool { return h.Score < minScore })
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Memory.Importance, a.Memory.Importance), bytes.Compare(b.Memory.ID[:], a.Memory.ID[:]))
	})
	return hits[:min(limit, len(hits))], nil
}

// visibleMemories returns the memories of an agent that the viewer may read,
// the most important first. They are at most MaxShared plus MaxOwn.
func (s *Store) visibleMemories(ctx context.Context, agentID uuid.UUID, kind Kind) ([]*ent.AgentMemory, error) {
	query := s.ent.AgentMemory.Query().Where(agentmemory.AgentID(agentID), visibleToViewer(ctx))
	if kind != "" {
		query.Where(agentmemory.KindEQ(agentmemory.Kind(kind)))
	}
	rows, err := query.Order(ent.Desc(agentmemory.FieldImportance), ent.Desc(agentmemory.FieldID)).Limit(MaxShared + MaxOwn).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the memories: %w", err)
	}
	return rows, nil
}

// visibleToViewer selects shared memories and the viewer's own, as the policy
// does.
func visibleToViewer(ctx context.Context) predicate.AgentMemory {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return agentmemory.PersonIDIsNil()
	}
	return agentmemory.Or(agentmemory.PersonIDIsNil(), agentmemory.PersonID(v.Subject))
}

// ownedBy selects the memories of a person, or the shared ones for uuid.Nil.
func ownedBy(person uuid.UUID) predicate.AgentMemory {
	if person == uuid.Nil {
		return agentmemory.PersonIDIsNil()
	}
	return agentmemory.PersonID(person)
}

// score returns a hit for each memory with its similarity to a text.
func (s *Store) score(ctx context.Context, rows []*ent.AgentMemory, text string) []Hit {
	if len(rows) == 0 {
		return nil
	}
	semantic := s.semanticScores(ctx, rows, text)
	lexical := s.lexicalScores(rows, text)
	hits := make([]Hit, len(rows))
	for i, row := range rows {
		score := lexical[i] * (lexicalWeight + semanticWeight/2) // words alone are weaker evidence
		if !math.IsNaN(semantic[i]) {
			score = semanticWeight*semantic[i] + lexicalWeight*lexical[i]
		}
		hits[i] = Hit{row, min(max(score, 0), 1)}
	}
	return hits
}

// semanticScores returns the vector similarity of each memory to a text, 0 to
// 1, or NaN if its vector cannot be compared.
func (s *Store) semanticScores(ctx context.Context, rows []*ent.AgentMemory, text string) []float64 {
	out := make([]float64, len(rows))
	for i := range out {
		out[i] = math.NaN()
	}
	question, model := s.embed(ctx, embed.Query, text)
	if question == nil {
		return out
	}
	s.embedOutdated(ctx, rows)
	for i, row := range rows {
		if row.EmbeddingModel != model {
			continue
		}
		if similarity, ok := cosine(question[0], row.Embedding); ok {
			out[i] = similarity
		}
	}
	base := s.baselineSimilarity(ctx)
	span := (1 - base) / 2
	for i, similarity := range out {
		out[i] = min(max((similarity-base)/span, 0), 1) // NaN stays
	}
	return out
}

// lexicalScores returns the part of the query words that each memory has, 0 to
// 1, weighted by their inverse document frequency.
func (s *Store) lexicalScores(rows []*ent.AgentMemory, text string) []float64 {
	out := make([]float64, len(rows))
	var queryWords [][]string
	for _, stop := range []bool{false, true} { // stop words count only if there are no other words
		for _, w := range s.analyzer.Words(text, "") {
			if w.Stop == stop && len(queryWords) < 64 {
				queryWords = append(queryWords, w.Terms)
			}
		}
		if len(queryWords) > 0 {
			break
		}
	}
	if len(queryWords) == 0 {
		return out
	}
	wordsOfTerm := map[string][]int{}
	for i, terms := range queryWords {
		for _, term := range terms {
			wordsOfTerm[term] = append(wordsOfTerm[term], i)
		}
	}
	contains := make([][]bool, len(rows))
	documentFrequency := make([]int, len(queryWords))
	var tokens []analysis.Token
	for r, row := range rows {
		contains[r] = make([]bool, len(queryWords))
		tokens = s.analyzer.AppendTokens(tokens[:0], row.Content, "")
		for _, token := range tokens {
			for _, i := range wordsOfTerm[token.Term] {
				if !contains[r][i] {
					contains[r][i] = true
					documentFrequency[i]++
				}
			}
		}
	}
	weight, total := make([]float64, len(queryWords)), 0.0
	for i, n := range documentFrequency {
		weight[i] = math.Log(1 + (float64(len(rows)-n)+0.5)/(float64(n)+0.5))
		if n == 0 {
			weight[i] *= missingWordWeight
		}
		total += weight[i]
	}
	for r := range rows {
		for i, found := range contains[r] {
			if found {
				out[r] += weight[i] / total
			}
		}
	}
	return out
}
