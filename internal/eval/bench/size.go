package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/internal/index"
)

// SizeOptions configures Size.
type SizeOptions struct {
	Passages  []int         // sizes of the collection in ascending order
	Clients   []int         // numbers of clients that ask at a time
	Duration  time.Duration // of each measurement of searches
	Questions int           // the most different questions
	Changes   int           // documents that are changed at each size
	Memory    string        // maintenance_work_mem of the builds, as PostgreSQL writes it; "" for that of the server
}

// SizeResult is the result of Size.
type SizeResult struct {
	Machine Machine `json:"machine"`
	Text    Text    `json:"text"`
	Model   string  `json:"model"`
	// Settings are those of PostgreSQL that matter for the figures, by name.
	Settings map[string]string `json:"settings"`
	Steps    []*SizeStep       `json:"sizes"`
}

// A SizeStep is what PostgreSQL takes at one size of a collection.
type SizeStep struct {
	Passages  int `json:"passages"`
	Documents int `json:"documents"`
	// Load is the load average of the machine before the step, with what this process does itself.
	Load float64 `json:"loadAverage"`
	// Written is the rate of passages that are stored without search indexes, and Changed
	// of those that replace others while there are some.
	Written float64 `json:"writtenPassagesPerSecond"`
	Changed float64 `json:"changedPassagesPerSecond"`
	// VacuumNew is the time of VACUUM ANALYZE of all tables after the passages were
	// stored, without search indexes. VacuumChanged is that after some were changed, with them.
	VacuumNew     time.Duration `json:"vacuumNewNanoseconds"`
	VacuumChanged time.Duration `json:"vacuumChangedNanoseconds"`
	// Replaced are the passages that were replaced before VacuumChanged.
	Replaced int `json:"replacedPassages"`
	// Build is the time to build the indexes of vectors and of lexemes.
	Build  time.Duration `json:"buildNanoseconds"`
	Tables []TableSize   `json:"tables"`
	// Searches are those that PostgreSQL answers, over HTTP.
	Searches []Latencies `json:"searches"`
}

// Bytes returns the size of all tables.
func (s *SizeStep) Bytes() (bytes int64) {
	for _, t := range s.Tables {
		bytes += t.Bytes()
	}
	return bytes
}

// A TableSize is the size of a table with its partitions, in bytes.
type TableSize struct {
	Name  string `json:"name"`
	Heap  int64  `json:"heapBytes"`
	Toast int64  `json:"toastBytes"` // of large values, with their index
	Keys  int64  `json:"keyBytes"`   // indexes of keys and of collections
	// Vectors and Lexemes are the search indexes of large collections.
	Vectors int64 `json:"vectorIndexBytes"`
	Lexemes int64 `json:"lexemeIndexBytes"`
}

// Bytes returns the size of the table with all indexes.
func (t TableSize) Bytes() int64 { return t.Heap + t.Toast + t.Keys + t.Vectors + t.Lexemes }

// The tables whose size grows with passages and documents.
func sizedTables() []string {
	return []string{"documents", "document_texts", "document_changes", "passages", "passage_index", "collection_terms"}
}

// sizesQuery adds the sizes of partitions to those of their tables.
const sizesQuery = `
	with parts as (
		select t.name, t.place, coalesce(i.inhrelid, to_regclass(t.name)) as part
		from unnest($1::text[]) with ordinality t (name, place) left join pg_inherits i on i.inhparent = to_regclass(t.name)
	), indexes as (
		select p.name, sum(pg_relation_size(x.indexrelid)) as bytes,
			sum(pg_relation_size(x.indexrelid)) filter (where starts_with(c.relname, 'passage_index_vectors_')) as vectors,
			sum(pg_relation_size(x.indexrelid)) filter (where starts_with(c.relname, 'passage_index_lexemes_')) as lexemes
		from parts p join pg_index x on x.indrelid = p.part join pg_class c on c.oid = x.indexrelid
		group by p.name
	)
	select p.name, sum(pg_relation_size(p.part))::bigint,
		sum(coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0))::bigint,
		(coalesce(min(i.bytes), 0) - coalesce(min(i.vectors), 0) - coalesce(min(i.lexemes), 0))::bigint,
		coalesce(min(i.vectors), 0)::bigint, coalesce(min(i.lexemes), 0)::bigint
	from parts p join pg_class c on c.oid = p.part left join indexes i on i.name = p.name
	group by p.name, p.place order by p.place`

// ReadSizes returns the sizes of the tables that grow with passages and documents.
func ReadSizes(ctx context.Context, owner *pgx.Conn) ([]TableSize, error) {
	rows, err := owner.Query(ctx, sizesQuery, sizedTables())
	if err != nil {
		return nil, fmt.Errorf("read the sizes of tables: %w", err)
	}
	sizes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t TableSize, err error) {
		err = row.Scan(&t.Name, &t.Heap, &t.Toast, &t.Keys, &t.Vectors, &t.Lexemes)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the sizes of tables: %w", err)
	}
	return sizes, nil
}

// sizeRun is a run of Size.
type sizeRun struct {
	SizeOptions

	stack     *Stack
	owner     *pgx.Conn
	target    target
	filler    *filler
	text      Text
	questions []string
}

// Size measures what a collection takes in PostgreSQL at several sizes, and how fast
// PostgreSQL writes, vacuums, indexes and searches it.
func Size(ctx context.Context, s *Stack, text Text, o SizeOptions) (result *SizeResult, err error) {
	t, err := s.createTarget(ctx, collectionName)
	if err != nil {
		return nil, err
	}
	questions, err := text.questions(o.Questions)
	if err != nil {
		return nil, err
	}
	config, err := pgx.ParseConfig(s.OwnerURL)
	if err != nil {
		return nil, errors.New("connect as the owner: the database's address cannot be read")
	}
	if o.Memory != "" {
		config.RuntimeParams["maintenance_work_mem"] = o.Memory
	}
	owner, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect as the owner: %w", err)
	}
	defer func() { err = errors.Join(err, owner.Close(context.WithoutCancel(ctx))) }()
	run := &sizeRun{SizeOptions: o, stack: s, owner: owner, target: t, filler: newFiller(s, t, text), text: text, questions: questions}
	result = &SizeResult{Text: text, Model: s.Embedder.Model()}
	if result.Settings, err = run.settings(ctx); err != nil {
		return nil, err
	}
	for _, passages := range o.Passages {
		step, err := run.measure(ctx, passages)
		if err != nil {
			return nil, fmt.Errorf("%d passages: %w", passages, err)
		}
		result.Steps = append(result.Steps, step)
	}
	return result, nil
}

// settings reads the settings of PostgreSQL.
func (r *sizeRun) settings(ctx context.Context) (map[string]string, error) {
	names := []string{"server_version", "shared_buffers", "maintenance_work_mem", "max_wal_size", "max_parallel_maintenance_workers"}
	all := make(map[string]string, len(names))
	for _, name := range names {
		var value string
		if err := r.owner.QueryRow(ctx, "select current_setting($1)", name).Scan(&value); err != nil {
			return nil, fmt.Errorf("read the settings of PostgreSQL: %w", err)
		}
		all[name] = value
	}
	return all, nil
}

// measure grows the collection to a size and measures.
func (r *sizeRun) measure(ctx context.Context, passages int) (*SizeStep, error) {
	step := &SizeStep{Load: ThisMachine().Load}
	if err := r.dropIndexes(ctx); err != nil {
		return nil, err
	}
	_, before := r.filler.stored()
	elapsed, err := r.filler.grow(ctx, passages)
	if err != nil {
		return nil, err
	}
	step.Documents, step.Passages = r.filler.stored()
	step.Documents -= len(r.filler.rejected)
	if added := step.Passages - before; added > 0 {
		step.Written = float64(added) / elapsed.Seconds()
	}
	if step.VacuumNew, err = r.vacuum(ctx); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := index.BuildIndexes(ctx, r.owner, r.target.collection); err != nil {
		return nil, err
	}
	step.Build = time.Since(start)
	if step.Tables, err = ReadSizes(ctx, r.owner); err != nil {
		return nil, err
	}
	r.stack.Display.Note("%d passages: %s, %.0f passages/s written, vacuum %s, indexes %s", step.Passages, humanize.Bytes(step.Bytes()),
		step.Written, humanize.Duration(step.VacuumNew), humanize.Duration(step.Build))
	if err := r.search(ctx, step); err != nil {
		return nil, err
	}
	if err := r.change(ctx, step); err != nil {
		return nil, err
	}
	step.VacuumChanged, err = r.vacuum(ctx)
	return step, err
}

// dropIndexes drops the search indexes: a collection that grows to a multiple gets new ones.
func (r *sizeRun) dropIndexes(ctx context.Context) error {
	id := strings.ReplaceAll(r.target.collection.String(), "-", "")
	for _, statement := range []string{
		"delete from search_indexes",
		"drop index if exists passage_index_vectors_" + id, "drop index if exists passage_index_lexemes_" + id,
	} {
		if _, err := r.owner.Exec(ctx, statement); err != nil {
			return fmt.Errorf("drop the search indexes: %w", err)
		}
	}
	return nil
}

// vacuum returns the time that VACUUM ANALYZE of the tables takes.
func (r *sizeRun) vacuum(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	if _, err := r.owner.Exec(ctx, "vacuum (analyze) "+strings.Join(sizedTables(), ", ")); err != nil {
		return 0, fmt.Errorf("vacuum the tables: %w", err)
	}
	return time.Since(start), nil
}

// search measures searches of a server that keeps no collection in memory.
func (r *sizeRun) search(ctx context.Context, step *SizeStep) (err error) {
	programs := r.stack.Programs
	programs.Settings = append(slices.Clone(programs.Settings), "SEARCH_MEMORY=0")
	srv, err := programs.startServer(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	ask, err := searches(srv.rest(r.target.key), r.questions, synth.Filter{})
	if err != nil {
		return err
	}
	// Every question once: the caches of PostgreSQL are warm, as far as they hold the indexes.
	if l := Load(ctx, 2, r.Duration, ask); l.Errors > 0 {
		return fmt.Errorf("warm up: %s", l.Error)
	}
	for _, clients := range r.Clients {
		l := Load(ctx, clients, r.Duration, ask)
		if l.Errors > 0 {
			return fmt.Errorf("searches of %s: %w", humanize.Count(clients, "client"), l.failure())
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		step.Searches = append(step.Searches, l)
		r.stack.Display.Note("%d passages, %s: %.0f searches/s, p50 %s, p99 %s", step.Passages, humanize.Count(clients, "client"),
			l.PerSecond, humanize.Milliseconds(l.P50), humanize.Milliseconds(l.P99))
	}
	return nil
}

// change stores the first documents again, with another sentence at their end.
func (r *sizeRun) change(ctx context.Context, step *SizeStep) error {
	source := synth.NewGenerator(r.text.pages, seed)
	changed := make(map[uuid.UUID]bool, r.Changes)
	start := time.Now()
	for range step.Documents + len(r.filler.rejected) {
		if len(changed) >= r.Changes {
			break
		}
		d := source.Next()
		if r.filler.rejected[d.Name] {
			continue
		}
		stored, id, err := r.filler.store(ctx, d, "It says "+Marker(step.Passages+len(changed))+" now.")
		if errors.Is(err, errNoText) {
			continue
		}
		if err != nil {
			return fmt.Errorf("change a document: %w", err)
		}
		changed[id] = true
		step.Replaced += len(stored.Passages)
	}
	step.Changed = float64(step.Replaced) / time.Since(start).Seconds()
	return nil
}
