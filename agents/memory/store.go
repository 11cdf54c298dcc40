package memory

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agent"
	"github.com/magpie-search/magpie/ent/agentmemory"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Limits of memories.
const (
	MaxContent   = 4000 // characters of a memory
	MaxOwn       = 1000 // memories of an agent for one person
	MaxShared    = 1000 // shared memories of an agent
	MaxPerRun    = 10   // new memories of a run
	MaxResults   = 100  // of a search
	maxQuery     = 4000 // characters
	maxEmbedded  = 128  // outdated memories that one search embeds
	embedTimeout = 5 * time.Second
)

// Options configure a Store.
type Options struct {
	Analyzer *analysis.Analyzer // nil makes one
	Now      func() time.Time   // nil: the system's clock
	Log      *slog.Logger       // nil discards; ids only
}

// Store manages memories. It is safe for concurrent use and has no goroutines.
type Store struct {
	ent      *ent.Client
	models   *embed.Registry
	analyzer *analysis.Analyzer
	now      func() time.Time
	log      *slog.Logger

	mu          sync.Mutex
	baseline    float64 // of the default embedder; see baselineSimilarity
	hasBaseline bool
}

// NewStore returns the memories of a database. The default embedder of models
// embeds them.
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

// timestamp returns the current time in the precision of the database.
func (s *Store) timestamp() time.Time { return s.now().Truncate(time.Microsecond) }

// Input describes a memory that a person writes.
type Input struct {
	Kind       Kind // Fact if empty
	Content    string
	Importance *float64 // 0 to 1; 0.5 if nil
	// Shared makes the memory visible to all, which needs the role editor, or
	// to its author only. If Shared is nil, memories of editors are shared and
	// those of others are not.
	Shared *bool
}

// Change holds the changes to a memory. Nil fields stay.
type Change struct {
	Kind       *Kind
	Content    *string
	Importance *float64
}

// Create stores a memory that a person wrote. It waits for the embedder, so it
// must not be called within a transaction. A full agent is a conflict.
func (s *Store) Create(ctx context.Context, agentID uuid.UUID, in Input) (*ent.AgentMemory, error) {
	if in.Kind == "" {
		in.Kind = Fact
	}
	importance := 0.5
	if in.Importance != nil {
		importance = *in.Importance
	}
	content, err := validate(&in.Kind, &in.Content, &importance)
	if err != nil {
		return nil, err
	}
	person, err := ownerOfNew(ctx, in.Shared)
	if err != nil {
		return nil, err
	}
	if err := s.checkAgent(ctx, agentID); err != nil {
		return nil, err
	}
	vector := s.embedMemory(ctx, content)
	var created *ent.AgentMemory
	err = s.withAgentLock(ctx, agentID, func(ctx context.Context, client *ent.Client) error {
		query := client.AgentMemory.Query().Where(agentmemory.AgentID(agentID), ownedBy(person))
		count, err := query.Count(ctx)
		if err != nil {
			return fmt.Errorf("count the memories: %w", err)
		}
		if count >= capacity(person) {
			return apierr.New(apierr.Conflict, fmt.Sprintf("The agent keeps %d memories, which is the most; delete some first", count))
		}
		created, err = s.create(client, agentID, person, Note{in.Kind, content, importance}, vector).Save(ctx)
		if err != nil {
			return fmt.Errorf("store the memory: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return transaction.Detach(ctx, created), nil
}

// ownerOfNew returns the owner of a new memory, or uuid.Nil if the memory is
// shared.
func ownerOfNew(ctx context.Context, shared *bool) (uuid.UUID, error) {
	v, ok := viewer.From(ctx)
	if !ok {
		return uuid.Nil, apierr.New(apierr.Unauthorized, "Session required")
	}
	editor := v.Role.AtLeast(viewer.RoleEditor)
	switch {
	case v.Kind == viewer.KindSystem && shared != nil && !*shared:
		return uuid.Nil, apierr.Invalid("shared", "must be true where nobody is signed in")
	case v.Kind == viewer.KindSystem:
		return uuid.Nil, nil
	case v.Kind != viewer.KindSession || v.Subject == uuid.Nil:
		return uuid.Nil, apierr.New(apierr.Forbidden, "Only signed-in people write memories")
	case shared != nil && *shared && !editor:
		return uuid.Nil, apierr.New(apierr.Forbidden, "Your role does not allow memories for everybody; it needs the role editor")
	case shared == nil && editor, shared != nil && *shared:
		return uuid.Nil, nil
	default:
		return v.Subject, nil
	}
}

// capacity returns how many memories of an owner an agent keeps.
func capacity(person uuid.UUID) int {
	if person == uuid.Nil {
		return MaxShared
	}
	return MaxOwn
}

func (s *Store) create(client *ent.Client, agentID uuid.UUID, person uuid.UUID, n Note, v vector) *ent.AgentMemoryCreate {
	at := s.timestamp()
	create := client.AgentMemory.Create().SetAgentID(agentID).
		SetKind(agentmemory.Kind(n.Kind)).SetContent(n.Content).SetImportance(n.Importance).
		SetEmbedding(v.bytes).SetEmbeddingModel(v.model).SetCreatedAt(at).SetUpdatedAt(at)
	if person != uuid.Nil {
		create.SetPersonID(person)
	}
	return create
}

// Get returns a memory. If agentID is not uuid.Nil, memories of other agents
// are not found.
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

// Update applies a change. It waits for the embedder, so it must not be called
// within a transaction.
func (s *Store) Update(ctx context.Context, agentID, id uuid.UUID, c Change) (*ent.AgentMemory, error) {
	row, err := s.writable(ctx, agentID, id)
	if err != nil {
		return nil, err
	}
	content, err := validate(c.Kind, c.Content, c.Importance)
	if err != nil {
		return nil, err
	}
	update := s.ent.AgentMemory.UpdateOneID(id).SetUpdatedAt(s.timestamp())
	if c.Kind != nil {
		update.SetKind(agentmemory.Kind(*c.Kind))
	}
	if c.Importance != nil {
		update.SetImportance(*c.Importance)
	}
	if c.Content != nil && content != row.Content {
		v := s.embedMemory(ctx, content)
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

// Delete deletes a memory.
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

// writable returns a memory that the viewer may change. A memory that the
// viewer may only read is forbidden, where the policy alone would say not
// found.
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

// checkAgent returns an error if the viewer cannot see the agent.
func (s *Store) checkAgent(ctx context.Context, id uuid.UUID) error {
	exists, err := s.ent.Agent.Query().Where(agent.ID(id)).Exist(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("query the agent: %w", err)
	case !exists:
		return apierr.NotFound("Agent")
	}
	return nil
}

// withAgentLock calls do in a transaction in which no one else adds memories to
// the agent. Runs and conversations can start meanwhile.
func (s *Store) withAgentLock(ctx context.Context, agentID uuid.UUID, do func(context.Context, *ent.Client) error) error {
	return transaction.In(ctx, s.ent, func(ctx context.Context, client *ent.Client) error {
		_, err := client.Agent.Query().Where(agent.ID(agentID)).ForUpdate(entsql.WithLockClause("FOR NO KEY UPDATE")).OnlyID(ctx)
		switch {
		case ent.IsNotFound(err):
			return apierr.NotFound("Agent")
		case err != nil:
			return fmt.Errorf("lock the agent: %w", err)
		}
		return do(ctx, client)
	})
}

// validate checks the given settings of a memory and returns its text without
// surrounding white space.
func validate(kind *Kind, content *string, importance *float64) (text string, err error) {
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
	return text, check.Text("content", text, MaxContent)
}

// clampImportance returns a model's importance within 0 to 1.
func clampImportance(importance float64) float64 {
	if math.IsNaN(importance) {
		return 0.5
	}
	return min(max(importance, 0), 1)
}
