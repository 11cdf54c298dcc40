// Command trainembed trains the builtin embedding model (package internal/model/embed/static) and writes its table.
//
//	go run ./internal/tools/trainembed [flags] FOLDER...
//
// # What it reads
//
// Each folder holds collections of text, a folder each. The table in the repository was trained from two: the free
// documentation in this project's test corpora (one folder a project), and the Debian 12 packages listed in packages.txt
// beside this file, each unpacked to a folder of its own:
//
//	mkdir deb unpacked
//	(cd deb && apt-get download $(cat ../internal/tools/trainembed/packages.txt))
//	for file in deb/*.deb; do
//		dpkg -x "$file" "unpacked/$(basename "${file%%_*}")"
//	done
//
// That is 1.3 GB to download and 6 GB unpacked. Read are HTML and Mallard pages, manual pages, reStructuredText, Markdown and
// plain text; message catalogs of programs (.mo), whose messages pair English with a translation; dictionaries in the
// format of dictd; WordNet, MyThes and Unihan. Only texts in the languages of the constant languages are kept. Documents
// that are translations of each other (the same path but for the language, the same blocks) are paired by block.
//
// Never train on judged retrieval sets: they would measure nothing any more.
//
// # What it does
//
// Terms that stand near each other, in glosses of each other or in translations of each other are counted; the positive
// pointwise mutual information is factored by a randomized singular value decomposition into a vector a term, to
// which a random vector of the same length is added, so that unlike words stay unlike. These are the start of
// contrastive training on pairs: heading and passage, sentence and the passage around it, neighbouring passages, word and
// gloss, synonyms, messages and words with their translations. One in forty is held and measured with. Lengths are trained
// too: they are the weights of words. Vectors of character sequences are fitted to those of words, for words that are
// not in the table. In the end the vectors are made fit for texts unlike those trained with (finish.go).
//
// It writes one file, by default internal/model/embed/data/static.bin, and prints what it measures, as mean reciprocal ranks. It takes
// about 10 GB of memory and, on two cores, about five minutes with GOEXPERIMENT=simd set, which makes the inner loops
// several times faster on amd64. With the same files, processor features and -workers the table is the same to the last bit. A
// new table is a new model: give it another name in internal/model/embed.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/model/embed/static"
)

// options are the flags of the command.
type options struct {
	out     string
	cache   string
	foreign string
	batches int
	workers int
	folders []string
}

// How the table is made.
const (
	seed     = 1
	smooth   = 3e-4 // share of all text at which a term has half the weight of a rare one when training starts
	smoother = 1e-4 // and once more when it has ended
	noise    = 1.0  // length of the random part of a vector at the start, that of the other being 1
	rate     = 0.8
	own      = 0.5 // length of the part of a vector that is its word's own, that of the other being 1
	spelt    = 2.0 // the same of what its character sequences have, of which the mean is taken
	likely   = 1.6 // by how much the vector that an unknown word's spelling makes likely is lengthened: means are short
	words    = 110_000
	gramRows = 24_000
	// sign tells unknown words from each other. Rows of rare words have a length of about 1.8, this gives 1.6.
	sign = 0.1
)

func main() {
	log.SetFlags(0)
	var opt options
	flag.StringVar(&opt.out, "out", "internal/model/embed/data/static.bin", "the `file` to write")
	flag.StringVar(&opt.cache, "cache", "", "a `file` that keeps what was read, for the next run")
	flag.StringVar(&opt.foreign, "hold", "", "`collections`, by commas, to keep from training and measure with")
	flag.IntVar(&opt.batches, "batches", 6000, "how many batches of 256 pairs to train with")
	flag.IntVar(&opt.workers, "workers", 2, "how many processors to use")
	flag.Parse()
	opt.folders = flag.Args()
	if err := run(opt); err != nil {
		log.Fatal(err)
	}
}

func run(opt options) error {
	start := time.Now()
	tell := func(format string, values ...any) {
		fmt.Printf("%7s  %s\n", time.Since(start).Round(time.Second), fmt.Sprintf(format, values...))
	}
	c, err := corpusOf(opt)
	if err != nil {
		return err
	}
	tell("%d terms, %d passages, %d pairs", len(c.Terms), len(c.Texts), len(c.Pairs))
	near := coOccurrences(c, opt.workers)
	tell("%d terms stand near others", len(near.values))
	table := factor(near, static.Dimensions, opt.workers, newRandom())
	random := newRandom()
	startRows(c, table, random)
	tell("before training: %s", measure(c, table, opt.workers))
	newTrainer(table, rate, opt.workers).train(c, opt.batches, random, func(batch int, loss float64) {
		if batch%2000 == 0 || batch == opt.batches {
			tell("%d batches, loss %.3f: %s", batch, loss, measure(c, table, opt.workers))
		}
	})
	grams := fitGrams(c.Terms, table, gramRows, newRandom())
	finish(c, table, grams, opt.workers)
	tell("finished: %s", measure(c, table, opt.workers))
	kept := min(words, len(c.Terms))
	tell("rare words by their spelling: %s", measure(c, asUnknown(c.Terms, table, grams, kept, sign), opt.workers))
	data, err := static.Build(static.Words{
		Terms:   c.Terms[:kept],
		Vectors: append(table.values[:kept*static.Dimensions:kept*static.Dimensions], grams.values...),
		Sign:    sign,
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(opt.out, data, 0o644); err != nil { //nolint:gosec // a source file
		return fmt.Errorf("write the table: %w", err)
	}
	tell("%d bytes written", len(data))
	return nil
}

// newRandom starts the same numbers in every run, and anew for every step.
func newRandom() *rand.Rand {
	return rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // chance that can be repeated, not a secret
}

func corpusOf(opt options) (*corpus, error) {
	if opt.cache != "" {
		if c, err := loadCorpus(opt.cache); err == nil {
			return c, nil
		}
	}
	c, err := readCorpus(opt.folders, strings.Split(opt.foreign, ","), opt.workers)
	if err != nil {
		return nil, err
	}
	if opt.cache != "" {
		err = c.save(opt.cache)
	}
	return c, err
}

// startRows brings the vectors of terms to the lengths from which training starts: frequent terms are short (Arora, Liang
// and Ma, 2017).
func startRows(c *corpus, table *matrix, random *rand.Rand) {
	for i, count := range c.Counts {
		row := table.row(i)
		if l := length(row); l > 0 {
			scaleBy(row, 1/l)
		}
		for d := range row {
			row[d] += float32(noise * random.NormFloat64() / 16)
		}
		share := float64(count) / float64(c.Total)
		scaleBy(row, float32(smooth/(smooth+share))/length(row))
	}
}
