package bench

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/humanize"
)

// NodesOptions configures Nodes.
type NodesOptions struct {
	Processes   int           // servers
	Collections int           // that all clients search in turn
	Passages    int           // in each collection
	Clients     int           // that ask at a time
	Duration    time.Duration // of each measurement
	Questions   int           // the most different questions
}

// NodesResult is the result of Nodes.
type NodesResult struct {
	Machine     Machine    `json:"machine"`
	Text        Text       `json:"text"`
	Collections int        `json:"collections"`
	Passages    int        `json:"passages"` // of all collections
	Questions   int        `json:"questions"`
	Runs        []NodesRun `json:"runs"`
}

// A NodesRun is a measurement of several servers with one routing.
type NodesRun struct {
	Routing string `json:"routing"`
	// Memory is the SEARCH_MEMORY of each server, as in its environment.
	Memory string       `json:"searchMemory"`
	Search Latencies    `json:"search"`
	Nodes  []NodeMemory `json:"nodes"`
}

// NodeMemory is the memory of one server at the end of a run.
type NodeMemory struct {
	Collections int     `json:"collections"`   // in memory
	Resident    float64 `json:"residentBytes"` // of them
	RSS         float64 `json:"rssBytes"`      // of the process; 0 is unknown
	Loads       int     `json:"loads"`
	Evictions   int     `json:"evictions"`
}

// Resident returns the bytes of collections that all servers keep in memory together.
func (r *NodesRun) Resident() (bytes float64) {
	for _, n := range r.Nodes {
		bytes += n.Resident
	}
	return bytes
}

// The routings of Nodes.
const (
	RoundRobin   = "round robin"
	ByCollection = "by collection"
)

// scarce is the share of all collections that fits into the memory of one server in
// the runs with little memory.
const scarce = 0.6

// nodesRun is a run of Nodes.
type nodesRun struct {
	NodesOptions

	stack     *Stack
	questions []string
	targets   []target
}

// Nodes measures several servers that search the same collections: each search is sent
// to the next server, or all searches of a collection to the same one. It does so with
// memory for all collections in each server, and for three fifths of them.
func Nodes(ctx context.Context, s *Stack, text Text, o NodesOptions) (*NodesResult, error) {
	questions, err := text.questions(o.Questions)
	if err != nil {
		return nil, err
	}
	run := &nodesRun{NodesOptions: o, stack: s, questions: questions}
	result := &NodesResult{Text: text, Collections: o.Collections, Questions: len(questions)}
	source := synth.NewGenerator(text.pages, seed)
	for i := range o.Collections {
		t, err := s.createTarget(ctx, fmt.Sprintf("%s %d", collectionName, i+1))
		if err != nil {
			return nil, err
		}
		f := newFiller(s, t, text)
		f.source = source // so that collections differ
		if _, err := f.grow(ctx, o.Passages); err != nil {
			return nil, err
		}
		_, passages := f.stored()
		result.Passages += passages
		run.targets = append(run.targets, t)
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	memory := "1GiB"
	for range 2 {
		for _, routing := range []string{RoundRobin, ByCollection} {
			measured, err := run.measure(ctx, routing, memory)
			if err != nil {
				return nil, fmt.Errorf("%s with SEARCH_MEMORY=%s: %w", routing, memory, err)
			}
			result.Runs = append(result.Runs, *measured)
		}
		memory = fmt.Sprint(int64(scarce * result.Runs[1].Resident()))
	}
	return result, nil
}

// measure starts the servers, lets them load what they are asked about, and measures.
func (r *nodesRun) measure(ctx context.Context, routing, memory string) (result *NodesRun, err error) {
	servers := make([]*server, 0, r.Processes)
	defer func() {
		for _, srv := range servers {
			err = errors.Join(err, srv.stop())
		}
	}()
	asks := make([][]Ask, len(r.targets)) // by collection and server
	for i := range r.Processes {
		programs := r.stack.Programs
		programs.Dir = filepath.Join(programs.Dir, fmt.Sprintf("serve-%d", i+1)) // its log
		programs.Settings = slices.Concat(programs.Settings, []string{"SEARCH_PRELOAD=false", "SEARCH_MEMORY=" + memory})
		if err := os.MkdirAll(programs.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("create a folder: %w", err)
		}
		srv, err := programs.startServer(ctx)
		if err != nil {
			return nil, err
		}
		servers = append(servers, srv)
		for k, t := range r.targets {
			ask, err := searches(srv.rest(t.key), r.questions, synth.Filter{})
			if err != nil {
				return nil, err
			}
			asks[k] = append(asks[k], ask)
		}
	}
	ask := func(ctx context.Context, turn int) (int, error) {
		// Each collection in turn at each server, then the next one.
		next := turn % r.Processes
		k := turn / r.Processes % len(r.targets)
		if routing == ByCollection {
			next = owner(r.targets[k].collection, r.Processes)
		}
		return asks[k][next](ctx, turn)
	}
	for turn := range r.Processes * len(r.targets) { // so that each has loaded what it is asked about
		if _, err := ask(ctx, turn); err != nil {
			return nil, fmt.Errorf("warm up: %w", err)
		}
	}
	result = &NodesRun{Routing: routing, Memory: memory, Search: Load(ctx, r.Clients, r.Duration, ask)}
	if result.Search.Errors > 0 {
		return nil, result.Search.failure()
	}
	for _, srv := range servers {
		m, err := srv.metrics(ctx)
		if err != nil {
			return nil, err
		}
		resident, _, _ := m.Resident()
		result.Nodes = append(result.Nodes, NodeMemory{
			Collections: int(m["magpie_search_resident_collections"]), Resident: resident, RSS: m.RSS(),
			Loads: int(m["magpie_search_loads_total"]), Evictions: int(m["magpie_search_evictions_total"]),
		})
	}
	r.stack.Display.Note("%s, SEARCH_MEMORY=%s: %.0f searches/s, p50 %s, p99 %s", routing, memory, result.Search.PerSecond,
		humanize.Milliseconds(result.Search.P50), humanize.Milliseconds(result.Search.P99))
	return result, ctx.Err()
}

// owner returns the server of a collection by rendezvous hashing, which shares
// collections as the consistent hash of a proxy does.
func owner(collection uuid.UUID, servers int) int {
	best, at := uint64(0), 0
	for i := range servers {
		h := fnv.New64a()
		_, _ = fmt.Fprintf(h, "%d %s", i, collection) // a hash accepts all
		if sum := h.Sum64(); sum >= best {
			best, at = sum, i
		}
	}
	return at
}
