package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

type qualitySet struct {
	Memories []struct {
		Key, Content string
		Kind         memory.Kind
	}
	Questions []struct{ Question, Expect string }
	Unrelated []string
}

func readQualitySet(t testing.TB) qualitySet {
	t.Helper()
	raw, err := os.ReadFile("testdata/search.json")
	if err != nil {
		t.Fatal(err)
	}
	var set qualitySet
	if err := json.Unmarshal(raw, &set); err != nil {
		t.Fatal(err)
	}
	return set
}

// Of fifteen questions, most of which share hardly a word with their answers,
// the builtin embedder and the words together rank twelve answers first. The
// other three need an embedder that was trained on sentences.
func TestSearchQuality(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	set := readQualitySet(t)
	keys := map[string]string{}
	for _, m := range set.Memories {
		row := h.create(t, h.ada, m.Content, func(in *memory.Input) { in.Kind = m.Kind })
		keys[row.ID.String()] = m.Key
	}
	first, amongThree := 0, 0
	for _, q := range set.Questions {
		hits := must[[]memory.Hit](t)(h.memories.Search(h.bob, h.agent, q.Question, "", 5))
		place := 0
		for i, hit := range hits {
			if keys[hit.Memory.ID.String()] == q.Expect {
				place = i + 1
			}
			if hit.Score < 0 || hit.Score > 1 || i > 0 && hit.Score > hits[i-1].Score {
				t.Errorf("%s: the scores are out of order: %v", q.Question, hits)
			}
		}
		if place == 1 {
			first++
		}
		if place >= 1 && place <= 3 {
			amongThree++
		}
		line := fmt.Sprintf("%d  %-55s", place, q.Question)
		for _, hit := range hits[:min(3, len(hits))] {
			line += fmt.Sprintf(" %s %.2f", keys[hit.Memory.ID.String()], hit.Score)
		}
		t.Log(line)
	}
	t.Logf("first: %d of %d, among three: %d", first, len(set.Questions), amongThree)
	if first < 12 || amongThree < 12 {
		t.Errorf("right at the first place: %d of %d, among the first three: %d", first, len(set.Questions), amongThree)
	}
	for _, q := range set.Unrelated {
		for _, hit := range must[[]memory.Hit](t)(h.memories.Search(h.bob, h.agent, q, "", 5)) {
			t.Logf("%s: %s %.2f", q, keys[hit.Memory.ID.String()], hit.Score)
			if hit.Score >= 0.3 {
				t.Errorf("%q finds %q with %.2f", q, hit.Memory.Content, hit.Score)
			}
		}
		if items := must[[]memory.Item](t)(h.memories.Recall(h.bob, h.agent, q, 10)); len(items) != 0 {
			t.Errorf("%q recalls %v", q, items)
		}
	}
	procedures := must[[]memory.Hit](t)(h.memories.Search(h.bob, h.agent, "production deployments", memory.Preference, 100))
	for _, hit := range procedures {
		if hit.Memory.Kind != "PREFERENCE" {
			t.Errorf("a search for preferences found %+v", hit.Memory)
		}
	}
}

func TestRecallRanksAndHonoursItsLimit(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	if items := must[[]memory.Item](t)(h.memories.Recall(h.bob, h.agent, "anything", 5)); len(items) != 0 {
		t.Errorf("an empty memory recalls %v", items)
	}
	always := h.create(t, h.ada, "Answer in formal English.", importance(0.9))
	old := h.create(t, h.ada, "The backup job runs at two o'clock in the night.")
	h.now = h.now.Add(200 * 24 * time.Hour)
	recent := h.create(t, h.ada, "The backup job runs at three o'clock in the night.")
	for i := range 60 {
		h.create(t, h.ada, fmt.Sprintf("The backup of machine %d goes to the shelf %d.", i, i*7))
	}
	for limit, want := range map[int]int{-1: 8, 0: 8, 1: 1, 3: 3, 50: 50, 1000: 50} {
		if items := must[[]memory.Item](t)(h.memories.Recall(h.bob, h.agent, "when does the backup run", limit)); len(items) != want {
			t.Errorf("limit %d: %d items", limit, len(items))
		}
	}
	items := must[[]memory.Item](t)(h.memories.Recall(h.bob, h.agent, "when does the backup job run in the night", 3))
	if items[0].ID != recent.ID {
		t.Errorf("the newer of two similar memories is not first: %v", items)
	}
	place := map[string]int{}
	for i, item := range items {
		place[item.ID.String()] = i + 1
	}
	if place[old.ID.String()] == 0 {
		t.Errorf("the older memory is missing: %v", items)
	}
	for _, text := range []string{"peacocks", "", "\x00", string(make([]byte, 1<<16))} {
		if items := must[[]memory.Item](t)(h.memories.Recall(h.bob, h.agent, text, 3)); len(items) != 1 || items[0].ID != always.ID {
			t.Errorf("%.10q recalls %v", text, items)
		}
	}
	row := must[*ent.AgentMemory](t)(h.memories.Get(h.ada, h.agent, always.ID))
	if row.RecalledAt == nil || !row.RecalledAt.Equal(h.now) || !row.UpdatedAt.Equal(always.UpdatedAt) {
		t.Errorf("recalled at %v, changed at %v", row.RecalledAt, row.UpdatedAt)
	}
}

func TestMemoriesAreFoundByWordsUntilTheyAreEmbedded(t *testing.T) {
	t.Parallel()
	away := &unreliableEmbedder{Embedder: embed.NewBuiltin(), name: "away"}
	h := newFixture(t, away)
	row := h.create(t, h.ada, "The coffee machine is descaled on Mondays.")
	bobs := h.create(t, h.bob, "Bob drinks his coffee black.")
	if len(row.Embedding) != 0 || row.EmbeddingModel != "" {
		t.Errorf("embedded without an embedder: %+v", row)
	}
	find := func(query string) int {
		t.Helper()
		return len(must[[]memory.Hit](t)(h.memories.Search(h.bob, h.agent, query, "", 10)))
	}
	if n := find("coffee machine"); n != 2 {
		t.Errorf("by words: %d", n)
	}
	if n := find("espresso maker maintenance"); n != 0 {
		t.Errorf("without a word in common: %d", n)
	}
	away.works = true
	find("espresso maker maintenance")
	calls := away.calls
	for _, id := range []*ent.AgentMemory{row, bobs} {
		var model string
		var bytes int
		var updated time.Time
		if err := h.db.Pool.QueryRow(t.Context(), "select embedding_model, length(embedding), updated_at from agent_memories where id = $1", id.ID).
			Scan(&model, &bytes, &updated); err != nil || model != "away" || bytes != 1024 || !updated.Equal(id.UpdatedAt) {
			t.Errorf("after a search that embeds: %q, %d bytes, %v, %v", model, bytes, updated, err)
		}
	}
	if find("coffee"); away.calls != calls+1 {
		t.Errorf("a memory with a vector was embedded again: %d calls", away.calls-calls)
	}
	other := &unreliableEmbedder{Embedder: embed.NewBuiltin(), name: "other", works: true}
	h.memories = h.newStore(t, other)
	if n := find("coffee machine"); n != 2 {
		t.Errorf("after a change of the model: %d", n)
	}
	if own := must[*ent.AgentMemory](t)(h.memories.Get(h.bob, h.agent, bobs.ID)); own.EmbeddingModel != "other" {
		t.Errorf("the vectors are still of the model %q", own.EmbeddingModel)
	}
}

// BenchmarkSearch searches as many memories as one person can see.
func BenchmarkSearch(b *testing.B) {
	h := newFixture(b)
	fillAgent(b, h)
	for name, ctx := range map[string]context.Context{"2000": h.bob, "1000": h.cyd} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				hits, err := h.memories.Search(ctx, h.agent, "Which machine keeps the invoices of the customers in Lisbon?", "", 10)
				if err != nil || len(hits) != 10 {
					b.Fatal(len(hits), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/search")
		})
	}
}

// fillAgent stores as many memories as Bob can have.
func fillAgent(t testing.TB, h *fixture) {
	t.Helper()
	things := []string{"invoices", "contracts", "backups", "photographs", "tickets", "orders", "recipes", "payslips", "drawings", "audit logs"}
	places := []string{"Lisbon", "Berlin", "Osaka", "Nairobi", "Toronto", "Lima", "Oslo"}
	who := []string{"the customers", "the suppliers", "the team", "the board", "the warehouse"}
	builtin := embed.NewBuiltin()
	v, _ := viewer.From(h.bob)
	for _, person := range []bool{false, true} {
		ctx := h.ada
		if person {
			ctx = h.bob
		}
		for from := 0; from < memory.MaxOwn; from += 250 {
			err := transaction.In(ctx, h.db.Ent, func(ctx context.Context, client *ent.Client) error {
				var creates []*ent.AgentMemoryCreate
				for i := from; i < min(from+250, memory.MaxOwn); i++ {
					text := fmt.Sprintf("Machine m-%d keeps the %s of %s in %s, and its disk %d was checked by %s before the move to %s.",
						i, things[i%10], who[i%5], places[i%7], i*31, who[(i/5)%5], places[(i/7)%7])
					vectors := must[[][]float32](t)(builtin.Embed(ctx, []string{text}, embed.Passage))
					create := client.AgentMemory.Create().SetAgentID(h.agent).SetContent(text).SetEmbedding(littleEndian(vectors[0])).SetEmbeddingModel(builtin.Model())
					if person {
						create.SetPersonID(v.Subject)
					}
					creates = append(creates, create)
				}
				return client.AgentMemory.CreateBulk(creates...).Exec(ctx)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
