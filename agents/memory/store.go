package memory

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agent"
	"github.com/magpie-search/magpie/ent/agentmemory"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The bounds of memories.
const (
	MaxContent   = 4000 // characters of one
	MaxOwn       = 1000 // of an agent with one person
	MaxShared    = 1000 // of an agent that are everybody's
	MaxPerRun    = 10   // that a run makes
	MaxResults   = 100  // of a search
	maxQuery     = 4000 // characters
	maxBackfill  = 128  // memories that one search embeds anew
	embedTimeout = 5 * time.Second
)

// Options change what a store does.
type Options struct {
	Analyzer *analysis.Analyzer // nil: one of its own
	Now      func() time.Time   // nil: the system's clock
	Log      *slog.Logger       // nil: none; ids only
}

// Store keeps memories. It is safe for concurrent use and has no goroutines.
type Store struct {
	ent      *ent.Client
	models   *embed.Registry
	analyzer *analysis.Analyzer
	now      func() time.Time
	log      *slog.Logger

	mu    sync.Mutex
	base  float64 // of the default embedder, where it is known: see unrelated
	known bool
}

// NewStore returns the memories of a database, embedded by the default one of models.
func NewStore(client *ent.Client, models *embed.Registry, o Options) *Store {
	s := &Store{ent: client, models: models, analyzer: o.Analyzer, now: o.Now, log: o.Log}
	if s.analyzer == nil {
		s.analyzer = analysis.New()
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// stamp is the time as exact as the database keeps it.
func (s *Store) stamp() time.Time { return s.now().Truncate(time.Microsecond) }

// New is what a person wants an agent to keep.
type New struct {
	Kind       Kind // Fact when empty
	Content    string
	Importance *float64 // 0 to 1; 0.5 when nil
	// Shared makes it everybody's, which needs the role editor, or the person's
	// alone. Nil is everybody's for those who may, and the person's alone for others.
	Shared *bool
}

// Change is what is to be different about a memory; nil stays.
type Change struct {
	Kind       *Kind
	Content    *string
	Importance *float64
}

// Create stores a memory that a person wrote. It must not be called within a
// transaction: it waits for the embedder. An agent that is full is a conflict.
func (s *Store) Create(ctx context.Context, agentID uuid.UUID, in New) (*ent.AgentMemory, error) {
	if in.Kind == "" {
		in.Kind = Fact
	}
	importance := 0.5
	if in.Importance != nil {
		importance = *in.Importance
	}
	content, err := checked(&in.Kind, &in.Content, &importance)
	if err != nil {
		return nil, err
	}
	person, err := owner(ctx, in.Shared)
	if err != nil {
		return nil, err
	}
	if err := s.agent(ctx, agentID); err != nil {
		return nil, err
	}
	vector := s.vectorOf(ctx, content)
	var made *ent.AgentMemory
	err = s.locked(ctx, agentID, func(ctx context.Context, client *ent.Client) error {
		bucket := client.AgentMemory.Query().Where(agentmemory.AgentID(agentID), of(person))
		count, err := bucket.Count(ctx)
		if err != nil {
			return fmt.Errorf("count the memories: %w", err)
		}
		if count >= room(person) {
			return apierr.New(apierr.Conflict, fmt.Sprintf("The agent keeps %d memories, which is the most; delete some first", count))
		}
		made, err = s.create(client, agentID, person, Note{in.Kind, content, importance}, vector).Save(ctx)
		if err != nil {
			return fmt.Errorf("store the memory: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return made.Unwrap(), nil
}

// owner is whose a new memory is to be: nil for everybody's.
func owner(ctx context.Context, shared *bool) (*uuid.UUID, error) {
	v, ok := viewer.From(ctx)
	if !ok {
		return nil, apierr.New(apierr.Unauthorized, "Session required")
	}
	editor := v.Role.AtLeast(viewer.RoleEditor)
	switch {
	case v.Kind == viewer.KindSystem && shared != nil && !*shared:
		return nil, apierr.Invalid("shared", "must be true where nobody is signed in")
	case v.Kind == viewer.KindSystem:
		return nil, nil //nolint:nilnil // nobody's is an answer
	case v.Kind != viewer.KindSession:
		return nil, apierr.New(apierr.Forbidden, "Only signed-in people write memories")
	case shared != nil && *shared && !editor:
		return nil, apierr.New(apierr.Forbidden, "Your role does not allow memories for everybody; it needs the role editor")
	case shared == nil && editor, shared != nil && *shared:
		return nil, nil //nolint:nilnil // nobody's is an answer
	default:
		return &v.Subject, nil
	}
}

// room is how many memories there may be of one person, or of everybody.
func room(person *uuid.UUID) int {
	if person == nil {
		return MaxShared
	}
	return MaxOwn
}

func (s *Store) create(client *ent.Client, agentID uuid.UUID, person *uuid.UUID, n Note, v vector) *ent.AgentMemoryCreate {
	at := s.stamp()
	return client.AgentMemory.Create().SetAgentID(agentID).SetNillablePersonID(person).
		SetKind(agentmemory.Kind(n.Kind)).SetContent(n.Content).SetImportance(n.Importance).
		SetEmbedding(v.bytes).SetEmbeddingModel(v.model).SetCreatedAt(at).SetUpdatedAt(at)
}

// Get reads a memory; one of another agent than named, unless that is
// uuid.Nil, is not found.
func (s *Store) Get(ctx context.Context, agentID, id uuid.UUID) (*ent.AgentMemory, error) {
	row, err := s.ent.AgentMemory.Get(ctx, id)
	switch {
	case ent.IsNotFound(err), err == nil && agentID != uuid.Nil && row.AgentID != agentID:
		return nil, apierr.NotFound("Memory")
	case err != nil:
		return nil, fmt.Errorf("read the memory: %w", err)
	}
	return row, nil
}

// Update changes what is given of a memory. It must not be called within a
// transaction: it waits for the embedder.
func (s *Store) Update(ctx context.Context, agentID, id uuid.UUID, c Change) (*ent.AgentMemory, error) {
	row, err := s.writable(ctx, agentID, id)
	if err != nil {
		return nil, err
	}
	content, err := checked(c.Kind, c.Content, c.Importance)
	if err != nil {
		return nil, err
	}
	update := s.ent.AgentMemory.UpdateOneID(id).SetUpdatedAt(s.stamp())
	if c.Kind != nil {
		update.SetKind(agentmemory.Kind(*c.Kind))
	}
	if c.Importance != nil {
		update.SetImportance(*c.Importance)
	}
	if c.Content != nil && content != row.Content {
		v := s.vectorOf(ctx, content)
		update.SetContent(content).SetEmbedding(v.bytes).SetEmbeddingModel(v.model)
	}
	changed, err := update.Save(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil, apierr.NotFound("Memory")
	case err != nil:
		return nil, fmt.Errorf("store the memory: %w", err)
	}
	return changed, nil
}

// Delete ends a memory.
func (s *Store) Delete(ctx context.Context, agentID, id uuid.UUID) error {
	if _, err := s.writable(ctx, agentID, id); err != nil {
		return err
	}
	switch err := s.ent.AgentMemory.DeleteOneID(id).Exec(ctx); {
	case ent.IsNotFound(err):
		return apierr.NotFound("Memory")
	case err != nil:
		return fmt.Errorf("delete the memory: %w", err)
	}
	return nil
}

// writable reads a memory that the viewer may change. One that they may only
// read is forbidden; the policy would say that it is not there.
func (s *Store) writable(ctx context.Context, agentID, id uuid.UUID) (*ent.AgentMemory, error) {
	row, err := s.Get(ctx, agentID, id)
	if err != nil {
		return nil, err
	}
	if v, ok := viewer.From(ctx); row.PersonID == nil && (!ok || !v.Role.AtLeast(viewer.RoleEditor)) {
		return nil, apierr.New(apierr.Forbidden, "Your role does not allow changing everybody's memories; it needs the role editor")
	}
	return row, nil
}

// agent makes sure that the viewer can see an agent.
func (s *Store) agent(ctx context.Context, id uuid.UUID) error {
	exists, err := s.ent.Agent.Query().Where(agent.ID(id)).Exist(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("look the agent up: %w", err)
	case !exists:
		return apierr.NotFound("Agent")
	}
	return nil
}

// locked does something to the memories of an agent that nobody else adds to
// meanwhile, in a transaction of its own. Runs and conversations may begin.
func (s *Store) locked(ctx context.Context, agentID uuid.UUID, do func(context.Context, *ent.Client) error) error {
	tx, err := s.ent.Tx(ctx)
	if err != nil {
		return fmt.Errorf("change the memories: %w", err)
	}
	client := tx.Client()
	_, err = client.Agent.Query().Where(agent.ID(agentID)).ForUpdate(entsql.WithLockClause("FOR NO KEY UPDATE")).OnlyID(ctx)
	switch {
	case ent.IsNotFound(err):
		err = apierr.NotFound("Agent")
	case err != nil:
		err = fmt.Errorf("lock the agent: %w", err)
	default:
		err = do(ctx, client)
	}
	if err != nil {
		_ = tx.Rollback() // the first error says more
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("change the memories: %w", err)
	}
	return nil
}

// checked looks at what is given of a memory and returns its text without the
// blanks around it.
func checked(kind *Kind, content *string, importance *float64) (text string, err error) {
	if kind != nil {
		if err := agentmemory.KindValidator(agentmemory.Kind(*kind)); err != nil {
			return "", apierr.Invalid("kind", "must be one of fact, preference, insight, procedure")
		}
	}
	if importance != nil && !(*importance >= 0 && *importance <= 1) { // NaN, too
		return "", apierr.Invalid("importance", "must be between 0 and 1")
	}
	if content == nil {
		return "", nil
	}
	text = strings.TrimSpace(*content)
	switch {
	case text == "":
		return "", apierr.Invalid("content", "must not be blank")
	case utf8.RuneCountInString(text) > MaxContent:
		return "", apierr.Invalid("content", fmt.Sprintf("must have at most %d characters", MaxContent))
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", apierr.Invalid("content", "must be text without NUL characters")
	}
	return text, nil
}

// clamped is an importance that a model gave.
func clamped(importance float64) float64 {
	if math.IsNaN(importance) {
		return 0.5
	}
	return min(max(importance, 0), 1)
}
