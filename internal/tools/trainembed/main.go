// Command trainembed trains the builtin embedding model (package internal/model/embed/static) and writes its table.
//
//	go run ./internal/tools/trainembed [flags] FOLDER...
//
// # What it reads
//
// Each folder has collections of text, one folder each. The table in the repository was trained on three: the free
// documentation in this project's test corpora; the Debian 12 packages in packages.txt, each unpacked to its own folder; and
// the descriptions of all packages of Debian 12 in every language that it translates them to:
//
//	mkdir -p deb unpacked descriptions/lists/partial
//	(cd deb && apt-get download $(cat ../internal/tools/trainembed/packages.txt))
//	for file in deb/*.deb; do
//		dpkg -x "$file" "unpacked/$(basename "${file%%_*}")"
//	done
//	apt-get update -o Dir::State::Lists=$PWD/descriptions/lists -o Acquire::Languages=\
//	en,de,fr,es,it,pt,pt_BR,nl,pl,ru,ja,zh,zh_CN,ar,bg,ca,cs,da,el,fa,fi,he,hi,hr,hu,id,ko,nb,no,ro,sk,sr,sv,th,tr,uk,vi
//	GOEXPERIMENT=simd go run ./internal/tools/trainembed CORPORA unpacked descriptions
//
// That is a download of 4 GB, and 12 GB unpacked. The command reads HTML, DocBook and Mallard pages, manual pages,
// reStructuredText, Markdown and plain text; message catalogs of programs (.mo), which pair English with a translation;
// dictionaries in the dictd format; WordNet, MyThes and Unihan; names and the keywords of emoji in CLDR; and apt's Translation
// and Components files. It omits languages that are not in the variable languages. Documents that are translations of each
// other, with the same path except for the language and the same blocks, are paired by block.
//
// Judged retrieval sets must not be training data, because they would no longer measure anything.
//
// # What it does
//
// It counts co-occurrences of terms in texts, glosses and translations. A randomized singular value decomposition of the
// positive pointwise mutual information gives each term a vector. A random vector of the same length is added, so that
// different words remain different. The share of a word is that in the texts of its languages, and the words of languages
// with little text are preferred, so that each language has rows. These are the initial values of contrastive training on pairs: heading and passage,
// sentence and its passage, neighbouring passages, word and gloss, synonyms, and translations of messages and words. One
// pair in forty is held out for evaluation. The lengths of vectors are trained, too: they are the weights of words. Vectors
// of n-grams are fitted to those of words, for unknown words. finish.go then adapts the vectors to other kinds of text.
//
// It writes one file, by default internal/model/embed/data/static.bin, and prints mean reciprocal ranks of held-out pairs. It
// needs 17 GB of memory. GOEXPERIMENT=simd makes the inner loops several times faster on amd64. The same files, processor features and -workers give the same bits. A new table is a new model,
// which needs another name in internal/model/embed.
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

// The parameters of training.
const (
	seed = 1
	// A term with this share of all text has half the weight of a rare term, initially and after training.
	initialSmoothing = 3e-4
	finalSmoothing   = 2e-4

	noise          = 1.0  // length of the random part of an initial vector, relative to the other part
	rate           = 0.8  // learning rate
	identityLength = 0.25 // length of the random part of the vector of a word, relative to the trained part
	spellingLength = 2.0  // length of the part of its n-grams, before their mean
	unknownScale   = 1.6  // factor of the vectors of unknown words, which are short because they are means
	words          = 180_000
	gramRows       = 24_000
	// sign is the weight of the signs of unknown words. Rows of rare words have a length of about 1.8; this gives 1.6.
	sign = 0.1
)

func main() {
	log.SetFlags(0)
	var opt options
	flag.StringVar(&opt.out, "out", "internal/model/embed/data/static.bin", "the `file` to write")
	flag.StringVar(&opt.cache, "cache", "", "a `file` that keeps what was read, for the next run")
	flag.StringVar(&opt.foreign, "hold", "", "`collections`, by commas, to keep from training and measure with")
	flag.IntVar(&opt.batches, "batches", 20_000, "how many batches of 256 pairs to train with")
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
	tell("known terms of held-out texts: %s", c.coverage())
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

// newRandom returns a generator of the same numbers for each step of every run.
func newRandom() *rand.Rand {
	return rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // reproducible, not a secret
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

// startRows scales the vectors of terms to their initial lengths: frequent terms are short (Arora, Liang and Ma, 2017).
func startRows(c *corpus, table *matrix, random *rand.Rand) {
	for i, share := range c.Shares {
		row := table.row(i)
		if l := length(row); l > 0 {
			scaleBy(row, 1/l)
		}
		for d := range row {
			row[d] += float32(noise * random.NormFloat64() / 16)
		}
		scaleBy(row, initialSmoothing/(initialSmoothing+share)/length(row))
	}
}
