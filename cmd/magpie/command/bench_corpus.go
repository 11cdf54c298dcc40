package command

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// passagesPerKiB is about how many passages a KiB of the demo documents makes.
const passagesPerKiB = 1.15

// writeCorpus writes variants of the demo documents into a folder, enough for
// about so many passages. Each variant has its paragraphs in another order and
// words of its own, so that no two are alike; every run writes the same.
func writeCorpus(docs, folder string, passages int) error {
	files, _, err := gather(docs)
	if err != nil {
		return err
	}
	dice := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable on purpose
	written := 0.0
	for variant := 0; written < float64(passages); variant++ {
		for _, file := range files {
			if filepath.Ext(file.name) != ".md" {
				continue
			}
			content, err := os.ReadFile(file.name)
			if err != nil {
				return fmt.Errorf("read a demo document: %w", err)
			}
			target := filepath.Join(folder, fmt.Sprintf("variant-%04d", variant), filepath.FromSlash(file.path))
			if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
				return fmt.Errorf("write the documents: %w", err)
			}
			if err := os.WriteFile(target, []byte(vary(string(content), variant, dice)), 0o600); err != nil { //nolint:gosec // paths of the demo below a folder of our own
				return fmt.Errorf("write the documents: %w", err)
			}
			written += float64(len(content)) / 1024 * passagesPerKiB
		}
	}
	return nil
}

// vary shuffles the plain paragraphs of a Markdown document and puts words
// among them that few other documents have.
func vary(document string, variant int, dice *rand.Rand) string {
	blocks := strings.Split(document, "\n\n")
	var plain []int
	for i, block := range blocks {
		if i > 0 && block != "" && !strings.ContainsAny(block[:1], "#-|`>*0123456789 ") && !strings.Contains(block, "---") {
			plain = append(plain, i)
		}
	}
	dice.Shuffle(len(plain), func(i, j int) {
		blocks[plain[i]], blocks[plain[j]] = blocks[plain[j]], blocks[plain[i]]
	})
	for _, i := range plain {
		blocks[i] += fmt.Sprintf(" See cluster node%d and ticket T-%05d.", dice.IntN(2000), variant*97+dice.IntN(100_000))
	}
	return strings.Join(blocks, "\n\n")
}
