package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/chunk"
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
)

const (
	// benchWriters is how many documents are processed and stored at once. Much
	// of a store is waiting for PostgreSQL, so it is more than there are cores.
	benchWriters = 4
	benchSeed    = 1
)

// corpusFlags say what generated documents are made of.
type corpusFlags struct {
	Corpora  string `type:"path" placeholder:"DIR" help:"Folder with folders of Markdown documentation to generate from, beside the demo documents; ../shared/corpora when that is there."`
	DemoDocs string `hidden:"" type:"path" help:"Folder of the demo documents."`
}

// benchText is what documents and questions are made of.
type benchText struct {
	Folders []string `json:"folders"`
	pages   []bench.Page
}

// read reads the demo documents and, where they are there, the larger corpora.
func (c corpusFlags) read(ctx context.Context) (benchText, error) {
	demo, err := demoFolder(c.DemoDocs)
	if err != nil {
		return benchText{}, err
	}
	folders := []string{demo}
	corpora := c.Corpora
	if corpora == "" {
		corpora = filepath.Join("..", "shared", "corpora")
		if _, err := os.Stat(corpora); err != nil {
			corpora = ""
		}
	}
	if corpora != "" {
		entries, err := os.ReadDir(corpora)
		if err != nil {
			return benchText{}, fmt.Errorf("read --corpora: %w", err)
		}
		for _, entry := range entries {
			if entry.IsDir() {
				folders = append(folders, filepath.Join(corpora, entry.Name()))
			}
		}
	}
	var text benchText
	var seen bench.Seen
	for _, folder := range folders {
		pages, err := bench.ReadPages(folder, &seen)
		if errors.Is(err, bench.ErrNoPages) && folder != demo {
			continue
		}
		if err != nil {
			return benchText{}, err
		}
		if err := countPassages(ctx, pages); err != nil {
			return benchText{}, err
		}
		text.Folders = append(text.Folders, fmt.Sprintf("%s (%s)", folder, console.Count(len(pages), "page")))
		text.pages = append(text.pages, pages...)
	}
	return text, nil
}

// countPassages tells each page how many passages it makes, on which the shares
// of the filters depend.
func countPassages(ctx context.Context, pages []bench.Page) (err error) {
	parser := parse.New(parse.Options{})
	defer func() { err = errors.Join(err, parser.Close()) }()
	for i := range pages {
		found, err := parser.Parse(ctx, parse.Input{Name: pages[i].Path, Content: pages[i].Content()})
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue // one without text: it is left out when it is stored, too
		}
		pages[i].Passages = len(chunk.Split(found, chunk.Options{}))
	}
	return nil
}

// filler stores generated documents in the bench's collection, by the pipeline
// and the store that workers use.
type filler struct {
	stack    *benchStack
	target   benchTarget
	embedder embed.Embedder
	pipeline *ingest.Pipeline
	source   *bench.Generator

	mutex      sync.Mutex
	documents  int
	passages   int
	leftOut    map[string]bool // documents by name
	duplicates int
	selected   map[string]int // passages by the filter's name
	seen       bench.Seen
}

func newFiller(b *benchStack, target benchTarget, pages []bench.Page) *filler {
	embedder := b.app.Models.Default()
	return &filler{
		stack: b, target: target, embedder: embedder, source: bench.NewGenerator(pages, benchSeed),
		pipeline: ingest.New(b.app.Parser, embedder, ingest.Options{}), selected: make(map[string]int), leftOut: make(map[string]bool),
	}
}

// until stores documents until there are so many passages.
func (f *filler) until(ctx context.Context, c *console.Console, passages int) (time.Duration, error) {
	progress := c.Progress("passages")
	began := time.Now()
	group, within := errgroup.WithContext(ctx)
	documents := make(chan bench.Document)
	group.Go(func() error {
		defer close(documents)
		for {
			_, stored := f.stored()
			progress.Show(stored, passages, "")
			if stored >= passages {
				return nil
			}
			select {
			case documents <- f.source.Next():
			case <-within.Done():
				return nil // the writer that failed says why
			}
		}
	})
	for range benchWriters {
		group.Go(func() error {
			for d := range documents {
				result, _, err := f.store(within, d)
				if err != nil {
					return err
				}
				f.count(d, result)
			}
			return nil
		})
	}
	err := group.Wait()
	taken := time.Since(began)
	documentCount, stored := f.stored()
	progress.Done("%s in %s stored", console.Count(stored, "passage"), console.Count(documentCount, "document"))
	return taken, err
}

func (f *filler) stored() (documents, passages int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.documents, f.passages
}

// count notes what was stored; nil is a document that could not be.
func (f *filler) count(d bench.Document, result *ingest.Result) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.documents++
	if result == nil {
		f.leftOut[d.Name] = true
		return
	}
	f.passages += len(result.Passages)
	for i := range result.Passages {
		if !f.seen.Add(result.Passages[i].Text) {
			f.duplicates++
		}
	}
	for _, filter := range bench.Filters() {
		if filter.Selects(d) {
			f.selected[filter.Name] += len(result.Passages)
		}
	}
}

// process parses, cuts and embeds a document with further sentences at its end;
// nil for one that has no text or, rarely, happens to look like a file of another
// format.
func (f *filler) process(ctx context.Context, d bench.Document, further ...string) (*ingest.Result, error) {
	content := d.Content(further...)
	result, err := f.pipeline.Process(ctx, parse.Input{Name: d.Name, Content: content})
	if err == nil {
		return result, nil
	}
	if _, parseErr := f.stack.app.Parser.Parse(ctx, parse.Input{Name: d.Name, Content: content}); parseErr != nil && ctx.Err() == nil {
		return nil, nil //nolint:nilnil // said above
	}
	if _, empty := errors.AsType[*document.UnsupportedError](err); empty {
		return nil, nil //nolint:nilnil // said above
	}
	return nil, fmt.Errorf("%s: %w", d.Name, err)
}

// store processes and stores a document; a result of nil is one that process leaves out.
func (f *filler) store(ctx context.Context, d bench.Document, further ...string) (*ingest.Result, uuid.UUID, error) {
	result, err := f.process(ctx, d, further...)
	if result == nil {
		return nil, uuid.Nil, err
	}
	found := result.Document
	outcome, err := f.stack.app.Index.Put(ctx, f.stack.scope, index.Fence{}, &index.Record{
		Connector: f.target.connector, Collection: f.target.collection, SourceID: d.Name, Path: d.Name,
		Title: found.Title, Language: found.Language, Section: d.Section, Version: d.Version, Tags: d.Tags,
		Bytes: int64(len(d.Body)), Hash: result.Hash[:], Text: result.Text,
		Passages: result.Passages, Vectors: result.Vectors, Model: f.embedder.Model(),
	})
	if err != nil {
		return nil, uuid.Nil, fmt.Errorf("%s: %w", d.Name, err)
	}
	return result, outcome.Document, nil
}

// again gives the passages of the documents that were stored once more, as the
// baseline takes them; io.EOF after the last one.
func (f *filler) again(ctx context.Context, pages []bench.Page) func() (bench.Passage, error) {
	source := bench.NewGenerator(pages, benchSeed)
	left, _ := f.stored()
	var ready []bench.Passage
	return func() (bench.Passage, error) {
		for len(ready) == 0 {
			if left == 0 {
				return bench.Passage{}, io.EOF
			}
			left--
			d := source.Next()
			result, err := f.process(ctx, d)
			if err != nil {
				return bench.Passage{}, err
			}
			if result == nil {
				continue
			}
			id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(d.Name))
			for i := range result.Passages {
				passage := &result.Passages[i]
				ready = append(ready, bench.Passage{
					Document: id, Section: d.Section, Version: d.Version, Tags: d.Tags, Title: result.Document.Title,
					Headings: strings.Join(passage.Headings, " > "), Body: passage.Text, Vector: result.Vectors[i],
				})
			}
		}
		passage := ready[0]
		ready = ready[1:]
		return passage, nil
	}
}
