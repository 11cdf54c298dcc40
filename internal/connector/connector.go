package connector

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	entconnector "github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/connector/inbound"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
	"github.com/magpie-search/magpie/internal/connector/throttle"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Options are the parts that Connectors needs. Limiters may be nil.
type Options struct {
	Ent    *ent.Client
	Kinds  *connectors.Registry
	Vault  credential.Vault
	Grants *oauth.Grants
	Jobs   *syncjob.Jobs
	Files  *sourcefile.Files
	Inbox  *inbound.Inbox
	// Limiters limit the requests of connection tests. Nil means no limit.
	Limiters *throttle.Limiters
	// GroupsMaxAge is how long the groups of a source count after they were read.
	GroupsMaxAge time.Duration
	Now          func() time.Time
	Log          *slog.Logger
}

// Connectors manages the connectors that the viewer in the context may see. Its
// methods join the transaction of the context. Their errors are apierr.
type Connectors struct{ o Options }

// New returns a Connectors.
func New(o Options) *Connectors { return &Connectors{o} }

func (c *Connectors) client(ctx context.Context) *ent.Client {
	return transaction.Client(ctx, c.o.Ent)
}

// Get returns a connector.
func (c *Connectors) Get(ctx context.Context, id uuid.UUID) (*ent.Connector, error) {
	row, err := c.client(ctx).Connector.Get(ctx, id)
	return row, lookup.Error("Connector", err)
}

// Exists returns not_found if there is no such connector.
func (c *Connectors) Exists(ctx context.Context, id uuid.UUID) error {
	return lookup.Exists(ctx, "Connector", c.client(ctx).Connector.Query().Where(entconnector.ID(id)))
}

// Filter selects connectors. Its zero value selects all.
type Filter struct {
	Collection *uuid.UUID
	Status     []entconnector.Status
	Kind       *string // name or alias
	Text       string  // part of the name, ignoring case
}

// Query returns a query for the connectors that f selects.
func (c *Connectors) Query(ctx context.Context, f Filter) (*ent.ConnectorQuery, error) {
	query := c.client(ctx).Connector.Query()
	if f.Collection != nil {
		query.Where(entconnector.CollectionID(*f.Collection))
	}
	if len(f.Status) > 0 {
		query.Where(entconnector.StatusIn(f.Status...))
	}
	if f.Kind != nil {
		kind, err := c.kind(*f.Kind)
		if err != nil {
			return nil, err
		}
		query.Where(entconnector.Type(kind.Name))
	}
	if text := strings.TrimSpace(f.Text); text != "" {
		query.Where(entconnector.NameContainsFold(text))
	}
	return query, nil
}

// kind returns the kind with a name or alias.
func (c *Connectors) kind(name string) (connectors.Kind, error) {
	kind, ok := c.o.Kinds.Lookup(name)
	if !ok {
		var names []string
		for _, k := range c.o.Kinds.Kinds() {
			names = append(names, k.Name)
		}
		return connectors.Kind{}, apierr.Invalid("type", "must be one of "+strings.Join(names, ", "))
	}
	return kind, nil
}

// Counts are numbers of documents by status.
type Counts map[document.Status]int

// DocumentCounts counts the documents of connectors, including documents that the
// viewer may not read. The viewer must have read the connectors.
func (c *Connectors) DocumentCounts(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Counts, error) {
	v, _ := viewer.From(ctx)
	if v.Workspace == uuid.Nil {
		return nil, apierr.New(apierr.Unauthorized, "Session required")
	}
	ctx = viewer.With(ctx, viewer.System(v.Workspace))
	var rows []struct {
		ConnectorID uuid.UUID       `json:"connector_id"`
		Status      document.Status `json:"status"`
		Count       int             `json:"count"`
	}
	err := c.client(ctx).Document.Query().Where(document.ConnectorIDIn(ids...)).
		GroupBy(document.FieldConnectorID, document.FieldStatus).Aggregate(ent.Count()).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	counts := make(map[uuid.UUID]Counts, len(ids))
	for _, row := range rows {
		if counts[row.ConnectorID] == nil {
			counts[row.ConnectorID] = Counts{}
		}
		counts[row.ConnectorID][row.Status] = row.Count
	}
	return counts, nil
}
