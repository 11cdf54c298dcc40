package summary_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/chat/summary"
	"github.com/magpie-search/magpie/internal/model/llm"
)

type scripted struct {
	text string
	err  error
}

func (scripted) Name() string { return "scripted" }

func (s scripted) Stream(context.Context, llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if s.err != nil {
			yield(llm.Event{}, s.err)
			return
		}
		yield(llm.Event{Text: s.text, Usage: &llm.Usage{}}, nil)
	}
}

const guide = `# Rotating keys

A signing key proves that a webhook came from the scheduler. The signing key of a
scheduler is rotated with [tidectl](cli.md) and both keys work for one day.

` + "```sh\ntidectl keys rotate --grace 24h and this is a long line of code that is no sentence.\n```" + `

| flag | meaning of the flag in a table that is no sentence either |
|---|---|

Birds are nice. After the day the old signing key is refused by the scheduler.
`

func summarizer(t *testing.T, models ...llm.ChatModel) *summary.Summarizer {
	t.Helper()
	m, err := llm.NewModels(models...)
	if err != nil {
		t.Fatal(err)
	}
	return summary.New(m, analysis.New(), slog.New(slog.DiscardHandler))
}

func TestWithoutAModelSentencesOfTheDocumentAreUsed(t *testing.T) {
	t.Parallel()
	got, err := summarizer(t).Summarize(t.Context(), "Rotating keys", guide)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got, "A signing key proves") || strings.Contains(got, "tidectl keys rotate") || strings.Contains(got, "](") {
		t.Fatalf("summary = %q", got)
	}
}

func TestADocumentWithoutProseIsSummarizedByItsTitle(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# A\n\n| x | y |\n", "```\ncode\n", strings.Repeat("word ", 20_000)} {
		got, err := summarizer(t).Summarize(t.Context(), "The title", text)
		if err != nil || got != "The title" {
			t.Errorf("summary of %.20q = %.40q, %v", text, got, err)
		}
	}
}

func TestAFailingModelFallsBackToSentencesOfTheDocument(t *testing.T) {
	t.Parallel()
	got, err := summarizer(t, scripted{text: " Short. "}).Summarize(t.Context(), "T", guide)
	if err != nil || got != "Short." {
		t.Fatalf("summary = %q, %v", got, err)
	}
	got, err = summarizer(t, scripted{err: errors.New("unavailable")}).Summarize(t.Context(), "T", guide)
	if err != nil || !strings.HasPrefix(got, "A signing key") {
		t.Fatalf("summary = %q, %v", got, err)
	}
}

// silent is a model that never answers.
type silent struct{ scripted }

func (silent) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		<-ctx.Done()
		yield(llm.Event{}, ctx.Err())
	}
}

func TestASlowModelTimesOut(t *testing.T) {
	t.Parallel()
	s := summarizer(t, silent{})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // of the request
		defer cancel()
		got, err := s.Summarize(ctx, "T", guide)
		if err != nil || !strings.HasPrefix(got, "A signing key") {
			t.Errorf("summary = %q, %v", got, err)
		}
	})
}
