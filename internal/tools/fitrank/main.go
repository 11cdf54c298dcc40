// Command fitrank fits the constants of internal/search/rank on questions made
// from documentation, and writes them to internal/search/rank/fitted.go.
//
//	go run ./internal/tools/fitrank -corpora ../shared/corpora
//
// Questions are made, none is judged by hand: a sentence that is taken out of
// its passage asks for that passage (the inverse cloze task, Lee et al. 2019),
// whole or with half of its words; a page's description asks for the page; the
// headings above a passage ask for it once all headings are taken out of the
// index. Every question is put to its own documentation and to that of another
// product, which cannot answer it. The judged sets are never read.
//
// It takes some minutes. The same corpora and code give the same constants.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/model/embed"
)

func main() {
	corpora := flag.String("corpora", "../shared/corpora", "the folder with the documentation")
	out := flag.String("out", "internal/search/rank/fitted.go", "the file to write; - prints it")
	most := flag.Int("questions", 500, "the most questions of each kind and documentation")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *corpora, *out, *most); err != nil {
		fmt.Fprintln(os.Stderr, "fitrank:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, corpora, out string, most int) error {
	products, err := read(ctx, corpora, most)
	if err != nil {
		return err
	}
	a, e := analysis.New(), embed.NewBuiltin()
	var cases []asked
	for i, p := range products {
		for _, kind := range kinds() {
			x, err := p.index(ctx, a, e, kind)
			if err != nil {
				return err
			}
			own, err := ask(ctx, x, kind, p.questions[kind], true)
			if err != nil {
				return err
			}
			var foreign []asked
			if other := p.other(products[i+1:], products); other != nil {
				if foreign, err = ask(ctx, x, kind, other.questions[kind], false); err != nil {
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
	certain := fitCertain(cases, order)
	return write(out, order, certain)
}
