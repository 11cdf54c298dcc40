package ingest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
)

// scripted is an embedder that does what a test asks for.
type scripted struct {
	batches []int
	texts   []string
	embed   func(ctx context.Context, texts []string) ([][]float32, error)
}

func (s *scripted) Model() string   { return "scripted" }
func (s *scripted) Dimensions() int { return 1 }
func (s *scripted) Embed(ctx context.Context, texts []string, _ embed.Purpose) ([][]float32, error) {
	s.batches = append(s.batches, len(texts))
	s.texts = append(s.texts, texts...)
	if s.embed != nil {
		return s.embed(ctx, texts)
	}
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = []float32{1}
	}
	return vectors, nil
}

func TestProcessGivesPassagesWithVectors(t *testing.T) {
	t.Parallel()
	embedder := &scripted{}
	content := []byte("---\ntitle: Manual\n---\nIntro.\n\n## Backups\n\n### Full\n\nRun it.\n")
	result, err := ingest.New(parse.New(parse.Options{}), embedder, ingest.Options{Batch: 1}).Process(t.Context(), parse.Input{Name: "v1.2/guides/backup.md", Content: content})
	if err != nil {
		t.Fatal(err)
	}
	if result.Hash != ingest.Hash(content) || result.Hash == ingest.Hash(content[1:]) {
		t.Error("the hash is not that of the content")
	}
	if len(result.Passages) != 2 || len(result.Vectors) != 2 || len(embedder.batches) != 2 {
		t.Fatalf("%d passages, %d vectors, %d batches", len(result.Passages), len(result.Vectors), len(embedder.batches))
	}
	for i := range result.Passages {
		passage := &result.Passages[i]
		if got := result.Text[passage.Start:passage.End]; got != passage.Text {
			t.Errorf("passage %d is %q, its range %q", i, passage.Text, got)
		}
	}
	if want := "Manual > Backups > Full\n\nRun it."; embedder.texts[1] != want {
		t.Errorf("embedded %q, want %q", embedder.texts[1], want)
	}
	if result.Document.Version != "v1.2" || result.Document.Section != "guides" {
		t.Errorf("document is %+v", result.Document)
	}
}

func TestProcessErrors(t *testing.T) {
	t.Parallel()
	process := func(t *testing.T, opt ingest.Options, name, content string) error {
		t.Helper()
		_, err := ingest.New(parse.New(parse.Options{}), &scripted{}, opt).Process(t.Context(), parse.Input{Name: name, Content: []byte(content)})
		return err
	}
	var unsupported *document.UnsupportedError
	if err := process(t, ingest.Options{}, "a.mp4", "\x00\x00\x00\x18ftypmp42"); !errors.As(err, &unsupported) {
		t.Errorf("a film gives %v", err)
	}
	if err := process(t, ingest.Options{}, "a.json", `{"a": `); err == nil || errors.As(err, &unsupported) || !strings.Contains(err.Error(), "invalid JSON at byte 6") {
		t.Errorf("broken JSON gives %v", err)
	}
	var limit *document.LimitError
	if err := process(t, ingest.Options{MaxPassages: 1}, "a.md", "# A\n\nx\n\n# B\n\ny\n"); !errors.As(err, &limit) || !strings.Contains(err.Error(), "too large") {
		t.Errorf("too many passages give %v", err)
	}
	if err := process(t, ingest.Options{Limits: document.Limits{MaxBytes: 3}}, "a.md", "long"); !errors.As(err, &limit) {
		t.Errorf("too many bytes give %v", err)
	}
}

func TestProcessRecoversAndKeepsErrorsOfTheEmbedder(t *testing.T) {
	t.Parallel()
	secret := errors.New("provider said no")
	for name, c := range map[string]struct {
		embed func(context.Context, []string) ([][]float32, error)
		check func(error) bool
	}{
		"panic": {
			func(context.Context, []string) ([][]float32, error) { panic("about the text") },
			func(err error) bool {
				var fault *parse.PanicError
				return errors.As(err, &fault) && !strings.Contains(err.Error(), "about the text") && len(fault.Stack) > 0
			},
		},
		"error": {
			func(context.Context, []string) ([][]float32, error) { return nil, secret },
			func(err error) bool { return errors.Is(err, secret) },
		},
		"too few vectors": {
			func(context.Context, []string) ([][]float32, error) { return nil, nil },
			func(err error) bool { return err != nil && strings.Contains(err.Error(), "0 vectors for 1 passages") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ingest.New(parse.New(parse.Options{}), &scripted{embed: c.embed}, ingest.Options{}).Process(t.Context(), parse.Input{Name: "a.md", Content: []byte("text")})
			if !c.check(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestProcessStopsWhenTimeIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		embedder := &scripted{embed: func(ctx context.Context, _ []string) ([][]float32, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		_, err := ingest.New(parse.New(parse.Options{}), embedder, ingest.Options{Timeout: time.Second}).Process(t.Context(), parse.Input{Name: "a.md", Content: []byte("text")})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "took longer than 1s") {
			t.Errorf("got %v", err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ingest.New(parse.New(parse.Options{}), &scripted{}, ingest.Options{}).Process(ctx, parse.Input{Name: "a.md", Content: []byte("text")}); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context gives %v", err)
	}
}
