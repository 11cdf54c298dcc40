package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/eval/bench/synth"
)

// A Baseline is the search that many applications have: the full text search of
// PostgreSQL and pgvector on one table, fused in SQL.
type Baseline struct {
	pool       *pgxpool.Pool
	dimensions int
}

// BaselineSettings describes the baseline for readers of the results.
const BaselineSettings = "tsvector column of to_tsvector('english', title, headings, body) with GIN; vector column with HNSW (m 16, ef_construction 64, " +
	"cosine), hnsw.ef_search 100, iterative_scan relaxed_order; B-tree or GIN on the filter columns; 100 best by ts_rank_cd of any word " +
	"of the question (plainto_tsquery, its words joined by OR) and 100 nearest, reciprocal rank fusion (k 60), 10 passages with their text"

// A Passage is a row of the baseline.
type Passage struct {
	Document              uuid.UUID
	Section, Version      string
	Tags                  []string
	Title, Headings, Body string
	Vector                []float32
}

// OpenBaseline creates the empty table in its own schema. The login must be allowed
// to create schemas. The caller closes the baseline.
func OpenBaseline(ctx context.Context, databaseURL string, connections, dimensions int) (*Baseline, error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, errors.New("open the baseline: the database's address cannot be read")
	}
	config.MaxConns = int32(connections) //nolint:gosec // the number of clients
	parameters := config.ConnConfig.RuntimeParams
	parameters["search_path"] = "baseline, public"
	// A generic plan would use the wrong index for some filters.
	parameters["plan_cache_mode"] = "force_custom_plan"
	parameters["hnsw.ef_search"] = "100"
	parameters["hnsw.iterative_scan"] = "relaxed_order"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the baseline: %w", err)
	}
	b := &Baseline{pool: pool, dimensions: dimensions}
	if err := b.Reset(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return b, nil
}

// Close closes the connections.
func (b *Baseline) Close() { b.pool.Close() }

// Reset empties the table and drops its indexes.
func (b *Baseline) Reset(ctx context.Context) error {
	for _, statement := range []string{
		`drop schema if exists baseline cascade`,
		`create schema baseline`,
		`create table baseline.passages (
			id bigint generated always as identity primary key,
			document uuid not null, section text not null, version text not null, tags text[] not null,
			title text not null, headings text not null, body text not null,
			tsv tsvector generated always as (to_tsvector('english', title || ' ' || headings || ' ' || body)) stored,
			embedding vector(` + strconv.Itoa(b.dimensions) + `) not null)`,
	} {
		if _, err := b.pool.Exec(ctx, statement); err != nil {
			return fmt.Errorf("create the baseline's table: %w", err)
		}
	}
	return nil
}

// Copy appends the passages that next returns until it returns io.EOF.
func (b *Baseline) Copy(ctx context.Context, next func() (Passage, error)) (rows int64, err error) {
	connection, err := b.pool.Acquire(ctx)
	if err != nil {
		return 0, fmt.Errorf("fill the baseline: %w", err)
	}
	defer connection.Release()
	tag, err := connection.Conn().PgConn().CopyFrom(ctx, &rowReader{next: next},
		`copy baseline.passages (document, section, version, tags, title, headings, body, embedding) from stdin`)
	if err != nil {
		return 0, fmt.Errorf("fill the baseline: %w", err)
	}
	return tag.RowsAffected(), nil
}

// A rowReader encodes passages as rows in the text format of COPY.
type rowReader struct {
	next   func() (Passage, error)
	row    []byte
	unread []byte // the end of row
}

// Read implements io.Reader.
func (r *rowReader) Read(into []byte) (int, error) {
	if len(r.unread) == 0 {
		p, err := r.next()
		if err != nil {
			return 0, err // io.Reader returns io.EOF unwrapped
		}
		r.row = p.appendTo(r.row[:0])
		r.unread = r.row
	}
	n := copy(into, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}

var escapes = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", " ")

func (p *Passage) appendTo(row []byte) []byte {
	tags := make([]string, len(p.Tags))
	for i, tag := range p.Tags {
		tags[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(tag) + `"`
	}
	for _, column := range []string{p.Document.String(), p.Section, p.Version, "{" + strings.Join(tags, ",") + "}", p.Title, p.Headings, p.Body} {
		row = append(append(row, escapes.Replace(strings.ToValidUTF8(column, "?"))...), '\t')
	}
	return append(appendVector(row, p.Vector), '\n')
}

func appendVector(b []byte, vector []float32) []byte {
	b = append(b, '[')
	for i, x := range vector {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return append(b, ']')
}

// Index creates the indexes and the statistics and returns the time it took. memory
// is the maintenance_work_mem of PostgreSQL. A vector index that does not fit into
// it takes many times longer.
func (b *Baseline) Index(ctx context.Context, memory string) (time.Duration, error) {
	connection, err := b.pool.Acquire(ctx)
	if err != nil {
		return 0, fmt.Errorf("index the baseline: %w", err)
	}
	defer connection.Release()
	start := time.Now()
	for _, statement := range []string{
		`set maintenance_work_mem = '` + memory + `'`,
		`create index on baseline.passages using gin (tsv)`,
		`create index on baseline.passages using hnsw (embedding vector_cosine_ops) with (m = 16, ef_construction = 64)`,
		`create index on baseline.passages (section)`,
		`create index on baseline.passages (version)`,
		`create index on baseline.passages using gin (tags)`,
		`vacuum analyze baseline.passages`,
		`reset maintenance_work_mem`,
	} {
		if _, err := connection.Exec(ctx, statement); err != nil {
			return 0, fmt.Errorf("index the baseline: %w", err)
		}
	}
	return time.Since(start), nil
}

// Search answers one question, reads the texts of at most 10 passages and returns
// their number.
func (b *Baseline) Search(ctx context.Context, question string, vector []float32, f synth.Filter) (found int, err error) {
	statement, arguments := searchStatement(f)
	arguments = append([]any{question, string(appendVector(nil, vector))}, arguments...)
	rows, err := b.pool.Query(ctx, statement, arguments...)
	if err != nil {
		return 0, fmt.Errorf("search the baseline: %w", err)
	}
	var document uuid.UUID
	var title, headings, body string
	var score float64
	_, err = pgx.ForEachRow(rows, []any{&document, &title, &headings, &body, &score}, func() error { found++; return nil })
	if err != nil {
		return 0, fmt.Errorf("search the baseline: %w", err)
	}
	return found, nil
}

// searchStatement returns the hybrid search with a filter and the arguments from $3
// on.
func searchStatement(f synth.Filter) (statement string, arguments []any) {
	var where string
	condition := func(sql string, value any) {
		arguments = append(arguments, value)
		where += " and " + strings.ReplaceAll(sql, "?", "$"+strconv.Itoa(2+len(arguments)))
	}
	if f.Version != "" {
		condition("p.version = ?", f.Version)
	}
	if f.Section != "" {
		condition("p.section = ?", f.Section)
	}
	if f.Tag != "" {
		condition("p.tags @> array[?::text]", f.Tag)
	}
	// The planner needs the expression itself, not a common table expression, to estimate the frequency of the words.
	const words = `replace(plainto_tsquery('english', $1)::text, ' & ', ' | ')::tsquery`
	return `with lexical as (
		select p.id, ts_rank_cd(p.tsv, ` + words + `) as rank from baseline.passages p
		where p.tsv @@ ` + words + where + ` order by rank desc limit 100
	), dense as (
		select p.id, p.embedding <=> $2::vector as distance from baseline.passages p
		where true` + where + ` order by p.embedding <=> $2::vector limit 100
	), fused as (
		select id, sum(1.0 / (60 + place)) as score from (
			select id, row_number() over (order by rank desc, id) as place from lexical
			union all
			select id, row_number() over (order by distance, id) from dense
		) both_lists group by id order by score desc, id limit 10
	)
	select p.document, p.title, p.headings, p.body, fused.score::float8
	from fused join baseline.passages p using (id) order by fused.score desc, id`, arguments
}

var _ io.Reader = (*rowReader)(nil)
