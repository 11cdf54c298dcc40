package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/humanize"
)

// TenantsOptions configures Tenants.
type TenantsOptions struct {
	Workspaces  int           // beside the neighbour's
	Collections int           // in each workspace
	Passages    int           // in each collection, approximately
	Connectors  int           // with a small folder, one in each of the first workspaces, at most as many as workspaces
	Rate        float64       // searches a second of all workspaces together
	Clients     int           // of the neighbour, which search without a pause
	Files       int           // in each of the neighbour's ten folders, which are synced at once
	Duration    time.Duration // of each measurement
	Questions   int           // the most different questions
}

// TenantsResult is the result of Tenants.
type TenantsResult struct {
	Machine     Machine       `json:"machine"`
	Text        Text          `json:"text"`
	Workspaces  int           `json:"workspaces"`
	Collections int           `json:"collections"`
	Passages    int           `json:"passages"`
	Connectors  int           `json:"connectors"`
	Setup       time.Duration `json:"setupNanoseconds"`
	// Quiet and Loud are the searches of the workspaces without the neighbour and beside
	// it; Neighbour are its searches.
	Quiet     Latencies `json:"quiet"`
	Loud      Latencies `json:"loud"`
	Neighbour Latencies `json:"neighbour"`
	// QuietSync and LoudSync are the times from the start of small syncs to their ends,
	// without the neighbour's syncs and beside them.
	QuietSync Latencies `json:"quietSync"`
	LoudSync  Latencies `json:"loudSync"`
	// Syncs is the number of syncs that were started beside the searches, as schedules do.
	Syncs int `json:"syncs"`
	// NeighbourSyncs is the number of the neighbour's syncs that ended beside the small ones,
	// and NeighbourOpen the fewest that were queued or running when a small one ended.
	NeighbourSyncs int `json:"neighbourSyncs"`
	NeighbourOpen  int `json:"neighbourOpenSyncs"`
	// SearchMemory is SEARCH_MEMORY in bytes, and Resident the most bytes of collections in
	// memory after a measurement.
	SearchMemory float64 `json:"searchMemoryBytes"`
	Resident     float64 `json:"residentBytes"`
	// StartRSS, QuietRSS and RSS are the bytes of the server's process after its start, before
	// the neighbour, and at the end; 0 is unknown.
	StartRSS float64  `json:"startRSSBytes"`
	QuietRSS float64  `json:"quietRSSBytes"`
	RSS      float64  `json:"rssBytes"`
	Budgets  []Budget `json:"budgets"`
}

const (
	// maxSlowdown is the budget: the p99 of the others' searches beside the neighbour, as a
	// multiple of that without it.
	maxSlowdown = 2
	// maxSyncSlowdown is the budget of the median small sync.
	maxSyncSlowdown = 3
	// scheduleInterval is the time in which every small folder is synced once.
	scheduleInterval = 15 * time.Minute
)

// Slowdown is the p99 beside the neighbour as a multiple of that without it.
func (r *TenantsResult) Slowdown() float64 { return ratio(r.Loud.P99, r.Quiet.P99) }

// SyncSlowdown is that of the median small sync.
func (r *TenantsResult) SyncSlowdown() float64 { return ratio(r.LoudSync.P50, r.QuietSync.P50) }

func ratio(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// budgets compares the measurements with the budgets. Without connectors there is none of
// syncs.
func (r *TenantsResult) budgets() []Budget {
	times := func(what string, slowdown float64, most int) Budget {
		return Budget{
			What: what + ", beside the neighbour", Budget: fmt.Sprintf("at most %d times as long", most), Measured: fmt.Sprintf("%.1f times", slowdown),
			Verdict: verdict(slowdown <= float64(most)),
		}
	}
	all := []Budget{times("p99 of the others' searches", r.Slowdown(), maxSlowdown)}
	if r.Connectors > 0 {
		all = append(all, times("p50 of small syncs", r.SyncSlowdown(), maxSyncSlowdown))
	}
	return append(all, Budget{
		What: "collections in memory", Budget: "SEARCH_MEMORY, " + humanize.Bytes(int64(r.SearchMemory)), Measured: humanize.Bytes(int64(r.Resident)),
		Verdict: verdict(r.Resident <= r.SearchMemory),
	})
}

// Failure returns an error if a search or a sync failed, if small syncs were not beside those
// of the neighbour, or if a budget was missed.
func (r *TenantsResult) Failure() error {
	var failures []error
	for _, l := range []*Latencies{&r.Quiet, &r.Loud, &r.Neighbour, &r.QuietSync, &r.LoudSync} {
		if l.Errors > 0 {
			failures = append(failures, l.failure())
		}
	}
	if r.LoudSync.Calls > 0 && r.NeighbourOpen == 0 {
		failures = append(failures, errors.New("the neighbour had no sync queued or running when a small one ended: --files must be more"))
	}
	for _, b := range r.budgets() {
		if b.Verdict != verdict(true) {
			failures = append(failures, fmt.Errorf("%s: %s, the budget is %s", b.What, b.Measured, b.Budget))
		}
	}
	return errors.Join(failures...)
}

// tenant is a workspace to measure.
type tenant struct {
	stack     *Stack
	targets   []target
	connector uuid.UUID // with a small folder; uuid.Nil for none
	pages     []synth.Page
}

// Tenants measures many workspaces that search a little, without and beside a neighbour
// that searches and syncs as much as it can.
func Tenants(ctx context.Context, s *Stack, text Text, o TenantsOptions) (result *TenantsResult, err error) {
	questions, err := text.questions(o.Questions)
	if err != nil {
		return nil, err
	}
	result = &TenantsResult{
		Text: text, Workspaces: o.Workspaces, Collections: o.Workspaces * o.Collections, Connectors: o.Connectors, SearchMemory: float64(s.SearchMemory),
	}
	began := time.Now()
	source := synth.NewGenerator(text.pages, seed)
	tenants, err := makeTenants(ctx, s, text, source, o, result)
	if err != nil {
		return nil, err
	}
	neighbour, err := makeNeighbour(ctx, s, text, source, o)
	if err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	result.Setup = time.Since(began)
	worker, err := s.startWorker(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, worker.stop()) }()
	srv, err := s.startServer(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	if result.StartRSS, err = result.readMemory(ctx, srv); err != nil {
		return nil, err
	}
	if err := result.measure(ctx, srv, tenants, neighbour, questions, o); err != nil {
		return nil, err
	}
	if result.RSS, err = result.readMemory(ctx, srv); err != nil {
		return nil, err
	}
	result.Budgets = result.budgets()
	return result, ctx.Err()
}

// readMemory notes the bytes of collections in memory if they are the most, and returns those
// of the process.
func (r *TenantsResult) readMemory(ctx context.Context, srv *server) (rss float64, err error) {
	metrics, err := srv.metrics(ctx)
	if err != nil {
		return 0, err
	}
	resident, _, ok := metrics.Resident()
	if !ok {
		return 0, errors.New("the server does not tell the memory of its collections")
	}
	r.Resident = max(r.Resident, resident)
	return metrics.RSS(), nil
}

// makeTenants creates the workspaces with their collections and connectors.
func makeTenants(ctx context.Context, s *Stack, text Text, source *synth.Generator, o TenantsOptions, result *TenantsResult) ([]*tenant, error) {
	folder := filepath.Join(s.Dir, smallFolder)
	if err := writeFolder(folder, source, probeFiles); err != nil {
		return nil, err
	}
	progress := s.Display.Progress("workspaces")
	var tenants []*tenant
	for i := range o.Workspaces {
		own, err := s.NewWorkspace(ctx, fmt.Sprintf("Workspace %d", i+1))
		if err != nil {
			return nil, err
		}
		t := &tenant{stack: own}
		for k := range o.Collections {
			made, passages, err := own.fillTarget(ctx, fmt.Sprintf("%s %d", collectionName, k+1), text, source, o.Passages)
			if err != nil {
				return nil, err
			}
			t.targets = append(t.targets, made)
			result.Passages += passages
		}
		if i < o.Connectors {
			if t.connector, err = own.folder(ctx, "Folder", folder); err != nil {
				return nil, err
			}
		}
		tenants = append(tenants, t)
		progress.Show(i+1, o.Workspaces, "")
	}
	progress.Done("%s with %s", humanize.Count(o.Workspaces, "workspace"), humanize.Count(result.Passages, "passage"))
	return tenants, nil
}

// makeNeighbour creates the workspace of the neighbour, with one collection that is ten
// times as large as those of the others.
func makeNeighbour(ctx context.Context, s *Stack, text Text, source *synth.Generator, o TenantsOptions) (*tenant, error) {
	own, err := s.NewWorkspace(ctx, "Neighbour")
	if err != nil {
		return nil, err
	}
	made, _, err := own.fillTarget(ctx, collectionName, text, source, 10*o.Passages)
	if err != nil {
		return nil, err
	}
	return &tenant{stack: own, targets: []target{made}, pages: text.pages}, nil
}

// fillTarget creates a collection with so many passages.
func (s *Stack) fillTarget(ctx context.Context, name string, text Text, source *synth.Generator, passages int) (target, int, error) {
	t, err := s.createTarget(ctx, name)
	if err != nil {
		return target{}, 0, err
	}
	f := newFiller(s, t, text)
	f.source = source // so that collections differ
	if _, err := f.grow(ctx, passages); err != nil {
		return target{}, 0, err
	}
	_, stored := f.stored()
	return t, stored, nil
}

// measure measures the searches and the syncs of the workspaces, first without the
// neighbour, then beside it.
func (r *TenantsResult) measure(ctx context.Context, srv *server, tenants []*tenant, neighbour *tenant, questions []string, o TenantsOptions) error {
	others, err := asksOf(srv, tenants, questions)
	if err != nil {
		return err
	}
	loud, err := asksOf(srv, []*tenant{neighbour}, questions)
	if err != nil {
		return err
	}
	for i, ask := range others { // each collection is loaded once
		if _, err := ask(ctx, i); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
	}
	ask := func(ctx context.Context, turn int) (int, error) {
		return others[turn%len(others)](ctx, turn/len(others))
	}
	var small []*tenant
	for _, t := range tenants {
		if t.connector != uuid.Nil {
			small = append(small, t)
		}
	}
	probes := &syncProbes{tenants: small[:min(len(small), maxProbes)], folder: filepath.Join(neighbour.stack.Dir, smallFolder)}
	quiet := func() Latencies { return paced(ctx, o.Rate, o.Duration, ask) }
	if r.Quiet, err = r.besideSyncs(ctx, small, quiet); err != nil {
		return err
	}
	if r.QuietRSS, err = r.readMemory(ctx, srv); err != nil {
		return err
	}
	if r.QuietSync, err = probes.quiet(ctx); err != nil {
		return err
	}
	if r.Loud, err = r.besideSyncs(ctx, small, func() Latencies {
		var running sync.WaitGroup
		running.Go(func() { r.Neighbour = Load(ctx, o.Clients, o.Duration, loud[0]) })
		defer running.Wait()
		return quiet()
	}); err != nil {
		return err
	}
	if _, err := r.readMemory(ctx, srv); err != nil {
		return err
	}
	return r.timeLoud(ctx, probes, neighbour, o.Files)
}

// besideSyncs measures while syncs of small folders are started, as many as in schedules of
// scheduleInterval.
func (r *TenantsResult) besideSyncs(ctx context.Context, small []*tenant, measure func() Latencies) (l Latencies, err error) {
	if len(small) == 0 {
		return measure(), nil
	}
	ctx, stop := context.WithCancel(ctx)
	var failure error
	var starting sync.WaitGroup
	starting.Go(func() {
		ticker := time.NewTicker(scheduleInterval / time.Duration(len(small)))
		defer ticker.Stop()
		for i := 0; failure == nil; i++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				t := small[len(small)-1-i%len(small)] // the last ones, whose syncs are not timed
				if _, err := t.stack.StartJob(ctx, t.connector); err != nil && ctx.Err() == nil {
					failure = err
				}
				r.Syncs++
			}
		}
	})
	l = measure()
	stop()
	starting.Wait()
	return l, failure
}

// asksOf returns the searches of each collection of the workspaces.
func asksOf(srv *server, tenants []*tenant, questions []string) ([]Ask, error) {
	var asks []Ask
	for _, t := range tenants {
		for _, target := range t.targets {
			ask, err := searches(srv.rest(target.key), questions, synth.Filter{})
			if err != nil {
				return nil, err
			}
			asks = append(asks, ask)
		}
	}
	return asks, nil
}

// paced makes calls at a rate, whether earlier ones have ended or not, so that a slow answer
// does not lower the load. A call's time begins when it is due.
func paced(ctx context.Context, rate float64, duration time.Duration, ask Ask) Latencies {
	var mutex sync.Mutex
	var durations []time.Duration
	var failures []error
	found := 0
	var calls sync.WaitGroup
	ticker := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer ticker.Stop()
	start := time.Now()
	for turn := 0; time.Since(start) < duration; turn++ {
		select {
		case <-ctx.Done():
			calls.Wait()
			return Summarize(durations)
		case due := <-ticker.C:
			calls.Go(func() {
				n, err := ask(ctx, turn)
				took := time.Since(due)
				mutex.Lock()
				defer mutex.Unlock()
				if err != nil {
					failures = append(failures, err)
					return
				}
				durations = append(durations, took)
				found += n
			})
		}
	}
	calls.Wait()
	return summarizeCalls(durations, failures, found, time.Since(start))
}
