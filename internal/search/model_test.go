package search_test

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"testing"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search"
)

// semanticModel is an embedder that knows some synonyms. As with many models, all texts have
// some similarity.
type semanticModel struct {
	name string
	fail error
}

func (m semanticModel) Model() string   { return m.name }
func (m semanticModel) Dimensions() int { return 256 }

func (m semanticModel) Embed(_ context.Context, texts []string, _ embed.Purpose) ([][]float32, error) {
	if m.fail != nil {
		return nil, m.fail
	}
	a := analysis.New()
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, 256)
		for _, token := range a.Tokens(text, "en") {
			switch token.Term {
			case "car", "automobil", "vehicl":
				v[0] += 20
			case "cat", "kitten", "felin":
				v[1] += 20
			default:
				h := fnv.New32a()
				_, _ = h.Write([]byte(token.Term))
				v[2+h.Sum32()%254]++
			}
		}
		sum := 0.0
		for j := range v {
			v[j] += 0.1
			sum += float64(v[j]) * float64(v[j])
		}
		for j := range v {
			v[j] /= float32(math.Sqrt(sum))
		}
		vectors[i] = v
	}
	return vectors, nil
}

// addEmbedded stores a text with the vectors of another embedder.
func (f *fixture) addEmbedded(id tenant, m embed.Embedder, path, text string) {
	f.Helper()
	f.add(id, path, text, func(r *index.Record) {
		texts := make([]string, len(r.Passages))
		for i := range texts {
			texts[i] = r.Passages[i].Text
		}
		vectors, err := m.Embed(f.Context(), texts, embed.Passage)
		if err != nil {
			f.Fatal(err)
		}
		r.Vectors, r.Model = vectors, m.Model()
	})
}

func TestCollectionsWithDifferentModelsAreSearchedTogether(t *testing.T) {
	t.Parallel()
	model := semanticModel{name: "semantic"}
	f := newFixture(t, model)
	builtin := f.tenant()
	other := f.collection(builtin, "Other", model.name)
	f.add(builtin, "wheels", "The automobile has four wheels.", nil)
	f.addEmbedded(other, model, "engine", "Check the vehicle before the journey.")
	f.addEmbedded(other, model, "paws", "A kitten has four paws.")
	f.addEmbedded(other, model, "weather", "Rain is expected on Sunday.")
	r := f.search(builtin, search.Query{Text: "car", MinScore: 0.5})
	if r.LexicalOnly || len(r.Hits) != 1 || r.Hits[0].Title != "engine" && r.Hits[0].CollectionName != "Other" {
		t.Errorf("a synonym finds %+v", r.Hits)
	}
	r = f.search(builtin, search.Query{Text: "four", MinScore: 0.5})
	if r.Total != 2 {
		t.Errorf("a word of both collections finds %d passages, want 2", r.Total)
	}
}

func TestACollectionWithoutItsModelIsSearchedByWords(t *testing.T) {
	t.Parallel()
	broken := semanticModel{name: "broken", fail: errors.New("no answer")}
	f := newFixture(t, broken)
	id := f.tenant()
	unconfigured, failing := f.collection(id, "Unconfigured", "unconfigured"), f.collection(id, "Failing", broken.name)
	f.add(id, "a", "Otters here", nil)
	f.addEmbedded(unconfigured, semanticModel{name: "unconfigured"}, "b", "Otters there")
	f.addEmbedded(failing, semanticModel{name: "broken"}, "c", "Otters elsewhere")
	r := f.search(id, search.Query{Text: "otters", MinScore: 0.5})
	if !r.LexicalOnly || r.Total != 3 {
		t.Errorf("Total = %d, LexicalOnly = %v, want 3 and true", r.Total, r.LexicalOnly)
	}
}

func TestVectorsOfAnotherLengthAreIgnored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a", "Otters here", nil)
	f.add(id, "b", "Otters there", func(r *index.Record) { r.Vectors[0] = r.Vectors[0][:100] })
	if r := f.search(id, search.Query{Text: "otters", MinScore: 0.5}); r.Total != 2 {
		t.Errorf("Total = %d, want 2", r.Total)
	}
}
