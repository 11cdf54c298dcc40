// Package transcript stores the transcripts of meetings as documents that their attendees
// can find. The documents belong to a connector of the type "meetings", which is made in the
// collection with the first transcript. No sync touches it; who deletes it deletes the
// transcripts.
//
// Allowed imports: ent, internal/event, internal/index, internal/ingest, internal/model/embed,
// internal/safetext, internal/viewer.
package transcript

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ConnectorType is the type of the connectors that own transcripts.
const ConnectorType = "meetings"

// An Index stores documents. index.Store implements it.
type Index interface {
	Put(ctx context.Context, scope viewer.Scope, f index.Fence, r *index.Record) (index.Outcome, error)
}

// Options of a Store.
type Options struct {
	Ent    *ent.Client
	Index  Index
	Parser *parse.Parser
	Models *embed.Registry
	Ingest ingest.Options
	Now    func() time.Time
}

// A Store stores transcripts. It is safe for concurrent use.
type Store struct{ opt Options }

// New returns a Store.
func New(o Options) *Store { return &Store{o} }

// Store stores a transcript in the collection of an integration. It replaces the one of the
// same meeting. Its readers are the attendees whose addresses are known: nobody else finds
// it, and nobody at all if there are none. The viewer of ctx is Magpie itself in the workspace.
func (s *Store) Store(ctx context.Context, row *ent.InboundIntegration, m *event.Meeting, t event.Transcript) (uuid.UUID, error) {
	text, _ := row.Config[event.CollectionOption].(string)
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, event.Refuse("the collection of the integration is malformed")
	}
	c, err := s.opt.Ent.Collection.Get(ctx, id)
	if ent.IsNotFound(err) {
		return uuid.Nil, event.Refuse("the collection of the integration does not exist any more")
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("read a collection: %w", err)
	}
	owner, err := s.connector(ctx, c)
	if err != nil {
		return uuid.Nil, err
	}
	embedder, ok := s.opt.Models.Lookup(c.EmbeddingModel)
	if next := c.NextEmbeddingModel; !ok && next != nil {
		embedder, ok = s.opt.Models.Lookup(*next)
	}
	if !ok {
		return uuid.Nil, event.Refuse("the embedding model %s of the collection is not set up here", c.EmbeddingModel)
	}
	topic := title(m, t)
	name := path(row, m, t, topic)
	content := []byte(render(topic, t))
	result, err := ingest.New(s.opt.Parser, embedder, s.opt.Ingest).Process(ctx, parse.Input{Name: name, MediaType: "text/markdown", URL: m.URL, Title: topic, Content: content})
	if err != nil {
		return uuid.Nil, fmt.Errorf("read a transcript: %w", err)
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return uuid.Nil, fmt.Errorf("store a transcript: %w", err)
	}
	record := &index.Record{
		Connector: owner, Collection: c.ID, SourceID: sourceID(row, m), Path: name, Title: topic, URL: m.URL, DocType: "transcript",
		Language: result.Document.Language, Author: m.Organizer.Email, Readers: readers(t), ReadersAt: s.opt.Now(),
		CreatedAt: t.Start, UpdatedAt: t.Start, ProcessedAt: s.opt.Now(), Bytes: int64(len(content)), Hash: result.Hash[:], Text: result.Text,
		Passages: result.Passages, Vectors: result.Vectors, Model: embedder.Model(), Tags: []string{"meeting"},
		Metadata: map[string]any{"meeting_provider": row.Provider, "meeting_id": m.ID},
	}
	outcome, err := s.opt.Index.Put(ctx, scope, index.Fence{}, record)
	if err != nil {
		return uuid.Nil, fmt.Errorf("store a transcript: %w", err)
	}
	return outcome.Document, nil
}

// connector returns the connector of a collection that owns its transcripts.
func (s *Store) connector(ctx context.Context, c *ent.Collection) (uuid.UUID, error) {
	oldest := func() (uuid.UUID, error) {
		return s.opt.Ent.Connector.Query().Where(connector.Type(ConnectorType), connector.CollectionID(c.ID)).
			Order(connector.ByCreatedAt(), connector.ByID()).FirstID(ctx)
	}
	id, err := oldest()
	if err == nil || !ent.IsNotFound(err) {
		return id, wrap(err)
	}
	made, err := s.opt.Ent.Connector.Create().SetName("Meetings").SetType(ConnectorType).SetCollectionID(c.ID).SetEnabled(false).
		SetStatus(connector.StatusPaused).SetConfig(map[string]any{"include_permissions": true}).Save(ctx)
	if err != nil {
		return uuid.Nil, wrap(err)
	}
	if id, err = oldest(); err != nil {
		return uuid.Nil, wrap(err)
	}
	if id != made.ID { // another worker was first
		err = s.opt.Ent.Connector.DeleteOne(made).Exec(ctx)
	}
	return id, wrap(err)
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("find the connector of transcripts: %w", err)
}

// maxSourceID is the maximum length of the id of a meeting in the id of its document.
const maxSourceID = 800

func sourceID(row *ent.InboundIntegration, m *event.Meeting) string {
	id := m.ID
	if m.Transcript != nil {
		id = m.Transcript.ID
	}
	return row.Provider + "/" + row.ID.String() + "/" + safetext.TruncateBytes(id, maxSourceID)
}

func title(m *event.Meeting, t event.Transcript) string {
	for _, text := range []string{t.Topic, m.Topic} {
		if text = safetext.Truncate(safetext.Line(text), 200); text != "" {
			return text
		}
	}
	return "Meeting"
}

// path returns the path of a document: the provider, the day and the topic.
func path(row *ent.InboundIntegration, m *event.Meeting, t event.Transcript, topic string) string {
	at := t.Start
	if at.IsZero() {
		at = m.Start
	}
	day := "undated"
	if !at.IsZero() {
		day = at.UTC().Format(time.DateOnly)
	}
	return row.Provider + "/" + day + "/" + strings.ReplaceAll(topic, "/", "-") + ".md"
}

// render returns the document of a transcript.
func render(topic string, t event.Transcript) string {
	var b strings.Builder
	b.WriteString("# " + topic + "\n\n")
	if !t.Start.IsZero() {
		b.WriteString("Held on " + t.Start.UTC().Format("2006-01-02 15:04 UTC") + ".\n\n")
	}
	var names []string
	for _, a := range t.Attendees {
		if a.Name != "" {
			names = append(names, a.Name)
		} else {
			names = append(names, a.Email)
		}
	}
	if len(names) > 0 {
		b.WriteString("Attendees: " + strings.Join(names, ", ") + "\n\n")
	}
	b.WriteString("## Transcript\n\n" + t.Markdown + "\n")
	return b.String()
}

// readers returns the principals of the attendees.
func readers(t event.Transcript) []string {
	out := []string{}
	for _, a := range t.Attendees {
		if email := strings.ToLower(strings.TrimSpace(a.Email)); strings.Contains(email, "@") && !slices.Contains(out, "user:"+email) {
			out = append(out, "user:"+email)
		}
	}
	return out
}
