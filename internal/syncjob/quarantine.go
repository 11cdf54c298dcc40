package syncjob

import (
	"context"
	"database/sql"
	_ "embed" // the statements
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entconnector "github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// A deletion that is larger than a sync may do on its own waits in quarantine. Its
// documents stay, held by their ledger entries, until a person approves or
// dismisses the deletion. An item that the source has again is not held any more.

var (
	//go:embed sql/quarantine.sql
	quarantineSQL string
	//go:embed sql/pending_deletions.sql
	pendingDeletionsSQL string
	//go:embed sql/next_quarantined.sql
	nextQuarantinedSQL string
	//go:embed sql/lift_quarantine.sql
	liftQuarantineSQL string
)

// Exceeds reports whether the deletion of missing out of existing documents exceeds
// a threshold in percent.
func Exceeds(missing, existing, threshold int) bool { return 100*missing > threshold*existing }

// Quarantine holds the documents that Missing counts, and returns how many they
// are. dismissed is true if a person has dismissed the deletion of the same
// documents before.
func (r *Run) Quarantine(ctx context.Context, a Absence, existing, threshold int) (documents int, dismissed bool, err error) {
	var held int
	var isNew bool
	err = r.query(ctx, "put a deletion into quarantine", func(rows *sql.Rows) error { return rows.Scan(&held, &isNew, &documents) },
		quarantineSQL, r.job, r.attempt, r.workspace, r.jobs.now(), existing, threshold, a.Told, a.containers())
	if err == nil && held == 0 {
		return 0, false, ErrLost
	}
	return documents, !isNew, err
}

// EndQuarantine ends the quarantine of the connector, whose documents are at the
// source again or deleted.
func (r *Run) EndQuarantine(ctx context.Context) error {
	return r.query(ctx, "end a quarantine", func(*sql.Rows) error { return nil }, liftQuarantineSQL, r.job, r.attempt, r.workspace)
}

// NextQuarantined returns some of the documents in quarantine that are not deleted
// yet; none at the end.
func (r *Run) NextQuarantined(ctx context.Context, limit int) ([]MissingDocument, error) {
	var documents []MissingDocument
	err := r.query(ctx, "list the documents in quarantine", func(rows *sql.Rows) error {
		var g MissingDocument
		if err := rows.Scan(&g.Document, &g.SourceID, &g.Path); err != nil {
			return err // query says what failed
		}
		documents = append(documents, g)
		return nil
	}, nextQuarantinedSQL, r.workspace, r.connector, limit)
	return documents, err
}

// A PendingDeletion is a deletion in quarantine.
type PendingDeletion struct {
	Documents int
	Since     time.Time
	Job       uuid.UUID // the last one that missed the documents
	Existing  int       // number of documents then
	Threshold int       // in percent
}

// PendingDeletions returns the pending deletions of connectors whose rows the
// viewer has read. Connectors without one are missing.
func (j *Jobs) PendingDeletions(ctx context.Context, connectors []uuid.UUID) (map[uuid.UUID]*PendingDeletion, error) {
	found := make(map[uuid.UUID]*PendingDeletion)
	if len(connectors) == 0 {
		return found, nil
	}
	workspace, err := j.askedWorkspace(ctx, connectors)
	if err != nil {
		return nil, err
	}
	err = eachRow(ctx, transaction.Client(ctx, j.client), "look for deletions in quarantine", func(rows *sql.Rows) error {
		var id uuid.UUID
		var p PendingDeletion
		if err := rows.Scan(&id, &p.Documents, &p.Since, &p.Job, &p.Existing, &p.Threshold); err != nil {
			return err
		}
		found[id] = &p
		return nil
	}, pendingDeletionsSQL, connectors, workspace)
	return found, err
}

// ApproveDeletion starts the job that deletes the documents in quarantine. The
// errors are those of Start, and a conflict if there are none.
func (j *Jobs) ApproveDeletion(ctx context.Context, connectorID uuid.UUID) (*ent.SyncJob, error) {
	if _, err := j.pendingDeletion(ctx, connectorID); err != nil {
		return nil, err
	}
	return j.Start(ctx, connectorID, StartOptions{Mode: entjob.ModeDelete})
}

func (j *Jobs) pendingDeletion(ctx context.Context, connectorID uuid.UUID) (*PendingDeletion, error) {
	if err := connectorExists(ctx, transaction.Client(ctx, j.client), connectorID); err != nil {
		return nil, err
	}
	found, err := j.PendingDeletions(ctx, []uuid.UUID{connectorID})
	switch {
	case err != nil:
		return nil, apierr.Wrap("look for a deletion in quarantine", err)
	case found[connectorID] == nil:
		return nil, apierr.New(apierr.Conflict, "No deletion of this connector waits for a decision.")
	}
	return found[connectorID], nil
}

// DismissDeletion keeps the documents in quarantine and returns how many they are.
// It returns a conflict if there are none. The audit log records it.
func (j *Jobs) DismissDeletion(ctx context.Context, connectorID uuid.UUID) (int, error) {
	pending, err := j.pendingDeletion(ctx, connectorID)
	if err != nil {
		return 0, err
	}
	client := transaction.Client(ctx, j.client)
	connector, err := client.Connector.Query().Where(entconnector.ID(connectorID)).Select(entconnector.FieldName).Only(ctx)
	if err != nil {
		return 0, apierr.Wrap("read the connector", err)
	}
	err = client.SyncItem.Update().Where(syncitem.ConnectorID(connectorID), syncitem.HoldEQ(syncitem.HoldQuarantined)).
		SetHold(syncitem.HoldDismissed).Exec(ctx)
	if err != nil {
		return 0, apierr.Wrap("dismiss a deletion", err)
	}
	if _, err := client.ExecContext(ctx, "delete from quarantines where connector_id = $1", connectorID); err != nil {
		return 0, apierr.Wrap("dismiss a deletion", err)
	}
	err = audit.Record(ctx, audit.ClientExec(client), audit.Event{
		Action: "deletion.dismiss", TargetKind: "connector", TargetID: connectorID, TargetName: connector.Name,
		Changes: []audit.Change{{Field: "documents", New: pending.Documents}},
	})
	return pending.Documents, apierr.Wrap("record a dismissed deletion", err)
}
