package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/passage"
)

// A Text is the documentation that documents and questions are generated from.
type Text struct {
	Folders []string `json:"folders"` // with their numbers of pages
	pages   []synth.Page
}

// ReadText reads the documentation in a folder, which must have a page, and in
// further folders, which need not.
func ReadText(ctx context.Context, folder string, further ...string) (Text, error) {
	var text Text
	var seen synth.Seen
	for i, name := range append([]string{folder}, further...) {
		pages, err := synth.ReadPages(name, &seen)
		if errors.Is(err, synth.ErrNoPages) && i > 0 {
			continue
		}
		if err != nil {
			return Text{}, err
		}
		if err := countPassages(ctx, pages); err != nil {
			return Text{}, err
		}
		text.Folders = append(text.Folders, fmt.Sprintf("%s (%s)", name, humanize.Count(len(pages), "page")))
		text.pages = append(text.pages, pages...)
	}
	return text, nil
}

// questions returns at most n different questions, of which there is one at least.
func (t Text) questions(n int) ([]string, error) {
	questions := synth.Questions(t.pages, n, seed)
	if len(questions) == 0 {
		return nil, errors.New("no question can be made of the text")
	}
	return questions, nil
}

// countPassages sets the number of passages of each page. The shares of the
// filters depend on it.
func countPassages(ctx context.Context, pages []synth.Page) (err error) {
	parser := parse.New(parse.Options{})
	defer func() { err = errors.Join(err, parser.Close()) }()
	for i := range pages {
		parsed, err := parser.Parse(ctx, parse.Input{Name: pages[i].Path, Content: pages[i].Content()})
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue // a page without text, which is not stored
		}
		pages[i].Passages = len(passage.Split(parsed, passage.Options{}))
	}
	return nil
}
