package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pgvector/pgvector-go"

	"magpie/internal/apierr"
	"magpie/internal/embed"
	"magpie/internal/index"
	"magpie/internal/viewer"
)

// part is the collections of a search that share an embedding model.
type part struct {
	model       string
	collections []uuid.UUID
	embedding   *pgvector.HalfVector // nil: searched by words alone
	chance      chance               // of the model
}

// dense is what a similarity adds to a score; NaN is an unknown one.
func (p *part) dense(similarity float64) float64 {
	if p.embedding == nil || math.IsNaN(similarity) {
		return dense(p.model, unknownRise)
	}
	return dense(p.model, p.chance.rise(similarity))
}

// plan is what is known before candidates are looked up.
type plan struct {
	parts       []part
	averageBody float64
	passages    int            // of all collections
	frequency   map[string]int // passages with a common term, over the large collections
	pruned      bool           // only rare words look candidates up
	query       string         // a tsquery; "" looks nothing up by words
}

const (
	readCollections = `select c.id, c.embedding_model, coalesce(s.passages, 0), coalesce(s.words, 0)
		from collections c left join collection_state s on s.collection_id = c.id
		where c.workspace_id = $1 and ($2 or c.id = any($3)) order by c.id`

	readTerms = `select t.term, t.passages from collection_terms t
		where t.workspace_id = $1 and ($2 or t.collection_id = any($3)) and t.term = any($4)`
)

// plan reads which collections the scope reaches and how common the question's
// words are in the large ones.
func (e *Engine) plan(ctx context.Context, scope viewer.Scope, workspace uuid.UUID, asked *question) (*plan, error) {
	ids, all := scope.Collections()
	if ids == nil {
		ids = []uuid.UUID{}
	}
	p := &plan{frequency: make(map[string]int)}
	var reach []uuid.UUID
	words := 0
	err := e.snapshot(ctx, workspace, func(conn *pgx.Conn, b *pgx.Batch) error {
		var id uuid.UUID
		var name, term string
		var passages, count int
		b.Queue(readCollections, workspace, all, ids).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&id, &name, &passages, &count}, func() error {
				p.add(name, id)
				reach = append(reach, id)
				p.passages += passages
				words += count
				return nil
			})
			return err
		})
		b.Queue(readTerms, workspace, all, ids, asked.terms).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&term, &count}, func() error {
				p.frequency[term] += count
				return nil
			})
			return err
		})
		b.Queue("commit")
		if err := conn.SendBatch(ctx, b).Close(); err != nil {
			return fmt.Errorf("look the collections up: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if p.passages > 0 {
		p.averageBody = float64(words) / float64(p.passages)
	}
	p.query = p.lookUp(reach, asked, e.opt.LookUps)
	return p, nil
}

func (p *plan) add(model string, id uuid.UUID) {
	for i := range p.parts {
		if p.parts[i].model == model {
			p.parts[i].collections = append(p.parts[i].collections, id)
			return
		}
	}
	p.parts = append(p.parts, part{model: model, collections: []uuid.UUID{id}})
}

// maxNamed is how many collections the query over the lexemes names. Beyond it,
// naming them costs more than looking at rows of other collections.
const maxNamed = 64

// lookUp writes the query over the lexemes: any of the words, within the
// collections. Where words are known to be common, the rarest of them are taken
// until the budget is spent, but always one.
func (p *plan) lookUp(reach []uuid.UUID, asked *question, budget int) string {
	if len(reach) == 0 || len(asked.words) == 0 {
		return ""
	}
	order := make([]int, len(asked.words))
	cost := make([]int, len(asked.words))
	for i := range order {
		order[i] = i
		for _, term := range asked.words[i].terms {
			cost[i] += p.frequency[term]
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cost[a] - cost[b] })
	var terms []string
	spent := 0
	for n, i := range order {
		if spent += cost[i]; n > 0 && spent > budget {
			p.pruned = true
			break
		}
		terms = append(terms, asked.words[i].terms...)
	}
	if len(reach) > maxNamed {
		return anyOf(terms)
	}
	within := make([]string, len(reach))
	for i, id := range reach {
		within[i] = index.CollectionLexeme(id)
	}
	return "(" + anyOf(within) + ") & (" + anyOf(terms) + ")"
}

// anyOf writes a disjunction of lexemes.
func anyOf(lexemes []string) string {
	var b strings.Builder
	for i, l := range lexemes {
		if i > 0 {
			b.WriteString(" | ")
		}
		b.WriteByte('\'')
		for _, r := range l {
			if r == '\'' || r == '\\' {
				b.WriteRune(r)
			}
			b.WriteRune(r)
		}
		b.WriteByte('\'')
	}
	return b.String()
}

// common estimates in how many of the passages that the filters leave a word of
// these terms stands, from what is known about the large collections.
func (p *plan) common(terms []string, left int) int {
	n := 0
	for _, term := range terms {
		n += p.frequency[term]
	}
	if p.passages == 0 {
		return 0
	}
	return min(n*left/p.passages, left)
}

// embed adds the question's embedding to each part, one call a model. It
// reports whether some part must do without: its model is not configured or did
// not answer. Words still find most of what is asked for then.
func (e *Engine) embed(ctx context.Context, p *plan, text string) (without bool) {
	for i := range p.parts {
		part := &p.parts[i]
		model, known := e.models.Lookup(part.model)
		if !known {
			e.opt.Log.WarnContext(ctx, "a collection's embedding model is not configured; searching by words alone",
				slog.String("model", part.model))
			without = true
			continue
		}
		if err := e.ask(ctx, part, model, text); err != nil {
			e.opt.Log.WarnContext(ctx, "the question was not embedded; searching by words alone",
				slog.String("model", part.model), slog.Any("error", err))
			without = true
		}
	}
	return without
}

// ask embeds the question by the part's model.
func (e *Engine) ask(ctx context.Context, p *part, model embed.Embedder, text string) error {
	chance, err := e.chances.of(ctx, model)
	if err != nil {
		return err
	}
	vectors, err := model.Embed(ctx, []string{text}, embed.Query)
	if err != nil {
		return fmt.Errorf("embed the question: %w", err)
	}
	if len(vectors) != 1 || len(vectors[0]) == 0 {
		return fmt.Errorf("embed the question: %d vectors for one text", len(vectors))
	}
	v := pgvector.NewHalfVector(vectors[0])
	p.embedding, p.chance = &v, chance
	return nil
}

const readCandidates = `select leg, passage_id, document_id, collection_id, ordinal, title_words, heading_words, body_words,
		hits, similarity
	from magpie_candidates($1, $2, $3, $4, nullif($5, '')::tsquery, $6, $7, $8, $9, $10, $11, $12, $13, $14)`

// candidates looks up what may be a result, all parts in one round trip.
func (e *Engine) candidates(
	ctx context.Context, conn *pgx.Conn, b *pgx.Batch, workspace uuid.UUID, plan *plan, asked *question, f *Filters,
) (*pool, error) {
	found := newPool(asked)
	for i := range plan.parts {
		part := &plan.parts[i]
		b.Queue(readCandidates, workspace, part.collections, part.model, part.embedding, plan.query, asked.terms,
			given(f.Section), given(f.Version), given(f.Language), some(f.Tags), some(f.DocTypes),
			day(f.After, 0), day(f.Before, 1), PoolSize).
			Query(func(rows pgx.Rows) error { return found.read(rows, i) })
	}
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("look the candidates up: %w", err)
	}
	return found, nil
}

// given is nil for a filter that is not set.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func some(s []string) []string {
	if len(s) == 0 {
		return nil
	}
	return s
}

// readable turns the database's refusals into errors that callers can act on.
func readable(err error) error {
	var unreachable *pgconn.ConnectError
	if errors.As(err, &unreachable) {
		return &apierr.Error{Code: apierr.Unavailable, Message: "The database cannot be reached; try again.", Cause: err}
	}
	var p *pgconn.PgError
	if !errors.As(err, &p) {
		return err
	}
	switch {
	case p.Code == "57014":
		return &apierr.Error{Code: apierr.Unavailable, Message: "The search took too long; narrow it with filters.", Cause: err}
	case strings.HasPrefix(p.Code, "57P0"):
		return &apierr.Error{Code: apierr.Unavailable, Message: "The database is restarting; try again.", Cause: err}
	default:
		return err
	}
}
