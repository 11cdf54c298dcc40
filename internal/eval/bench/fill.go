package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/heap"
	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
)

// fillProcessors is the number of documents that are processed at a time, and fillWriters
// that of those that are processed or being stored. A worker with two cores has them.
const (
	fillProcessors = 4
	fillWriters    = 28
)

// A filler stores generated documents in a collection with the pipeline and the
// store that workers use.
type filler struct {
	stack    *Stack
	target   target
	pipeline *ingest.Pipeline
	source   *synth.Generator

	mutex      sync.Mutex
	documents  int
	passages   int
	rejected   map[string]bool // documents that have no text, by name
	duplicates int
	selected   map[string]int // passages by the name of a filter
	seen       synth.Seen
}

func newFiller(s *Stack, t target, text Text) *filler {
	return &filler{
		stack: s, target: t, source: synth.NewGenerator(text.pages, seed),
		pipeline: ingest.New(s.Parser, s.Embedder, ingest.Options{}), selected: make(map[string]int), rejected: make(map[string]bool),
	}
}

// grow stores documents in a sync job until there are so many passages, and ends the job.
func (f *filler) grow(ctx context.Context, passages int) (time.Duration, error) {
	progress := f.stack.Display.Progress("passages")
	start := time.Now()
	fence, err := f.beginJob(ctx)
	if err != nil {
		return 0, err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	go heap.Watch(groupCtx, func() int64 { return 0 }) // as a worker does
	documents := make(chan synth.Document)
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
			case <-groupCtx.Done():
				return nil // the failed writer returns the error
			}
		}
	})
	processing := make(chan struct{}, fillProcessors)
	for range fillWriters {
		group.Go(func() error {
			for d := range documents {
				result, err := f.add(groupCtx, fence, d, processing)
				if err != nil {
					return err
				}
				f.count(d, result)
			}
			return nil
		})
	}
	if err = group.Wait(); err == nil {
		err = f.endJob(ctx, fence)
	}
	elapsed := time.Since(start)
	count, stored := f.stored()
	progress.Done("%s in %s stored", humanize.Count(stored, "passage"), humanize.Count(count, "document"))
	return elapsed, err
}

// beginJob adds a running sync job.
func (f *filler) beginJob(ctx context.Context) (index.Fence, error) {
	fence := index.Fence{Job: gid.New(gid.SyncJob), Attempt: 1}
	return fence, f.stack.execute(ctx, `insert into sync_jobs (id, created_at, updated_at, workspace_id, connector_id, status, attempt, warnings, heartbeat_at)
		select $1, now(), now(), workspace_id, id, 'RUNNING', 1, '[]', now() from connectors where id = $2`, fence.Job, f.target.connector)
}

// endJob lets searches see the documents of a job.
func (f *filler) endJob(ctx context.Context, fence index.Fence) error {
	return f.stack.execute(ctx, "update sync_jobs set status = 'COMPLETED', finished_at = now() where id = $1", fence.Job)
}

// add stores a new document in a job, as workers do. The result is nil for a document
// without text. Places for processing are those of the channel.
func (f *filler) add(ctx context.Context, fence index.Fence, d synth.Document, processing chan struct{}) (*ingest.Result, error) {
	processing <- struct{}{}
	leave := sync.OnceFunc(func() { <-processing })
	defer leave()
	result, err := f.process(ctx, d)
	if errors.Is(err, errNoText) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, err
	}
	record := f.record(d, result)
	if record.IsNew = true; record.MayShare() {
		leave()
	}
	if _, err := f.stack.Index.Put(ctx, f.stack.Scope, fence, record); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name, err)
	}
	return result, nil
}

// stored returns the numbers of documents and passages so far.
func (f *filler) stored() (documents, passages int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.documents, f.passages
}

// count counts a document. The result is nil for one without text.
func (f *filler) count(d synth.Document, result *ingest.Result) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.documents++
	if result == nil {
		f.rejected[d.Name] = true
		return
	}
	f.passages += len(result.Passages)
	for i := range result.Passages {
		if !f.seen.Add(result.Passages[i].Text) {
			f.duplicates++
		}
	}
	for _, filter := range synth.Filters() {
		if filter.Selects(d) {
			f.selected[filter.Name] += len(result.Passages)
		}
	}
}

// errNoText says that a generated document has no text or looks like a file of
// another format.
var errNoText = errors.New("the document has no text")

// process parses, splits and embeds a document with extra sentences at its end. A
// document that cannot be parsed is errNoText.
func (f *filler) process(ctx context.Context, d synth.Document, extra ...string) (*ingest.Result, error) {
	input := parse.Input{Name: d.Name, Content: d.Content(extra...)}
	result, err := f.pipeline.Process(ctx, input)
	if err == nil {
		return result, nil
	}
	if _, parseErr := f.stack.Parser.Parse(ctx, input); parseErr != nil && ctx.Err() == nil {
		return nil, errNoText
	}
	if _, unsupported := errors.AsType[*document.UnsupportedError](err); unsupported {
		return nil, errNoText
	}
	return nil, fmt.Errorf("%s: %w", d.Name, err)
}

// store processes and stores a document outside of a job, and returns its id.
func (f *filler) store(ctx context.Context, d synth.Document, extra ...string) (*ingest.Result, uuid.UUID, error) {
	result, err := f.process(ctx, d, extra...)
	if err != nil {
		return nil, uuid.Nil, err
	}
	stored, err := f.stack.Index.Put(ctx, f.stack.Scope, index.Fence{}, f.record(d, result))
	if err != nil {
		return nil, uuid.Nil, fmt.Errorf("%s: %w", d.Name, err)
	}
	return result, stored.Document, nil
}

func (f *filler) record(d synth.Document, result *ingest.Result) *index.Record {
	parsed := result.Document
	return &index.Record{
		Connector: f.target.connector, Collection: f.target.collection, SourceID: d.Name, Path: d.Name,
		Title: parsed.Title, Language: parsed.Language, Section: d.Section, Version: d.Version, Tags: d.Tags,
		Bytes: int64(len(d.Body)), Hash: result.Hash[:], Text: result.Text,
		Passages: result.Passages, Vectors: result.Vectors, Model: f.stack.Embedder.Model(),
	}
}

// replay returns a function that returns the passages of the stored documents
// again, as rows of the baseline, and then io.EOF.
func (f *filler) replay(ctx context.Context, text Text) func() (Passage, error) {
	source := synth.NewGenerator(text.pages, seed)
	remaining, _ := f.stored()
	var queue []Passage
	return func() (Passage, error) {
		for len(queue) == 0 {
			if remaining == 0 {
				return Passage{}, io.EOF
			}
			remaining--
			d := source.Next()
			result, err := f.process(ctx, d)
			if errors.Is(err, errNoText) {
				continue
			}
			if err != nil {
				return Passage{}, err
			}
			id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(d.Name))
			for i := range result.Passages {
				passage := &result.Passages[i]
				queue = append(queue, Passage{
					Document: id, Section: d.Section, Version: d.Version, Tags: d.Tags, Title: result.Document.Title,
					Headings: strings.Join(passage.Headings, " > "), Body: passage.Text, Vector: result.Vectors[i],
				})
			}
		}
		passage := queue[0]
		queue = queue[1:]
		return passage, nil
	}
}
