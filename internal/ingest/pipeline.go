package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/chunk"
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
)

// Version is raised when parsing or chunking changes what is stored, so that content hashes change with it.
const Version = 3

// Options bounds the work on one document. Zero fields take the default.
type Options struct {
	// Timeout is how long one document may take, embedding included; 2 minutes by default.
	Timeout time.Duration
	// MaxPassages is the most passages a document may have, 50,000 by default.
	MaxPassages int
	// Batch is how many passages are embedded in one call, 64 by default.
	Batch int
	// Chunk sets the length of passages, Limits what a file may cost to parse (unless the input sets its own).
	Chunk  chunk.Options
	Limits document.Limits
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

// Pipeline processes documents. It is safe for concurrent use and keeps nothing between documents.
type Pipeline struct {
	parser   *parse.Parser
	embedder embed.Embedder
	opt      Options
}

// New makes a pipeline for one embedding model.
func New(parser *parse.Parser, embedder embed.Embedder, opt Options) *Pipeline {
	return &Pipeline{parser: parser, embedder: embedder, opt: opt.withDefaults()}
}

// Result is a processed document.
type Result struct {
	Document *document.Document
	// Text is the document as Markdown; the ranges of passages are offsets in it.
	Text string
	// Hash is Hash of the content.
	Hash     [32]byte
	Passages []chunk.Passage
	// Vectors holds the vector of each passage, of unit length.
	Vectors [][]float32
}

// Hash is the hash by which unchanged content is recognised: SHA-256 of the content bytes and Version.
func Hash(content []byte) [32]byte {
	hash := sha256.New()
	hash.Write(binary.BigEndian.AppendUint32([]byte("magpie ingest "), Version))
	hash.Write(content)
	return [32]byte(hash.Sum(nil))
}

// Process parses, cuts and embeds one file. The error is a *document.UnsupportedError for a file that is to be skipped, a
// *document.LimitError for one that is too large, and wraps the context's error when its time is up or the caller's context
// ended; errors of the embedder keep their type. Everything else says what is wrong with the file.
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
	found, err := p.parser.Parse(ctx, in)
	if err != nil {
		return nil, err
	}
	text, spans := found.Render()
	passages := chunk.SplitText(found, text, spans, p.opt.Chunk)
	if len(passages) > p.opt.MaxPassages {
		return nil, &document.LimitError{Detail: fmt.Sprintf("text has %d passages, the limit is %d", len(passages), p.opt.MaxPassages)}
	}
	if len(passages) == 0 {
		return nil, &document.UnsupportedError{Reason: "no text"}
	}
	vectors, err := p.embed(ctx, found.Title, passages)
	if err != nil {
		return nil, err
	}
	return &Result{Document: found, Text: text, Hash: Hash(in.Content), Passages: passages, Vectors: vectors}, nil
}

func (p *Pipeline) embed(ctx context.Context, title string, passages []chunk.Passage) ([][]float32, error) {
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

// EmbeddingInput is what is embedded for a passage: title, headings and text.
func EmbeddingInput(title string, passage *chunk.Passage) string {
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
