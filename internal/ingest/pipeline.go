package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/tracing"
)

// Version must be raised when a change of parsing or splitting changes what is stored. Content hashes depend on it.
const Version = 4

// Options limits the work on a document. Zero fields have defaults.
type Options struct {
	// Timeout is how long a document may take, including embedding. The default is 2 minutes.
	Timeout time.Duration
	// MaxPassages is how many passages a document may have. The default is 50,000.
	MaxPassages int
	// Batch is how many passages are embedded in a call. The default is 64.
	Batch int
	// Passages sets the length of passages. Limits applies to inputs without limits of their own.
	Passages passage.Options
	Limits   document.Limits
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.MaxPassages <= 0 {
		o.MaxPassages = 50_000
	}
	if o.Batch <= 0 {
		o.Batch = 64
	}
	return o
}

// A Pipeline processes documents. It is safe for concurrent use.
type Pipeline struct {
	parser   *parse.Parser
	embedder embed.Embedder
	opt      Options
}

// New returns a pipeline for an embedding model.
func New(parser *parse.Parser, embedder embed.Embedder, opt Options) *Pipeline {
	return &Pipeline{parser: parser, embedder: embedder, opt: opt.withDefaults()}
}

// A Result is a processed document.
type Result struct {
	Document *document.Document
	// Text is the document as Markdown. The offsets of passages refer to it.
	Text string
	// Hash is Hash of the content.
	Hash     [32]byte
	Passages []passage.Passage
	// Vectors are the vectors of the passages, of unit length.
	Vectors [][]float32
}

// Hash returns the hash by which unchanged content is recognized: SHA-256 of Version and the content.
func Hash(content []byte) [32]byte {
	hash := sha256.New()
	hash.Write(binary.BigEndian.AppendUint32([]byte("magpie ingest "), Version))
	hash.Write(content)
	return [32]byte(hash.Sum(nil))
}

// Process parses, splits and embeds a file. The error is a *document.UnsupportedError for a file that must be skipped,
// a *document.LimitError for one that is too large, wraps that of the context at a timeout or if the context ends, and
// is that of the embedder. All other errors describe what is wrong with the file.
func (p *Pipeline) Process(ctx context.Context, in parse.Input) (result *Result, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("process document: %w", err)
	}
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, p.opt.Timeout)
	defer cancel()
	defer func() {
		if value := recover(); value != nil {
			result, err = nil, &parse.PanicError{Value: value, Stack: debug.Stack()}
		}
		if err != nil && parent.Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("took longer than %s: %w", p.opt.Timeout, err)
		}
	}()
	if in.Limits == (document.Limits{}) {
		in.Limits = p.opt.Limits
	}
	start := time.Now()
	found, err := p.parser.Parse(ctx, in)
	tracing.After(ctx, tracing.Internal, "sync parse", start, err)
	if err != nil {
		return nil, err
	}
	text, spans := found.Render()
	passages := passage.SplitText(found, text, spans, p.opt.Passages)
	if len(passages) > p.opt.MaxPassages {
		return nil, &document.LimitError{Detail: fmt.Sprintf("text has %d passages, the limit is %d", len(passages), p.opt.MaxPassages)}
	}
	if len(passages) == 0 {
		return nil, &document.UnsupportedError{Reason: "no text"}
	}
	start = time.Now()
	vectors, err := p.embed(ctx, found.Title, passages)
	tracing.After(ctx, tracing.Internal, "sync embed", start, err, slog.Int("magpie.passages", len(passages)))
	if err != nil {
		return nil, err
	}
	return &Result{Document: found, Text: text, Hash: Hash(in.Content), Passages: passages, Vectors: vectors}, nil
}

func (p *Pipeline) embed(ctx context.Context, title string, passages []passage.Passage) ([][]float32, error) {
	vectors := make([][]float32, 0, len(passages))
	texts := make([]string, 0, min(p.opt.Batch, len(passages)))
	for start := 0; start < len(passages); start += p.opt.Batch {
		batch := passages[start:min(start+p.opt.Batch, len(passages))]
		texts = texts[:0]
		for i := range batch {
			texts = append(texts, EmbeddingInput(title, &batch[i]))
		}
		embedded, err := p.embedder.Embed(ctx, texts, embed.Passage)
		if err != nil {
			return nil, fmt.Errorf("embed passages: %w", err)
		}
		if len(embedded) != len(batch) {
			return nil, fmt.Errorf("embed passages: got %d vectors for %d passages", len(embedded), len(batch))
		}
		vectors = append(vectors, embedded...)
	}
	return vectors, nil
}

// EmbeddingInput returns the text that is embedded for a passage: title, headings and text.
func EmbeddingInput(title string, passage *passage.Passage) string {
	var b strings.Builder
	size := len(title) + len(passage.Text) + 4
	for _, heading := range passage.Headings {
		size += len(heading) + 3
	}
	b.Grow(size)
	b.WriteString(title)
	for _, heading := range passage.Headings {
		b.WriteString(" > ")
		b.WriteString(heading)
	}
	b.WriteString("\n\n")
	b.WriteString(passage.Text)
	return b.String()
}
