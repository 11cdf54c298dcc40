package whynot

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entdocument "github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A Searcher finds the standing of documents in searches (search.Engine).
type Searcher interface {
	Standing(ctx context.Context, scope viewer.Scope, q search.Query, document, collection uuid.UUID) (*search.Standing, error)
}

// Options are the parts that an Explainer needs.
type Options struct {
	Ent        *ent.Client
	Search     Searcher
	Principals *principal.Store
}

// An Explainer says why documents are not found.
type Explainer struct{ o Options }

// New returns an Explainer.
func New(o Options) *Explainer { return &Explainer{o} }

// A Request is a search and a document that it may not find.
type Request struct {
	Query search.Query
	// Document is the document's id, URL, path, id in the source or title.
	Document string
	// User is the email address of the person who searches; empty for the caller.
	User string
}

// An Answer says why a document is not among the results.
type Answer struct {
	Document    uuid.UUID // zero if there is no document, or only a ledger entry
	Collection  uuid.UUID // of the document
	Title       string    // empty for a document that the caller may not read
	Reason      Reason
	Explanation string // a sentence on the reason
	Change      string // a sentence on what would have to change
	// Item is the document's ledger entry; nil if there is none that the caller may see.
	Item *ent.SyncItem
	// Visibility says why the person may not read the document, for administrators who ask
	// for a person with an address; else nil.
	Visibility *principal.Visibility
	// Standing is the document's in the search; nil if an earlier reason ends the check.
	Standing *search.Standing
}

// Explain says why a document is not among the results of a search. Callers who are no
// administrators learn nothing of documents that they may not read: for them there is no
// such document. Administrators may ask for another person. An administrator who may not
// read the document learns only whether the person may. Errors are apierr errors for a
// request that is not valid.
func (x *Explainer) Explain(ctx context.Context, scope viewer.Scope, r Request) (*Answer, error) {
	v, ok := viewer.From(ctx)
	if !ok {
		return nil, viewer.ErrNoViewer
	}
	admin := v.Role.AtLeast(viewer.RoleAdmin)
	person, email := ctx, v.ReaderEmail()
	if r.User != "" {
		var err error
		if email, err = authn.CleanEmail(r.User); err != nil {
			return nil, apierr.Invalid("asUser", "must be an email address")
		}
		if !admin {
			return nil, apierr.New(apierr.Forbidden, "Your role does not allow this; asking for another person needs the role admin")
		}
		person = x.as(ctx, v, email)
	}
	if err := r.Query.Validate(); err != nil {
		return nil, err
	}
	lookup := ctx
	if admin {
		lookup = viewer.With(ctx, viewer.System(v.Workspace))
	}
	a := &Answer{}
	d, err := x.find(lookup, a, r.Document, r.Query.Collection)
	if err != nil {
		return nil, apierr.Wrap("look the document up", err)
	}
	if d == nil && a.Item == nil {
		a.noSuchDocument()
		return a, nil
	}
	readable := a.Item != nil
	if d != nil {
		a.Document, a.Collection = d.ID, d.CollectionID
		if readable, err = x.client(ctx).Document.Query().Where(entdocument.ID(d.ID)).Exist(ctx); err != nil {
			return nil, fmt.Errorf("check the caller's access: %w", err)
		}
	}
	if d != nil && readable {
		a.Title = d.Title
	}
	if !a.indexed(d, a.Item) {
		return a, nil
	}
	return a, x.inSearch(person, scope, a, &r, d, email, admin, readable)
}

// as returns a context in which a person with an address is the viewer.
func (x *Explainer) as(ctx context.Context, v viewer.Viewer, email string) context.Context {
	ctx = viewer.WithPrincipals(ctx, x.o.Principals)
	return viewer.With(ctx, viewer.Viewer{
		Workspace: v.Workspace, Kind: viewer.KindSession, Surface: v.Surface, Role: viewer.RoleViewer,
		AllCollections: v.AllCollections, Collections: v.Collections, Email: email, Verified: true,
	})
}

// inSearch completes the answer for an indexed document. The context has the person as
// viewer.
func (x *Explainer) inSearch(ctx context.Context, scope viewer.Scope, a *Answer, r *Request, d *ent.Document, email string, admin, readable bool) error {
	s, err := x.o.Search.Standing(ctx, scope, r.Query, d.ID, d.CollectionID)
	if err != nil {
		return err
	}
	switch {
	case !s.Searched:
		a.conclude(OutsideCollections, "The search does not include the document's collection.", "Search its collection, or all collections.")
		return nil
	case !s.Readable:
		a.conclude(NotReadable, "The person may not read the document.", "Give the person access at the source.")
		if !admin || email == "" {
			return nil
		}
		visibility, err := x.o.Principals.Explain(ctx, scope, d.ID, email)
		if err != nil {
			return fmt.Errorf("explain the visibility: %w", err)
		}
		if a.Visibility = &visibility; visibility.Visible {
			a.conclude(NotIndexed, "The document is not in the index at the moment.", "Try again in a moment.")
		} else {
			a.Explanation = visibility.Explanation
			if visibility.Rule == principal.RuleRestricted {
				a.Change = "Name the person in the restriction of the document, or end it."
			}
		}
		return nil
	case !readable:
		a.conclude(Hidden, "The person may read the document, but you may not, so that nothing of its text is compared with the query.",
			"Ask a person who may read it.")
		return nil
	}
	a.Standing = s
	a.judge(s, &r.Query)
	return nil
}

// find returns the document that a text names, and sets its ledger entry. Both are nil if
// there is neither. Of several documents with the same path or title, those of the
// collection, if it is not nil, count alone.
func (x *Explainer) find(ctx context.Context, a *Answer, text string, collection *uuid.UUID) (*ent.Document, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, apierr.Invalid("document", "must not be blank")
	}
	d, err := x.findDocument(ctx, text, collection)
	if err != nil {
		return nil, err
	}
	query := x.client(ctx).SyncItem.Query()
	switch id, err := uuid.Parse(text); {
	case d != nil:
		query.Where(syncitem.ConnectorID(d.ConnectorID), syncitem.SourceID(d.SourceID))
	case err == nil:
		query.Where(syncitem.Or(syncitem.ID(id), syncitem.DocumentID(id)))
	default:
		query.Where(syncitem.Or(syncitem.Path(text), syncitem.SourceID(text)))
	}
	a.Item, err = query.Order(ent.Desc(syncitem.FieldUpdatedAt)).First(ctx)
	if ent.IsNotFound(err) {
		a.Item, err = nil, nil
	}
	return d, err
}

// findDocument returns the document that a text names, nil for none.
func (x *Explainer) findDocument(ctx context.Context, text string, collection *uuid.UUID) (*ent.Document, error) {
	documents := func() *ent.DocumentQuery { return x.client(ctx).Document.Query() }
	if id, err := uuid.Parse(text); err == nil {
		return one(documents().Where(entdocument.ID(id)).All(ctx))
	}
	for _, named := range []*ent.DocumentQuery{
		documents().Where(entdocument.Or(entdocument.URL(text), entdocument.Path(text), entdocument.SourceID(text))),
		documents().Where(entdocument.TitleEqualFold(text)),
	} {
		if collection != nil {
			if d, err := one(named.Clone().Where(entdocument.CollectionID(*collection)).Limit(maxNamesakes).All(ctx)); d != nil || err != nil {
				return d, err
			}
		}
		if d, err := one(named.Limit(maxNamesakes).All(ctx)); d != nil || err != nil {
			return d, err
		}
	}
	return nil, nil //nolint:nilnil // there may be only a ledger entry
}

// maxNamesakes bounds the documents with the same name that are read.
const maxNamesakes = 100

// one returns the only row that is not deleted, or else the only one; nil if there is none.
func one(rows []*ent.Document, err error) (*ent.Document, error) {
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var live []*ent.Document
	for _, d := range rows {
		if d.Status != entdocument.StatusDeleted && d.DeletedAt == nil {
			live = append(live, d)
		}
	}
	switch {
	case len(live) == 1:
		return live[0], nil
	case len(live) == 0 && len(rows) == 1:
		return rows[0], nil
	default:
		return nil, apierr.Invalid("document", "names several documents; give the id of one")
	}
}

func (x *Explainer) client(ctx context.Context) *ent.Client {
	return transaction.Client(ctx, x.o.Ent)
}
