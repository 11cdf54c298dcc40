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

	"magpie/internal/embed"
	"magpie/internal/ingest/chunk"
	"magpie/internal/ingest/parse"
)

// Version is raised when parsing or chunking changes what is stored, so that content hashes change with it.
const Version = 1

// Options bounds the work on one document. Zero fields take the default.
type Options struct {
	// Timeout is how long one document may take, embedding included; 2 minutes by default.
	Timeout time.Duration
	// MaxPassages is the most passages a document may have, 5,000 by default.
	MaxPassages int
	// Batch is how many passages are embedded in one call, 64 by default.
	Batch int
	// Chunk sets the length of passages, Limits what a file may cost to parse (unless the input sets its own).
	Chunk  chunk.Options
	Limits parse.Limits
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.MaxPassages <= 0 {
		o.MaxPassages = 5000
	}
	if o.Batch <= 0 {
		o.Batch = 64
	}
	return o
}

// Pipeline processes documents. It is safe for concurrent use, keeps nothing between documents and starts no goroutines.
type Pipeline struct {
	embedder embed.Embedder
	opt      Options
}

// New makes a pipeline for one embedding model.
func New(embedder embed.Embedder, opt Options) *Pipeline {
	return &Pipeline{embedder: embedder, opt: opt.withDefaults()}
}

// Result is a processed document.
type Result struct {
	Document *parse.Document
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

// PanicError says that a fault in Magpie was met while a document was processed; the document is not to blame.
type PanicError struct {
	// Value is what was panicked with, Stack where. They may quote the document: keep them out of logs.
	Value any
	Stack []byte
}

// Error says no more than the kind of the fault, since the value may quote the document.
func (e *PanicError) Error() string {
	if cause, ok := e.Value.(error); ok {
		var runtime interface{ RuntimeError() }
		if errors.As(cause, &runtime) {
			return "internal fault while the document was processed: " + cause.Error()
		}
	}
	return "internal fault while the document was processed"
}

// Process parses, cuts and embeds one file. The error is a *parse.UnsupportedError for a file that is to be skipped, a
// *parse.LimitError for one that is too large, and wraps the context's error when its time is up or the caller's context
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
			result, err = nil, &PanicError{Value: value, Stack: debug.Stack()}
		}
		if err != nil && parent.Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("took longer than %s: %w", p.opt.Timeout, err)
		}
	}()
	if in.Limits == (parse.Limits{}) {
		in.Limits = p.opt.Limits
	}
	document, err := parse.Parse(ctx, in)
	if err != nil {
		return nil, err
	}
	text, spans := document.Render()
	passages := chunk.SplitText(document, text, spans, p.opt.Chunk)
	if len(passages) > p.opt.MaxPassages {
		return nil, &parse.LimitError{Detail: fmt.Sprintf("text has %d passages, the limit is %d", len(passages), p.opt.MaxPassages)}
	}
	if len(passages) == 0 {
		return nil, &parse.UnsupportedError{Reason: "no text"}
	}
	vectors, err := p.embed(ctx, document.Title, passages)
	if err != nil {
		return nil, err
	}
	return &Result{Document: document, Text: text, Hash: Hash(in.Content), Passages: passages, Vectors: vectors}, nil
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
