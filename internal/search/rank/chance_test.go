package rank

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The coverage by chance is that of the best of many random passages or somewhat
// higher.
func TestCoverageByChanceBoundsThatOfRandomPassages(t *testing.T) {
	t.Parallel()
	const passages = 1000
	random := rand.New(rand.NewPCG(1, 2))
	for _, frequencies := range [][]int{
		{500, 300, 200, 100},
		{200, 50, 20, 10, 5},
		{400, 400, 400, 400, 400, 400, 400, 400},
		{900, 60, 40, 30},
		{100, 80, 60, 40, 30, 20, 10, 5, 2, 1},
	} {
		m := chanceModel{passages: passages}
		for _, n := range frequencies {
			m.add(chanceWord{idf(passages, n), n})
		}
		best, rounds := 0.0, 100
		for range rounds {
			highest := 0.0
			for range passages {
				sum := 0.0
				for i := range m.words {
					if random.Float64() < m.rate(&m.words[i]) {
						sum += m.words[i].idf
					}
				}
				highest = max(highest, sum)
			}
			best += highest / m.total / float64(rounds)
		}
		if got := m.coverage(); got < best-0.02 || got > best+0.2 {
			t.Errorf("coverage by chance of words in %v of %d passages is %.3f, that of random passages %.3f", frequencies, passages, got, best)
		}
	}
}

func TestCoverageByChanceGrowsWithThePassages(t *testing.T) {
	t.Parallel()
	last := 0.0
	for _, passages := range []int{10, 100, 1000, 100_000} {
		m := chanceModel{passages: passages}
		for _, share := range []float64{0.3, 0.1, 0.05, 0.01} {
			n := int(share * float64(passages))
			m.add(chanceWord{idf: 1 + 3*(1-share), frequency: n})
		}
		got := m.coverage()
		if got <= last || got > 1 {
			t.Errorf("coverage by chance among %d passages = %.3f, want over %.3f and at most 1", passages, got, last)
		}
		last = got
	}
}

func TestWordsThatNoPassageHasAreAbsent(t *testing.T) {
	t.Parallel()
	m := chanceModel{passages: 100}
	if got := m.absent(); got != 0 {
		t.Errorf("absent = %v without words, want 0", got)
	}
	if got := m.coverage(); got != 0 {
		t.Errorf("coverage by chance = %v without words, want 0", got)
	}
	m.add(chanceWord{idf: 3, frequency: 0})
	m.add(chanceWord{idf: 1, frequency: 40})
	if got := m.absent(); math.Abs(got-0.75) > 1e-9 {
		t.Errorf("absent = %v, want 0.75", got)
	}
}
