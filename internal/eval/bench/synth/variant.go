package synth

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// passagesPerKiB is the approximate number of passages in a KiB of documentation.
const passagesPerKiB = 1.15

// WriteVariants writes variants of the Markdown documents below a folder into
// another folder, enough for about so many passages. Each variant has its own
// order of paragraphs and its own words, so that no two are alike. Every run
// writes the same files.
func WriteVariants(documents, target string, passages int) error {
	pages, err := markdownFiles(documents)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable on purpose
	written := 0.0
	for variant := 0; written < float64(passages); variant++ {
		for _, page := range pages {
			content, err := os.ReadFile(filepath.Join(documents, page)) //nolint:gosec // below the given folder
			if err != nil {
				return fmt.Errorf("read a document: %w", err)
			}
			path := filepath.Join(target, fmt.Sprintf("variant-%04d", variant), page)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return fmt.Errorf("write the documents: %w", err)
			}
			if err := os.WriteFile(path, []byte(vary(string(content), variant, random)), 0o600); err != nil { //nolint:gosec // below the given folder
				return fmt.Errorf("write the documents: %w", err)
			}
			written += float64(len(content)) / 1024 * passagesPerKiB
		}
	}
	return nil
}

// markdownFiles returns the paths of the Markdown files below a folder, of which
// there is at least one.
func markdownFiles(folder string) (paths []string, err error) {
	err = fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && filepath.Ext(path) == ".md" {
			paths = append(paths, filepath.FromSlash(path))
		}
		return err
	})
	if err == nil && len(paths) == 0 {
		err = ErrNoPages
	}
	if err != nil {
		return nil, fmt.Errorf("list the documents in %s: %w", folder, err)
	}
	return paths, nil
}

// vary shuffles the plain paragraphs of a Markdown document and adds rare words to
// them.
func vary(document string, variant int, random *rand.Rand) string {
	blocks := strings.Split(document, "\n\n")
	var plain []int
	for i, block := range blocks {
		if i > 0 && block != "" && !strings.ContainsAny(block[:1], "#-|`>*0123456789 ") && !strings.Contains(block, "---") {
			plain = append(plain, i)
		}
	}
	random.Shuffle(len(plain), func(i, j int) {
		blocks[plain[i]], blocks[plain[j]] = blocks[plain[j]], blocks[plain[i]]
	})
	for _, i := range plain {
		blocks[i] += fmt.Sprintf(" See cluster node%d and ticket T-%05d.", random.IntN(2000), variant*97+random.IntN(100_000))
	}
	return strings.Join(blocks, "\n\n")
}
