package analytics

import (
	"context"
	_ "embed" // the statements
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

var (
	//go:embed sql/write.sql
	writeSQL string
	//go:embed sql/count.sql
	countSQL string
	//go:embed sql/days.sql
	daysSQL string
	//go:embed sql/lists.sql
	listsSQL string
)

// tries is how often a statement is made that lost against another one, or met
// a collection on its way out.
const tries = 4

// retried runs a statement that is a transaction of its own.
func retried(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || try == tries || ctx.Err() != nil {
			return err
		}
		switch state(err) {
		case "23503", "23505", "40001", "40P01": // foreign key, unique, serialization, deadlock
		default:
			return err
		}
	}
}

func state(err error) string {
	var p *pgconn.PgError
	if errors.As(err, &p) {
		return p.Code
	}
	return ""
}

// lasting says that the database refused a statement for what it says, not
// because it is away, full or busy.
func lasting(err error) bool {
	code := state(err)
	for _, class := range []string{"08", "40", "53", "57", "58"} {
		if strings.HasPrefix(code, class) {
			return false
		}
	}
	return code != ""
}

// readable turns the database's refusals into errors that callers can act on.
func readable(err error) error {
	var unreachable *pgconn.ConnectError
	if errors.As(err, &unreachable) || strings.HasPrefix(state(err), "57P0") {
		return &apierr.Error{Code: apierr.Unavailable, Message: "The database cannot be reached; try again.", Cause: err}
	}
	return err
}

// reach is a scope in the form that SQL takes it.
type reach struct {
	workspace   uuid.UUID
	collections []uuid.UUID
	all         bool
}

func reachOf(scope viewer.Scope) (reach, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return reach{}, fmt.Errorf("analytics: %w", err)
	}
	ids, all := scope.Collections()
	if ids == nil {
		ids = []uuid.UUID{}
	}
	return reach{workspace: workspace, collections: ids, all: all}, nil
}

// write stores rows and counts them. Rows of a workspace or collection that
// ended are left out. Writing rows again changes nothing.
func write(ctx context.Context, pool *pgxpool.Pool, rows []row) error {
	n := len(rows)
	ids, workspaces, at := make([]uuid.UUID, n), make([]uuid.UUID, n), make([]time.Time, n)
	requests, surfaces, kinds := make([]string, n), make([]string, n), make([]string, n)
	keys, collections, conversations := make([]*uuid.UUID, n), make([]*uuid.UUID, n), make([]*uuid.UUID, n)
	textIDs, texts, languages := make([]*int64, n), make([]string, n), make([]*string, n)
	results, scores, filters := make([]int32, n), make([]*float64, n), make([]string, n)
	pages, took, buckets, sourced := make([]bool, n), make([]float64, n), make([]int16, n), make([]*bool, n)
	for i := range rows {
		r := &rows[i]
		ids[i], workspaces[i], at[i] = r.id, r.Workspace, r.At
		requests[i], surfaces[i], kinds[i] = r.Request, strings.ToLower(string(r.Surface)), string(r.Kind)
		keys[i], collections[i], conversations[i] = orNull(r.Key), orNull(r.Collection), orNull(r.Conversation)
		textIDs[i], texts[i], languages[i] = r.textID, r.Text, textOrNull(r.Language)
		results[i], scores[i], filters[i] = int32(min(r.Results, 1<<30)), r.TopScore, filterNames(&r.Query) //nolint:gosec // bounded
		pages[i], took[i], buckets[i], sourced[i] = r.NextPage, milliseconds(r.Took), r.bucket, r.Sourced
	}
	err := retried(ctx, func() error {
		_, err := pool.Exec(ctx, writeSQL, ids, workspaces, at, requests, surfaces, kinds, keys, collections, textIDs, texts, languages,
			results, scores, filters, pages, took, buckets, conversations, sourced)
		return err
	})
	if err != nil {
		return fmt.Errorf("write the query log: %w", err)
	}
	return nil
}

// count joins events that wait for one of the requests to the log.
func count(ctx context.Context, pool *pgxpool.Pool, workspaces []uuid.UUID, requests []string) error {
	err := retried(ctx, func() error {
		_, err := pool.Exec(ctx, countSQL, workspaces, requests)
		return err
	})
	if err != nil {
		return fmt.Errorf("count events: %w", err)
	}
	return nil
}
