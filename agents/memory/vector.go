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

// vector is an embedding as it is stored; the zero value is none.
type vector struct {
	bytes []byte // little-endian float32
	model string
}

// vectorOf embeds a memory's text. It gives none when that fails: the memory is
// then found by its words until a search embeds it.
func (s *Store) vectorOf(ctx context.Context, text string) vector {
	values, model := s.embed(ctx, embed.Passage, text)
	if values == nil {
		return vector{}
	}
	return vector{bytes: encode(values[0]), model: model}
}

// embed embeds texts by the default embedder; nil when that fails.
func (s *Store) embed(ctx context.Context, purpose embed.Purpose, texts ...string) (values [][]float32, model string) {
	embedder := s.models.Default()
	limited, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	values, err := embedder.Embed(limited, texts, purpose)
	if err != nil || len(values) != len(texts) {
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "memories are not embedded", slog.String("model", embedder.Model()), slog.Any("error", err))
		}
		return nil, ""
	}
	return values, embedder.Model()
}

func decode(stored []byte) []float32 {
	out := make([]float32, len(stored)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(stored[4*i:]))
	}
	return out
}

func encode(values []float32) []byte {
	out := make([]byte, 0, 4*len(values))
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// cosine is the similarity of a unit vector and a stored one; false when they
// cannot be compared.
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

// refresh embeds what has no vector of the default embedder, the most important
// ones first, and keeps the vectors for the next search. What fails is tried
// again by the next one.
func (s *Store) refresh(ctx context.Context, rows []*ent.AgentMemory) {
	model := s.models.Default().Model()
	var old []*ent.AgentMemory
	for _, row := range rows {
		if row.EmbeddingModel != model {
			old = append(old, row)
		}
	}
	if len(old) == 0 {
		return
	}
	if len(old) > maxBackfill {
		old = old[:maxBackfill]
	}
	texts := make([]string, len(old))
	for i, row := range old {
		texts[i] = row.Content
	}
	values, model := s.embed(ctx, embed.Passage, texts...)
	if values == nil {
		return
	}
	for i, row := range old {
		row.Embedding, row.EmbeddingModel = encode(values[i]), model
		// Not over a text that has changed meanwhile, whose vector this is not.
		err := s.note(row.WorkspaceID, agentmemory.ID(row.ID), agentmemory.Content(row.Content)).
			SetEmbedding(row.Embedding).SetEmbeddingModel(model).Exec(ctxOfMagpie(ctx))
		if err != nil {
			s.log.WarnContext(ctx, "a memory's vector is not kept", slog.String("memory", row.ID.String()), slog.Any("error", err))
			return
		}
	}
}

// note writes what is no change of a memory: viewers who may only read it
// cause it, too.
func (s *Store) note(workspace uuid.UUID, which ...predicate.AgentMemory) *ent.AgentMemoryUpdate {
	return s.ent.AgentMemory.Update().Where(agentmemory.WorkspaceID(workspace)).Where(which...)
}

// ctxOfMagpie is a context of Magpie itself. What is done with it names the workspace.
func ctxOfMagpie(ctx context.Context) context.Context {
	return viewer.With(ctx, viewer.System(uuid.Nil))
}

// strangers are texts that have nothing to do with each other.
func strangers() []string {
	return []string{
		"The ferry to the island leaves at dawn.", "Square roots of negative numbers are imaginary.", "Knead the dough and let it rest for an hour.",
		"The tax return is due at the end of July.", "Her violin needs new strings.", "Restart the server after changing its certificate.",
		"Penguins take turns at keeping the egg warm.", "The court rejected the appeal.",
	}
}

// unrelated is how similar texts are under the default embedder that have
// nothing to do with each other: next to nothing for some, three quarters for
// others. It is found out once.
func (s *Store) unrelated(ctx context.Context) float64 {
	s.mu.Lock()
	base, known := s.base, s.known
	s.mu.Unlock()
	if known {
		return base
	}
	values, _ := s.embed(ctx, embed.Passage, strangers()...)
	if values == nil {
		return 0.1
	}
	var sum, squares, n float64
	for i := range values {
		for j := range i {
			near, _ := cosine(values[i], encode(values[j]))
			sum, squares, n = sum+near, squares+near*near, n+1
		}
	}
	mean := sum / n
	base = min(max(mean+math.Sqrt(max(squares/n-mean*mean, 0)), 0), 0.95)
	s.mu.Lock()
	s.base, s.known = base, true
	s.mu.Unlock()
	return base
}
