package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ConnectorType is the type of the connectors that own the documents of automations.
const ConnectorType = "automations"

// Index stores documents; index.Store implements it.
type Index interface {
	Put(ctx context.Context, scope viewer.Scope, f index.Fence, r *index.Record) (index.Outcome, error)
}

// Document stores answers as documents of a collection. The answer of a replay replaces
// that of the first run. The documents belong to a paused
// connector of the type "automations", which is made with the first one; who deletes it
// deletes them.
type Document struct {
	Ent    *ent.Client
	Index  Index
	Parser *parse.Parser
	Models *embed.Registry
	Now    func() time.Time
}

var _ automation.Deliverer = Document{}

// Repeatable returns true: a document with the same key replaces itself.
func (Document) Repeatable() bool { return true }

// Target returns the name of the collection.
func (d Document) Target(ctx context.Context, j automation.Job) (string, error) {
	c, err := d.collection(ctx, j)
	if err != nil {
		return "", err
	}
	return c.Name, nil
}

func (d Document) collection(ctx context.Context, j automation.Job) (*ent.Collection, error) {
	if j.Delivery.Collection == nil {
		return nil, &automation.NotSent{Reason: "the delivery names no collection"}
	}
	c, err := d.Ent.Collection.Get(ctx, *j.Delivery.Collection)
	if ent.IsNotFound(err) {
		return nil, &automation.NotSent{Reason: "the collection does not exist any more"}
	}
	if err != nil {
		return nil, &automation.NotSent{Reason: "the collection could not be read", Later: true, Cause: err}
	}
	return c, nil
}

// Deliver stores the document. The viewer of ctx is Magpie itself in the workspace.
func (d Document) Deliver(ctx context.Context, j automation.Job) error {
	c, err := d.collection(ctx, j)
	if err != nil {
		return err
	}
	embedder, ok := d.Models.Lookup(c.EmbeddingModel)
	if next := c.NextEmbeddingModel; !ok && next != nil {
		embedder, ok = d.Models.Lookup(*next)
	}
	if !ok {
		return &automation.NotSent{Reason: "the embedding model of the collection is not set up here"}
	}
	owner, err := d.connector(ctx, c)
	if err != nil {
		return later(err)
	}
	title := safetext.Truncate(safetext.Line(j.Arguments.Title), 200)
	name := "automations/" + strings.ReplaceAll(title, "/", "-") + " " + j.First + ".md"
	content := []byte("# " + title + "\n\n" + j.Arguments.Text + "\n")
	result, err := ingest.New(d.Parser, embedder, ingest.Options{}).Process(ctx, parse.Input{Name: name, MediaType: "text/markdown", Title: title, Content: content})
	if err != nil {
		return later(err)
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return later(err)
	}
	now := d.Now()
	record := &index.Record{
		Connector: owner, Collection: c.ID, SourceID: j.First, Path: name, Title: title, DocType: automation.DocType, Language: result.Document.Language,
		CreatedAt: now, UpdatedAt: now, ProcessedAt: now, Bytes: int64(len(content)), Hash: result.Hash[:], Text: result.Text, Passages: result.Passages,
		Vectors: result.Vectors, Model: embedder.Model(), Tags: []string{"automation"}, Metadata: map[string]any{"automation_id": j.Automation.ID.String()},
	}
	if len(j.Delivery.Readers) > 0 {
		record.Readers, record.ReadersAt = readers(j), now
	}
	if _, err := d.Index.Put(ctx, scope, index.Fence{}, record); err != nil {
		return later(err)
	}
	return nil
}

// later is the error of a document that was not stored, or was and may be again.
func later(err error) error {
	if errors.Is(err, index.ErrRecord) {
		return &automation.NotSent{Reason: "the document cannot be stored", Cause: err}
	}
	return &automation.NotSent{Reason: "the document could not be stored", Later: true, Cause: err}
}

// readers returns the principals of those who may find the document.
func readers(j automation.Job) []string {
	out := []string{}
	add := func(email string) {
		if email = strings.ToLower(strings.TrimSpace(email)); strings.Contains(email, "@") && !slices.Contains(out, "user:"+email) {
			out = append(out, "user:"+email)
		}
	}
	for _, entry := range j.Delivery.Readers {
		if entry != automation.Attendees {
			add(entry)
			continue
		}
		for _, email := range j.Occurrence.Attendees {
			add(email)
		}
	}
	return out
}

// connector returns the connector of a collection that owns the documents of automations.
func (d Document) connector(ctx context.Context, c *ent.Collection) (uuid.UUID, error) {
	oldest := func() (uuid.UUID, error) {
		return d.Ent.Connector.Query().Where(connector.Type(ConnectorType), connector.CollectionID(c.ID)).
			Order(connector.ByCreatedAt(), connector.ByID()).FirstID(ctx)
	}
	id, err := oldest()
	if err == nil {
		return id, nil
	}
	if !ent.IsNotFound(err) {
		return id, fmt.Errorf("find the connector of automations: %w", err)
	}
	made, err := d.Ent.Connector.Create().SetName("Automations").SetType(ConnectorType).SetCollectionID(c.ID).SetEnabled(false).
		SetStatus(connector.StatusPaused).SetConfig(map[string]any{"include_permissions": true, "permission_mode": "permissive"}).Save(ctx)
	if err == nil {
		id, err = oldest()
	}
	if err == nil && id != made.ID { // another worker was first
		err = d.Ent.Connector.DeleteOne(made).Exec(ctx)
	}
	if err != nil {
		return id, fmt.Errorf("make the connector of automations: %w", err)
	}
	return id, nil
}
