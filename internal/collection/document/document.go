package document

import (
	"context"
	"maps"
	"strings"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entconnector "github.com/magpie-search/magpie/ent/connector"
	entdocument "github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A Summarizer shortens a text (chat/summary.Summarizer).
type Summarizer interface {
	Summarize(ctx context.Context, title, text string) (string, error)
}

// Options are the parts that Documents needs.
type Options struct {
	Ent        *ent.Client
	Index      *index.Store
	Summaries  Summarizer
	Principals *principal.Store
}

// Documents manages the documents that the viewer in the context may read. Its
// methods join the transaction of the context. Their errors are apierr.
type Documents struct{ o Options }

// New returns a Documents.
func New(o Options) *Documents { return &Documents{o} }

func (d *Documents) client(ctx context.Context) *ent.Client {
	return transaction.Client(ctx, d.o.Ent)
}

// Get returns a document that is not deleted. If connector is not nil, the
// document must be one of that connector.
func (d *Documents) Get(ctx context.Context, id uuid.UUID, connector *uuid.UUID) (*ent.Document, error) {
	query := d.client(ctx).Document.Query().Where(entdocument.ID(id), entdocument.StatusNEQ(entdocument.StatusDeleted))
	if connector != nil {
		query.Where(entdocument.ConnectorID(*connector))
	}
	row, err := query.Only(ctx)
	return row, lookup.Error("Document", err)
}

// Find returns a document, deleted or not.
func (d *Documents) Find(ctx context.Context, id uuid.UUID) (*ent.Document, error) {
	row, err := d.client(ctx).Document.Get(ctx, id)
	return row, lookup.Error("Document", err)
}

// Filter selects documents. Its zero value selects all that are not deleted.
type Filter struct {
	Collection, Connector *uuid.UUID
	Status                []entdocument.Status // empty: all but deleted
	Text                  string               // part of the title or path, ignoring case
	Restricted            *bool                // restricted by hand, or not
}

// Query returns a query for the documents that f selects.
func (d *Documents) Query(ctx context.Context, f Filter) *ent.DocumentQuery {
	query := d.client(ctx).Document.Query()
	if f.Collection != nil {
		query.Where(entdocument.CollectionID(*f.Collection))
	}
	if f.Connector != nil {
		query.Where(entdocument.ConnectorID(*f.Connector))
	}
	if len(f.Status) > 0 {
		query.Where(entdocument.StatusIn(f.Status...))
	} else {
		query.Where(entdocument.StatusNEQ(entdocument.StatusDeleted))
	}
	if f.Restricted != nil {
		query.Where(entdocument.Restricted(*f.Restricted))
	}
	if text := strings.TrimSpace(f.Text); text != "" {
		query.Where(entdocument.Or(entdocument.TitleContainsFold(text), entdocument.PathContainsFold(text)))
	}
	return query
}

// Quarantined returns a query for the documents of a connector whose deletion
// waits for approval.
func (d *Documents) Quarantined(ctx context.Context, connector uuid.UUID, text string) (*ent.DocumentQuery, error) {
	if err := d.connectorExists(ctx, connector); err != nil {
		return nil, err
	}
	return d.Query(ctx, Filter{Connector: &connector, Text: text}).Where(quarantined(connector)), nil
}

func quarantined(connector uuid.UUID) predicate.Document {
	return func(s *sql.Selector) {
		item := sql.Table(syncitem.Table)
		s.Where(sql.In(s.C(entdocument.FieldID), sql.Select(item.C(syncitem.FieldDocumentID)).From(item).Where(sql.And(
			sql.EQ(item.C(syncitem.FieldConnectorID), connector), sql.EQ(item.C(syncitem.FieldHold), syncitem.HoldQuarantined)))))
	}
}

// Metadata returns the metadata of a document. The keys author, url and pages are
// always present, with the value nil if unknown.
func Metadata(row *ent.Document) map[string]any {
	m := maps.Clone(row.Metadata)
	if m == nil {
		m = map[string]any{}
	}
	m["author"], m["url"], m["pages"] = orNil(row.Author), orNil(row.URL), orNil(row.Pages)
	return m
}

func orNil[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// Summary returns a new summary of a document that has none yet, and stores it.
// The summary of a document without text is empty.
func (d *Documents) Summary(ctx context.Context, row *ent.Document) (string, error) {
	scope, err := scopeOf(ctx, row)
	if err != nil {
		return "", err
	}
	text, err := d.o.Index.Content(ctx, scope, row.ID)
	if err != nil || text == "" {
		return "", err
	}
	summary, err := d.o.Summaries.Summarize(ctx, row.Title, text)
	if err != nil {
		return "", err
	}
	return summary, d.o.Index.SetSummary(ctx, scope, row.ID, summary)
}

// Visibility explains whether a user, named by email address, may read a document.
func (d *Documents) Visibility(ctx context.Context, id uuid.UUID, user string) (principal.Visibility, error) {
	email, err := authn.CleanEmail(user)
	if err != nil {
		return principal.Visibility{}, apierr.Invalid("user", "must be an email address")
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return principal.Visibility{}, err
	}
	return d.o.Principals.Explain(ctx, scope, id, email)
}

// scopeOf returns the viewer's scope, narrowed to the collection of a document.
func scopeOf(ctx context.Context, row *ent.Document) (viewer.Scope, error) {
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return viewer.Scope{}, err
	}
	return scope.Narrow(row.CollectionID)
}

func (d *Documents) connectorExists(ctx context.Context, id uuid.UUID) error {
	return lookup.Exists(ctx, "Connector", d.client(ctx).Connector.Query().Where(entconnector.ID(id)))
}
