package collection

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/apikey"
	entcollection "github.com/magpie-search/magpie/ent/collection"
	entconnector "github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/connector"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/patch"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Options are the parts that Collections needs.
type Options struct {
	Ent        *ent.Client
	Models     *embed.Registry
	Index      *index.Store
	Connectors *connector.Connectors
	Attempts   Attempts
	// Probe finds out whether a model works; embed.Probe when nil.
	Probe func(context.Context, embed.Embedder) error
	// QuoteServices shows what the service of a model said when it failed.
	QuoteServices bool
	Now           func() time.Time
}

// Collections manages the collections that the viewer in the context may see. Its
// methods join the transaction of the context. Their errors are apierr.
type Collections struct{ o Options }

// New returns a Collections.
func New(o Options) *Collections {
	if o.Probe == nil {
		o.Probe = embed.Probe
	}
	return &Collections{o}
}

func (c *Collections) client(ctx context.Context) *ent.Client {
	return transaction.Client(ctx, c.o.Ent)
}

// Get returns a collection.
func (c *Collections) Get(ctx context.Context, id uuid.UUID) (*ent.Collection, error) {
	row, err := c.client(ctx).Collection.Get(ctx, id)
	return row, lookup.Error("Collection", err)
}

// Exists returns not_found if there is no such collection.
func (c *Collections) Exists(ctx context.Context, id uuid.UUID) error {
	return lookup.Exists(ctx, "Collection", c.client(ctx).Collection.Query().Where(entcollection.ID(id)))
}

// Query returns a query for the collections whose name or description contains
// text, ignoring case.
func (c *Collections) Query(ctx context.Context, text string) *ent.CollectionQuery {
	query := c.client(ctx).Collection.Query()
	if text = strings.TrimSpace(text); text != "" {
		query.Where(entcollection.Or(entcollection.NameContainsFold(text), entcollection.DescriptionContainsFold(text)))
	}
	return query
}

// A Draft describes a collection to create.
type Draft struct {
	Name           string
	Description    *string
	EmbeddingModel string // empty for the default model
}

// Create stores an empty collection.
func (c *Collections) Create(ctx context.Context, d Draft) (*ent.Collection, error) {
	name, err := check.Name("name", d.Name)
	if err != nil {
		return nil, err
	}
	if err := check.Description("description", d.Description); err != nil {
		return nil, err
	}
	model := d.EmbeddingModel
	if model == "" {
		model = c.o.Models.Default().Model()
	} else if err := c.checkModel(model); err != nil {
		return nil, err
	}
	return c.client(ctx).Collection.Create().SetName(name).SetNillableDescription(d.Description).SetEmbeddingModel(model).Save(ctx)
}

// A Change describes what to change about a collection.
type Change struct {
	Name           patch.Field[string]
	Description    patch.Field[*string]
	EmbeddingModel patch.Field[string]
	SearchTier     patch.Field[entcollection.SearchTier]
}

// Update changes a collection. A new embedding model is called first, outside a
// transaction, and takes effect once worker/reembed has embedded the passages again.
func (c *Collections) Update(ctx context.Context, id uuid.UUID, change Change) (row *ent.Collection, err error) {
	if change.EmbeddingModel.Given {
		if err := c.probe(ctx, id, change.EmbeddingModel.Value); err != nil {
			return nil, err
		}
	}
	err = transaction.In(ctx, c.o.Ent, func(ctx context.Context, _ *ent.Client) error {
		row, err = c.update(ctx, id, change)
		return err
	})
	if err != nil {
		return nil, err
	}
	return transaction.Detach(ctx, row), nil
}

func (c *Collections) update(ctx context.Context, id uuid.UUID, change Change) (*ent.Collection, error) {
	update := c.client(ctx).Collection.UpdateOneID(id)
	if change.Name.Given {
		name, err := check.Name("name", change.Name.Value)
		if err != nil {
			return nil, err
		}
		update.SetName(name)
	}
	if err := check.Description("description", change.Description.Value); err != nil {
		return nil, err
	}
	patch.Apply(change.Description, update.SetDescription, update.ClearDescription)
	if change.EmbeddingModel.Given {
		if err := c.changeModel(ctx, update, id, change.EmbeddingModel.Value); err != nil {
			return nil, err
		}
	}
	if change.SearchTier.Given {
		update.SetSearchTier(change.SearchTier.Value)
	}
	row, err := update.Save(ctx)
	return row, lookup.Error("Collection", err)
}

// probe calls a model that a collection would change to, and refuses it if it does
// not work.
func (c *Collections) probe(ctx context.Context, id uuid.UUID, model string) error {
	row, err := c.Get(ctx, id)
	if err != nil {
		return err
	}
	if model == row.EmbeddingModel || row.NextEmbeddingModel != nil && model == *row.NextEmbeddingModel {
		return nil // nothing new
	}
	if err := c.checkModel(model); err != nil {
		return err
	}
	embedder, _ := c.o.Models.Lookup(model)
	err = c.o.Probe(ctx, embedder)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	refusal := apierr.Invalid("embeddingModel", fmt.Sprintf("the model %q does not work, so that nothing was changed. %s "+
		"Correct its settings or its service, and try again.", model, embed.Explain(err, c.o.QuoteServices)))
	refusal.Cause = err
	return refusal
}

// changeModel begins the change of a collection to a model. The collection's own
// model cancels a change that has begun.
func (c *Collections) changeModel(ctx context.Context, update *ent.CollectionUpdateOne, id uuid.UUID, model string) error {
	// The lock keeps a worker from completing the change meanwhile.
	row, err := c.client(ctx).Collection.Query().Where(entcollection.ID(id)).ForUpdate().Only(ctx)
	if err != nil {
		return lookup.Error("Collection", err)
	}
	if model == row.EmbeddingModel {
		update.ClearNextEmbeddingModel()
		return nil
	}
	if err := c.checkModel(model); err != nil {
		return err
	}
	update.SetNextEmbeddingModel(model)
	return nil
}

func (c *Collections) checkModel(name string) error {
	if _, known := c.o.Models.Lookup(name); !known {
		return apierr.Invalid("embeddingModel", "must be one of "+strings.Join(c.o.Models.Names(), ", "))
	}
	return nil
}

// Delete marks a collection and its connectors as deleted, which hides them and
// everything that belongs to them. worker/purge deletes the rows in slices.
func (c *Collections) Delete(ctx context.Context, id uuid.UUID) error {
	client := c.client(ctx)
	n, err := client.Collection.Update().Where(entcollection.ID(id)).SetDeletingAt(c.o.Now()).Save(ctx)
	if err != nil {
		return err
	}
	if n == 0 {
		return apierr.NotFound("Collection")
	}
	if err := c.o.Connectors.DeleteAll(ctx, id); err != nil {
		return err
	}
	// A person who may delete collections may lack the role to change keys.
	v, _ := viewer.From(ctx)
	return client.APIKey.Update().Where(apikey.DefaultCollection(id)).ClearDefaultCollection().
		Exec(viewer.With(ctx, viewer.System(v.Workspace)))
}

// Recount counts the documents and passages of a collection again and stores the
// result.
func (c *Collections) Recount(ctx context.Context, id uuid.UUID) error {
	if err := c.Exists(ctx, id); err != nil {
		return err
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return err
	}
	_, err = c.o.Index.Recount(ctx, scope, id)
	return err
}

// Sources are the connectors of a collection, the oldest first.
type Sources struct {
	Connectors []uuid.UUID
	LastSync   *time.Time // the latest of all connectors
}

// Sources returns the connectors of collections. Every id has an entry.
func (c *Collections) Sources(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Sources, error) {
	rows, err := c.client(ctx).Connector.Query().Where(entconnector.CollectionIDIn(ids...)).
		Order(entconnector.ByCreatedAt(), entconnector.ByID()).
		Select(entconnector.FieldID, entconnector.FieldCollectionID, entconnector.FieldLastSync).All(ctx)
	if err != nil {
		return nil, err
	}
	sources := make(map[uuid.UUID]Sources, len(ids))
	for _, id := range ids {
		sources[id] = Sources{Connectors: []uuid.UUID{}}
	}
	for _, row := range rows {
		s := sources[row.CollectionID]
		s.Connectors = append(s.Connectors, row.ID)
		if row.LastSync != nil && (s.LastSync == nil || row.LastSync.After(*s.LastSync)) {
			s.LastSync = row.LastSync
		}
		sources[row.CollectionID] = s
	}
	return sources, nil
}
