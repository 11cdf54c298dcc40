package pdf_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestNoWordIsLost writes pages on which words, lines and tables stand anywhere, in every size and font, and looks for each
// word.
func TestNoWordIsLost(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 7))
		w := &writer{}
		var words []string
		word := func() string {
			words = append(words, fmt.Sprintf("word%dx", len(words)))
			return words[len(words)-1]
		}
		for range 4 {
			s := w.page()
			for range random.IntN(60) {
				font := []string{"F1", "F1", "F1", "F2", "F3"}[random.IntN(5)]
				size := []float64{7, 10, 10, 10, 11, 14, 24}[random.IntN(7)]
				x, y := 20+float64(random.IntN(500)), 30+float64(random.IntN(720))
				text := ""
				for range 1 + random.IntN(6) {
					text += word() + []string{" ", " ", "  ", ". ", "- "}[random.IntN(5)]
				}
				if random.IntN(12) == 0 {
					s.turned(size, fmt.Sprintf("0 1 -1 0 %g %g", x, y), text)
				} else {
					s.text(font, size, x, y, text)
				}
			}
			for range random.IntN(3) {
				x, y := float64(40+random.IntN(200)), float64(300+random.IntN(400))
				xs, ys := []float64{x}, []float64{y}
				for range 2 + random.IntN(3) {
					xs = append(xs, xs[len(xs)-1]+float64(30+random.IntN(90)))
					ys = append(ys, ys[len(ys)-1]-float64(12+random.IntN(30)))
				}
				s.grid(xs, ys)
				for r := range len(ys) - 1 {
					for c := range len(xs) - 1 {
						if random.IntN(4) > 0 {
							s.text("F1", 8, xs[c]+2, ys[r+1]+3, word())
						}
					}
				}
			}
		}
		text := strings.Join(strings.Fields(markdown(read(t, w.bytes()))), "")
		lost := 0
		for _, word := range words {
			if !strings.Contains(text, word) {
				if lost++; lost < 4 {
					t.Errorf("seed %d: %s is lost", seed, word)
				}
			}
		}
		if lost > 0 {
			t.Errorf("seed %d: %d of %d words are lost", seed, lost, len(words))
		}
	}
}
