package store

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/magpie-search/magpie/internal/tracing"
)

// A statement is one that runs in a trace. Its text and its arguments are not traced.
type statement struct {
	start time.Time
	sql   string
	batch int // statements that are sent together; 0 for one alone
}

type statementKey struct{}

// startStatement returns a context for endStatement. Without a trace it is ctx.
func startStatement(ctx context.Context, sql string, batch int) context.Context {
	if tracing.From(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, statementKey{}, &statement{time.Now(), sql, batch})
}

// endStatement adds the span of a statement.
func endStatement(ctx context.Context, err error) {
	s, ok := ctx.Value(statementKey{}).(*statement)
	if !ok {
		return
	}
	operation, table := "BATCH", ""
	if s.batch == 0 {
		operation, table = summary(s.sql)
	}
	attributes := []slog.Attr{slog.String("db.system.name", "postgresql"), slog.String("db.operation.name", operation)}
	name := operation
	if table != "" {
		name += " " + table
		attributes = append(attributes, slog.String("db.collection.name", table))
	}
	if s.batch > 0 {
		attributes = append(attributes, slog.Int("db.operation.batch.size", s.batch))
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		attributes = append(attributes, slog.String("db.response.status_code", refused.Code))
	}
	tracing.After(ctx, tracing.Client, name, s.start, err, attributes...)
}

// maxSummary is the number of bytes of a statement in which its table is looked for.
const maxSummary = 2000

// summary returns the first word of a statement in upper case, and the first table that
// it names after FROM, INTO or UPDATE; "" for none.
func summary(sql string) (operation, table string) {
	words := strings.FieldsFunc(sql[:min(len(sql), maxSummary)], func(r rune) bool {
		return r == ' ' || r == '\n' || r == '\t' || r == '(' || r == ')' || r == ',' || r == ';'
	})
	if len(words) == 0 || !isWord(words[0]) {
		return "SQL", ""
	}
	operation = strings.ToUpper(words[0])
	for i, word := range words[:len(words)-1] {
		switch strings.ToUpper(word) {
		case "FROM", "INTO", "UPDATE":
			if next := strings.Trim(words[i+1], `"`); isWord(next) && !strings.EqualFold(next, "select") {
				return operation, next
			}
		}
	}
	return operation, ""
}

// isWord reports whether a text is a word of letters and underscores.
func isWord(text string) bool {
	return text != "" && len(text) < 64 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}
