package attached

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// AuditAction is what entries of the audit log call a statement.
const AuditAction = "database.query"

// maxAudited is how much of a statement an entry keeps, in characters.
const maxAudited = 2000

// auditTime is how long the writing of an entry may take.
const auditTime = 5 * time.Second

// Question is a statement for a database.
type Question struct {
	Database string // name or id; "" for the only one
	SQL      string
	Limits   connectors.QueryLimits
	// Agent and Run are for whom it is asked; zero for none.
	Agent, Run uuid.UUID
}

// Answer is what a database said.
type Answer struct {
	Database Database
	*connectors.Rows
}

// Query runs a statement that reads, and writes it down in the audit log, also
// when it is refused or fails. An answer that could not be written down is not
// given. Errors are apierr: not_found for a database out of reach,
// invalid_request with what is wrong with the statement, unavailable.
func (d *Databases) Query(ctx context.Context, scope viewer.Scope, q Question) (*Answer, error) {
	one, err := d.find(ctx, scope, q.Database)
	if err != nil {
		return nil, err
	}
	leave, err := d.gate(ctx, one.ID)
	if err != nil {
		return nil, err
	}
	defer leave()
	began := d.o.Now()
	database, kind, credentials, err := d.open(ctx, one.row)
	var rows *connectors.Rows
	if err == nil {
		rows, err = database.Query(ctx, q.SQL, q.Limits)
		_ = database.Close() // nothing is kept in it
	}
	if unwritten := d.writeDown(ctx, one, q, rows, err, d.o.Now().Sub(began)); unwritten != nil {
		return nil, unwritten
	}
	wrong, isWrong := errors.AsType[*connectors.QueryError](err)
	switch {
	case err == nil:
		return &Answer{Database: one, Rows: rows}, nil
	case isWrong && wrong.Refused:
		return nil, apierr.New(apierr.InvalidRequest, "Refused: "+wrong.Message)
	case isWrong:
		return nil, apierr.New(apierr.InvalidRequest, "The database says: "+wrong.Message)
	default:
		return nil, d.failed(ctx, one, kind, credentials, err)
	}
}

// writeDown notes a statement in the audit log, whatever became of ctx. Its
// answer is nowhere in it.
func (d *Databases) writeDown(ctx context.Context, one Database, q Question, rows *connectors.Rows, failure error, took time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTime)
	defer cancel()
	sum := sha256.Sum256([]byte(q.SQL))
	outcome := "answered"
	wrong, isWrong := errors.AsType[*connectors.QueryError](failure)
	switch {
	case failure == nil:
	case isWrong && wrong.Refused:
		outcome = "refused"
	default:
		outcome = "failed"
	}
	changes := []audit.Change{
		{Field: "statement", New: shortened(q.SQL)}, {Field: "sha256", New: hex.EncodeToString(sum[:])}, {Field: "bytes", New: len(q.SQL)},
		{Field: "outcome", New: outcome}, {Field: "took_ms", New: took.Milliseconds()},
	}
	if rows != nil {
		changes = append(changes, audit.Change{Field: "rows", New: len(rows.Values)})
	}
	if isWrong && wrong.Code != "" {
		changes = append(changes, audit.Change{Field: "code", New: wrong.Code})
	}
	if q.Agent != uuid.Nil {
		changes = append(changes, audit.Change{Field: "agent", New: q.Agent.String()}, audit.Change{Field: "run", New: q.Run.String()})
	}
	err := audit.Record(ctx, func(ctx context.Context, query string, arguments ...any) error {
		_, err := d.o.Ent.ExecContext(ctx, query, arguments...)
		return err
	}, audit.Event{Workspace: one.row.WorkspaceID, Action: AuditAction, TargetKind: "connector", TargetID: one.ID, TargetName: one.Name, Changes: changes})
	return apierr.Wrap("note a query in the audit log", err)
}

func shortened(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
	if utf8.RuneCountInString(text) <= maxAudited {
		return text
	}
	return string([]rune(text)[:maxAudited-1]) + "…"
}
