package main

import (
	"cmp"
	"encoding/gob"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// A corpus is all training texts as numbers of terms.
type corpus struct {
	// Terms are the trained terms, the most frequent first.
	Terms []string
	// Shares has the share of each term in the texts of its languages.
	Shares []float32
	// Known has, for each language, how many terms of held-out texts the table has, and how many these texts have.
	Known [][2]int
	// Texts are passages.
	Texts [][]uint32
	// Pairs are texts that belong together.
	Pairs []example
}

// An example is a pair of texts.
type example struct {
	Kind        kind
	Held        bool // held out for evaluation
	Foreign     bool // of a collection that is held out completely
	Collection  uint16
	Language    uint8 // the number in languageNames of the language of Right
	Left, Right []uint32
}

const (
	maxCollection = 14 << 20 // bytes of text of one collection
	minCount      = 4
	maxTerms      = 280_000
	heldEvery     = 40 // one of so many documents or entries is held out
)

// readCorpus reads all files of the folders. The result depends only on the files.
func readCorpus(folders, foreign []string, workers int) (*corpus, error) {
	var sources []source
	for _, folder := range folders {
		found, err := findSources(folder)
		if err != nil {
			return nil, err
		}
		sources = append(sources, found...)
	}
	readings := make([]reading, len(sources))
	failures := make([]error, len(sources))
	inParallel(workers, len(sources), func(_, i int) { readings[i], failures[i] = sources[i].read(&sources[i], sources[i].full) })
	for i, err := range failures {
		if err != nil {
			fmt.Fprintf(os.Stderr, "left out %s: %v\n", sources[i].path, err)
		}
	}
	pairs := parallelPairs(readings)
	documents := unrepeated(readings)
	collections := make(map[string]uint16)
	var drafts []draft
	sizes := make(map[string]int)
	for _, d := range documents {
		if _, found := collections[d.collection]; !found {
			collections[d.collection] = uint16(len(collections) + 1) //nolint:gosec // a few hundred packages
		}
		drafts = d.drafts(drafts, collections[d.collection], slices.Contains(foreign, d.collection))
		for _, b := range d.blocks {
			sizes[d.collection] += len(b.text)
		}
	}
	for _, p := range pairs {
		drafts = append(drafts, draft{kind: p.kind, isPair: true, left: p.left, right: p.right, held: isHeld(p.left), from: p.from, to: p.to})
	}
	report(sizes, pairs)
	return number(drafts, workers), nil
}

func report(sizes map[string]int, pairs []pair) {
	total := 0
	for _, size := range sizes {
		total += size
	}
	var kinds [kindCount]int
	for _, p := range pairs {
		kinds[p.kind]++
	}
	fmt.Printf("%.0f MB of text from %d collections; pairs:", float64(total)/1e6, len(sizes))
	for k, count := range kinds {
		if count > 0 {
			fmt.Printf(" %d %s", count, kind(k))
		}
	}
	fmt.Println()
}

// parallelPairs returns the pairs of files, and the paragraphs of documents that are translations of each other.
func parallelPairs(readings []reading) []pair {
	var pairs []pair
	english := make(map[string]*document)
	seen := make(map[uint64]struct{})
	add := func(p pair) {
		hash := hashOf(p.left + "\x00" + p.right)
		if _, found := seen[hash]; !found {
			seen[hash] = struct{}{}
			pairs = append(pairs, p)
		}
	}
	for i := range readings {
		for _, p := range readings[i].pairs {
			p.from, p.to = cmp.Or(p.from, "en"), cmp.Or(p.to, "en")
			add(p)
		}
		for j := range readings[i].documents {
			if d := &readings[i].documents[j]; d.parallel != "" && d.language == "en" {
				english[d.parallel] = d
			}
		}
	}
	for i := range readings {
		for _, d := range readings[i].documents {
			original := english[d.parallel]
			if d.language == "en" || original == nil || len(d.blocks) != len(original.blocks) {
				continue
			}
			if !slices.EqualFunc(d.blocks, original.blocks, func(a, b block) bool { return a.level == b.level }) {
				continue
			}
			for k, b := range d.blocks {
				if from := original.blocks[k].text; from != b.text && len(from) > 3 && len(b.text) > 3 {
					add(pair{kind: kindMessage, left: from, right: b.text, from: "en", to: d.language})
				}
			}
		}
	}
	return pairs
}

// unrepeated omits duplicate paragraphs, and the text of a collection above maxCollection.
func unrepeated(readings []reading) []document {
	seen := make(map[uint64]struct{})
	sizes := make(map[string]int)
	var documents []document
	for i := range readings {
		for _, d := range readings[i].documents {
			blocks := make([]block, 0, len(d.blocks))
			kept := 0
			for _, b := range d.blocks {
				if b.level == 0 {
					hash := hashOf(b.text)
					if _, found := seen[hash]; found || !isProse(b.text) || sizes[d.collection] > maxCollection {
						continue
					}
					seen[hash] = struct{}{}
					kept++
					sizes[d.collection] += len(b.text)
				}
				blocks = append(blocks, b)
			}
			if kept > 0 {
				d.blocks = blocks
				documents = append(documents, d)
			}
		}
		readings[i] = reading{}
	}
	return documents
}

// A draft is a text or a pair whose terms have no numbers yet.
type draft struct {
	kind        kind
	isPair      bool
	held        bool
	foreign     bool
	collection  uint16
	left, right string
	from, to    string // the languages of left and right
}

// drafts appends the passages of a document and their pairs.
func (d *document) drafts(drafts []draft, collection uint16, foreign bool) []draft {
	held := foreign || isHeld(d.blocks[0].text+d.blocks[len(d.blocks)-1].text)
	previous := ""
	d.passages(func(headings []string, text string) {
		if !held {
			drafts = append(drafts, draft{left: text, from: d.language})
		}
		if len(headings) > 0 {
			left := headings[len(headings)-1]
			if len(headings) > 1 {
				left = headings[0] + ": " + left
			}
			drafts = append(drafts, draft{kind: kindHeading, isPair: true, held: held, foreign: foreign, collection: collection, from: d.language, to: d.language, left: left, right: text})
		}
		if found := sentences(text); len(found) >= 2 {
			chosen := int(hashOf(text) % uint64(len(found))) //nolint:gosec // below the number of sentences
			rest := strings.Join(slices.Delete(slices.Clone(found), chosen, chosen+1), " ")
			drafts = append(drafts, draft{kind: kindCloze, isPair: true, held: held, foreign: foreign, collection: collection, from: d.language, to: d.language, left: found[chosen], right: rest})
		}
		if previous != "" {
			drafts = append(drafts, draft{kind: kindNext, isPair: true, held: held, foreign: foreign, collection: collection, from: d.language, to: d.language, left: previous, right: text})
		}
		previous = text
	})
	return drafts
}

// isHeld reports whether a document or entry is held out. It is the same in every run.
func isHeld(text string) bool { return hashOf(text)%heldEvery == 7 }

func hashOf(text string) uint64 {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, text)
	return hash.Sum64()
}

func translate(ids []uint32, to []int64) []uint32 {
	kept := ids[:0]
	for _, id := range ids {
		if to[id] >= 0 {
			kept = append(kept, uint32(to[id])) //nolint:gosec // below maxTerms
		}
	}
	return slices.Clip(kept)
}

// inParallel calls f for 0 to n-1, with the number of the calling worker.
func inParallel(workers, n int, f func(worker, i int)) {
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < n; i += workers {
				f(worker, i)
			}
		})
	}
	group.Wait()
}

func (c *corpus) save(path string) error {
	file, err := os.Create(path) //nolint:gosec // the file that the command line names
	if err != nil {
		return fmt.Errorf("keep what was read: %w", err)
	}
	if err := gob.NewEncoder(file).Encode(c); err != nil {
		return fmt.Errorf("keep what was read: %w", err)
	}
	return file.Close()
}

func loadCorpus(path string) (*corpus, error) {
	file, err := os.Open(path) //nolint:gosec // the file that the command line names
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	c := &corpus{}
	if err := gob.NewDecoder(file).Decode(c); err != nil {
		return nil, fmt.Errorf("read what was kept: %w", err)
	}
	return c, nil
}
