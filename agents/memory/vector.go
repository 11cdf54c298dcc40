package memory

import (
	"context"
	"encoding/binary"
	"log/slog"
	"math"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentmemory"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/viewer"
)

// vector is an embedding as it is stored. The zero value means no embedding.
type vector struct {
	bytes []byte // little-endian float32
	model string
}

// embedMemory embeds the text of a memory. If that fails, it returns no vector;
// a later search embeds the memory.
func (s *Store) embedMemory(ctx context.Context, text string) vector {
	values, model := s.embed(ctx, embed.Passage, text)
	if values == nil {
		return vector{}
	}
	return vector{bytes: encodeVector(values[0]), model: model}
}

// embed embeds texts by the default embedder. It returns nil if that fails.
func (s *Store) embed(ctx context.Context, purpose embed.Purpose, texts ...string) (values [][]float32, model string) {
	embedder := s.models.Default()
	limited, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	values, err := embedder.Embed(limited, texts, purpose)
	if err != nil || len(values) != len(texts) {
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "memories not embedded", slog.String("model", embedder.Model()), slog.Any("error", err))
		}
		return nil, ""
	}
	return values, embedder.Model()
}

func decodeVector(stored []byte) []float32 {
	out := make([]float32, len(stored)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(stored[4*i:]))
	}
	return out
}

func encodeVector(values []float32) []byte {
	out := make([]byte, 0, 4*len(values))
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// cosine returns the similarity of a unit vector and a stored one. It reports
// false if they cannot be compared.
func cosine(a []float32, stored []byte) (float64, bool) {
	if len(a) == 0 || len(stored) != 4*len(a) {
		return 0, false
	}
	var sum float32
	for i, v := range a {
		sum += v * math.Float32frombits(binary.LittleEndian.Uint32(stored[4*i:]))
	}
	return float64(sum), true
}

// embedOutdated embeds memories that have no vector of the default embedder,
// the most important first, and stores the vectors. The next search retries
// what fails.
func (s *Store) embedOutdated(ctx context.Context, rows []*ent.AgentMemory) {
	model := s.models.Default().Model()
	var outdated []*ent.AgentMemory
	for _, row := range rows {
		if row.EmbeddingModel != model {
			outdated = append(outdated, row)
		}
	}
	if len(outdated) == 0 {
		return
	}
	if len(outdated) > maxEmbedded {
		outdated = outdated[:maxEmbedded]
	}
	texts := make([]string, len(outdated))
	for i, row := range outdated {
		texts[i] = row.Content
	}
	values, model := s.embed(ctx, embed.Passage, texts...)
	if values == nil {
		return
	}
	for i, row := range outdated {
		row.Embedding, row.EmbeddingModel = encodeVector(values[i]), model
		// The content may have changed meanwhile; then the vector does not belong to it.
		err := s.updateInternals(row.WorkspaceID, agentmemory.ID(row.ID), agentmemory.Content(row.Content)).
			SetEmbedding(row.Embedding).SetEmbeddingModel(model).Exec(systemContext(ctx))
		if err != nil {
			s.log.WarnContext(ctx, "memory vector not stored", slog.String("memory", row.ID.String()), slog.Any("error", err))
			return
		}
	}
}

// updateInternals updates columns that are not part of a memory's content. A
// search by a viewer who may only read the memories needs it, too.
func (s *Store) updateInternals(workspace uuid.UUID, where ...predicate.AgentMemory) *ent.AgentMemoryUpdate {
	return s.ent.AgentMemory.Update().Where(agentmemory.WorkspaceID(workspace)).Where(where...)
}

// systemContext returns a context of the system viewer. Statements with it must
// name the workspace.
func systemContext(ctx context.Context) context.Context {
	return viewer.With(ctx, viewer.System(uuid.Nil))
}

// unrelatedTexts returns texts about different subjects.
func unrelatedTexts() []string {
	return []string{
		"The ferry to the island leaves at dawn.", "Square roots of negative numbers are imaginary.", "Knead the dough and let it rest for an hour.",
		"The tax return is due at the end of July.", "Her violin needs new strings.", "Restart the server after changing its certificate.",
		"Penguins take turns at keeping the egg warm.", "The court rejected the appeal.",
	}
}

// baselineSimilarity returns the similarity of unrelated texts under the
// default embedder: near 0 for some embedders, about 0.75 for others. It is
// measured once.
func (s *Store) baselineSimilarity(ctx context.Context) float64 {
	s.mu.Lock()
	base, ok := s.baseline, s.hasBaseline
	s.mu.Unlock()
	if ok {
		return base
	}
	values, _ := s.embed(ctx, embed.Passage, unrelatedTexts()...)
	if values == nil {
		return 0.1
	}
	var sum, squares, n float64
	for i := range values {
		for j := range i {
			similarity, _ := cosine(values[i], encodeVector(values[j]))
			sum, squares, n = sum+similarity, squares+similarity*similarity, n+1
		}
	}
	mean := sum / n
	base = min(max(mean+math.Sqrt(max(squares/n-mean*mean, 0)), 0), 0.95)
	s.mu.Lock()
	s.baseline, s.hasBaseline = base, true
	s.mu.Unlock()
	return base
}
