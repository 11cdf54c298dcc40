package attached

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

// AuditAction is the action of a statement in the audit log.
const AuditAction = "database.query"

// maxAudited is the maximum length of a statement in an audit entry, in characters.
const maxAudited = 2000

// auditTimeout limits how long writing an audit entry may take.
const auditTimeout = 5 * time.Second

// Statement is a statement for a database.
type Statement struct {
	Database string // name or id; "" for the only one
	SQL      string
	Limits   connectors.QueryLimits
	// Admit is called once before the statement runs. Its error ends the query
	// without an entry in the audit log. Nil admits every statement.
	Admit func(ctx context.Context) error
	// Agent and Run are the agent and run that issue the statement; zero for none.
	Agent, Run uuid.UUID
}

// Result is the result of a statement.
type Result struct {
	Database Database
	*connectors.Rows
}

// Query runs a read-only statement and records it in the audit log, even if it is
// refused or fails. If it cannot be recorded, Query returns no result. Errors are
// apierr: not_found for a database out of reach, invalid_request for a wrong
// statement, unavailable.
func (d *Databases) Query(ctx context.Context, scope viewer.Scope, q Statement) (*Result, error) {
	db, err := d.find(ctx, scope, q.Database)
	if err != nil {
		return nil, err
	}
	release, err := d.acquireSlot(ctx, db.ID)
	if err != nil {
		return nil, err
	}
	defer release()
	if q.Admit != nil {
		if err := q.Admit(ctx); err != nil {
			return nil, err
		}
	}
	start := d.o.Now()
	database, kind, credentials, err := d.open(ctx, db.row)
	var rows *connectors.Rows
	if err == nil {
		rows, err = database.Query(ctx, q.SQL, q.Limits)
		_ = database.Close() // it holds no state
	}
	if auditErr := d.record(ctx, db, q, rows, err, d.o.Now().Sub(start)); auditErr != nil {
		return nil, auditErr
	}
	queryErr, ok := errors.AsType[*connectors.QueryError](err)
	switch {
	case err == nil:
		return &Result{Database: db, Rows: rows}, nil
	case ok && queryErr.Refused:
		return nil, apierr.New(apierr.InvalidRequest, "Refused: "+queryErr.Message)
	case ok:
		return nil, apierr.New(apierr.InvalidRequest, "The database says: "+queryErr.Message)
	default:
		return nil, d.queryError(ctx, db, kind, credentials, err)
	}
}

// record records a statement in the audit log, even if ctx has ended. The entry
// does not contain the result.
func (d *Databases) record(ctx context.Context, db Database, q Statement, rows *connectors.Rows, failure error, duration time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	sum := sha256.Sum256([]byte(q.SQL))
	outcome := "answered"
	queryErr, ok := errors.AsType[*connectors.QueryError](failure)
	switch {
	case failure == nil:
	case ok && queryErr.Refused:
		outcome = "refused"
	default:
		outcome = "failed"
	}
	changes := []audit.Change{
		{Field: "statement", New: safetext.Truncate(safetext.Storable(q.SQL), maxAudited)}, {Field: "sha256", New: hex.EncodeToString(sum[:])}, {Field: "bytes", New: len(q.SQL)},
		{Field: "outcome", New: outcome}, {Field: "took_ms", New: duration.Milliseconds()},
	}
	if rows != nil {
		changes = append(changes, audit.Change{Field: "rows", New: len(rows.Values)})
	}
	if ok && queryErr.Code != "" {
		changes = append(changes, audit.Change{Field: "code", New: queryErr.Code})
	}
	if q.Agent != uuid.Nil {
		changes = append(changes, audit.Change{Field: "agent", New: q.Agent.String()}, audit.Change{Field: "run", New: q.Run.String()})
	}
	err := audit.Record(ctx, func(ctx context.Context, query string, arguments ...any) error {
		_, err := d.o.Ent.ExecContext(ctx, query, arguments...)
		return err
	}, audit.Event{Workspace: db.row.WorkspaceID, Action: AuditAction, TargetKind: "connector", TargetID: db.ID, TargetName: db.Name, Changes: changes})
	return apierr.Wrap("record a query in the audit log", err)
}
