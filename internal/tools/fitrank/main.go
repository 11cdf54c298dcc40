// Command fitrank fits the weights of internal/search/rank to questions generated from
// documentation, and writes them to internal/search/rank/fitted.go.
//
//	go run ./internal/tools/fitrank -corpora ../shared/corpora
//
// No question is judged by hand. A sentence that is removed from its passage asks for that
// passage (the inverse cloze task, Lee et al. 2019), with all or half of its words. A
// page's description asks for the page. The headings above a passage ask for it in an
// index without headings. Every question is searched for in its own documentation and in
// that of another product, which cannot answer it. The paragraphs of judged sets are
// used in the same way, half of the articles as one product; their questions are never
// read.
//
// It takes some minutes. The same corpora and code give the same weights.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/model/embed"
)

func main() {
	corpora := flag.String("corpora", "../shared/corpora", "the folder with the documentation")
	paragraphs := flag.String("paragraphs", "../shared/retrieval/xquad-en-es-zh,../shared/retrieval/xquad-de-ru-ar-hi-vi-th", "judged sets whose documents are used as well, separated by commas")
	out := flag.String("out", "internal/search/rank/fitted.go", "the file to write; - prints it")
	limit := flag.Int("questions", 500, "the largest number of questions of each kind and documentation")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *corpora, strings.Split(*paragraphs, ","), *out, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "fitrank:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, corpora string, paragraphs []string, out string, limit int) error {
	products, err := readProducts(ctx, corpora, limit)
	if err != nil {
		return err
	}
	for _, folder := range paragraphs {
		more, err := readParagraphs(folder, limit)
		if err != nil {
			return err
		}
		products = append(products, more...)
	}
	a, e := analysis.New(), embed.NewBuiltin()
	var cases []rankedQuestion
	for i, p := range products {
		for _, kind := range kinds() {
			if len(p.questions[kind]) == 0 {
				continue
			}
			x, err := p.index(ctx, a, e, kind)
			if err != nil {
				return err
			}
			own, err := rankQuestions(ctx, x, group{kind, p.language, p.paragraphs, true}, p.questions[kind])
			if err != nil {
				return err
			}
			var foreign []rankedQuestion
			if other := p.other(products[i+1:], products); other != nil {
				if foreign, err = rankQuestions(ctx, x, group{kind, p.language, p.paragraphs, false}, other.questions[kind]); err != nil {
					return err
				}
			}
			fmt.Printf("%-14s %-12s %5d passages, %5d questions with an answer, %5d without\n",
				p.name, kind, x.Passages(), len(own), len(foreign))
			cases = append(cases, own...)
			cases = append(cases, foreign...)
		}
	}
	order := fitOrder(cases)
	return write(out, order, fitConfidence(cases))
}
