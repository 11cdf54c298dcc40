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
	//go:embed sql/asked.sql
	askedSQL string
	//go:embed sql/judgements.sql
	judgementsSQL string
)

// maxAttempts is how often a statement is tried that conflicts with another transaction,
// or with the deletion of a collection.
const maxAttempts = 4

// retry calls do, which runs one transaction, until it succeeds or fails for a reason
// other than a conflict.
func retry(ctx context.Context, do func() error) error {
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil || attempt == maxAttempts || ctx.Err() != nil {
			return err
		}
		switch sqlState(err) {
		case "23503", "23505", "40001", "40P01": // foreign key, unique, serialization, deadlock
		default:
			return err
		}
	}
}

// sqlState returns the SQLSTATE of an error of PostgreSQL.
func sqlState(err error) string {
	var p *pgconn.PgError
	if errors.As(err, &p) {
		return p.Code
	}
	return ""
}

// isPermanent reports whether a statement would fail again. It is false for errors of a
// database that is unavailable, full or busy.
func isPermanent(err error) bool {
	code := sqlState(err)
	for _, class := range []string{"08", "40", "53", "57", "58"} {
		if strings.HasPrefix(code, class) {
			return false
		}
	}
	return code != ""
}

// clientError returns an error with the code unavailable if the database is unavailable,
// and err otherwise.
func clientError(err error) error {
	var unreachable *pgconn.ConnectError
	if errors.As(err, &unreachable) || strings.HasPrefix(sqlState(err), "57P0") {
		return &apierr.Error{Code: apierr.Unavailable, Message: "The database cannot be reached; try again.", Cause: err}
	}
	return err
}

// scopeArgs are the arguments of SQL for a scope.
type scopeArgs struct {
	workspace   uuid.UUID
	collections []uuid.UUID
	all         bool
}

func argsOf(scope viewer.Scope) (scopeArgs, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return scopeArgs{}, fmt.Errorf("analytics: %w", err)
	}
	ids, all := scope.Collections()
	if ids == nil {
		ids = []uuid.UUID{}
	}
	return scopeArgs{workspace: workspace, collections: ids, all: all}, nil
}

// write stores rows and counts them. It skips rows of deleted workspaces and collections,
// and rows that are already stored.
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
	err := retry(ctx, func() error {
		_, err := pool.Exec(ctx, writeSQL, ids, workspaces, at, requests, surfaces, kinds, keys, collections, textIDs, texts, languages,
			results, scores, filters, pages, took, buckets, conversations, sourced)
		return err
	})
	if err != nil {
		return fmt.Errorf("write query log: %w", err)
	}
	return nil
}

// count adds the events of requests to the counts of their queries.
func count(ctx context.Context, pool *pgxpool.Pool, workspaces []uuid.UUID, requests []string) error {
	err := retry(ctx, func() error {
		_, err := pool.Exec(ctx, countSQL, workspaces, requests)
		return err
	})
	if err != nil {
		return fmt.Errorf("count events: %w", err)
	}
	return nil
}
