package memory

import (
	"context"
	"fmt"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentmemory"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Remember keeps what an agent learnt in a run, for the person who runs it
// alone. One that the agent knows already is not doubled: the newer text and
// the greater importance are kept, and what everybody may know stays as it is.
// Passwords, keys and tokens are taken out of the text.
//
// Blank or over-long text is invalid; more than MaxPerRun new ones of a run are
// a conflict. Where there is no room, the least important that a run wrote for
// this person makes some. It must not be called within a transaction.
func (s *Store) Remember(ctx context.Context, agentID, run uuid.UUID, n Note) (Item, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession || v.Subject == uuid.Nil {
		return Item{}, apierr.New(apierr.Forbidden, "An agent remembers only what it learnt with a signed-in person")
	}
	n.Importance = clamped(n.Importance)
	content, err := checked(&n.Kind, &n.Content, nil)
	if err != nil {
		return Item{}, err
	}
	if n.Content, ok = Scrub(content); !ok {
		return Item{}, apierr.Invalid("content", "is nothing but a credential, which is never kept")
	}
	if _, err := checked(nil, &n.Content, nil); err != nil { // the marks may have made it longer
		return Item{}, err
	}
	if err := s.agent(ctx, agentID); err != nil {
		return Item{}, err
	}
	made := s.vectorOf(ctx, n.Content)
	var kept *ent.AgentMemory
	err = s.locked(ctx, agentID, func(ctx context.Context, client *ent.Client) error {
		kept, err = s.merge(ctx, client, agentID, run, v.Subject, n, made)
		return err
	})
	if err != nil {
		return Item{}, err
	}
	return itemOf(kept), nil
}

// merge stores a note beside what is known already, or into it.
func (s *Store) merge(ctx context.Context, client *ent.Client, agentID, run, person uuid.UUID, n Note, made vector) (*ent.AgentMemory, error) {
	rows, err := client.AgentMemory.Query().
		Where(agentmemory.AgentID(agentID), agentmemory.KindEQ(agentmemory.Kind(n.Kind)), told(ctx)).
		Order(ent.Desc(agentmemory.FieldImportance), ent.Desc(agentmemory.FieldID)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the memories: %w", err)
	}
	if same := s.same(rows, n.Content, made); same != nil {
		if same.PersonID == nil {
			return same, nil
		}
		row, err := client.AgentMemory.UpdateOne(same).SetContent(n.Content).SetImportance(max(n.Importance, same.Importance)).
			SetEmbedding(made.bytes).SetEmbeddingModel(made.model).SetUpdatedAt(s.stamp()).Save(ctx)
		if err != nil {
			return nil, fmt.Errorf("store the memory: %w", err)
		}
		return row, nil
	}
	if err := s.admit(ctx, client, agentID, run, person, n.Importance); err != nil {
		return nil, err
	}
	create := s.create(client, agentID, &person, n, made)
	if run != uuid.Nil {
		create.SetRunID(run)
	}
	row, err := create.Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("store the memory: %w", err)
	}
	return row, nil
}

// admit makes sure that a run may keep one more, and that there is room.
func (s *Store) admit(ctx context.Context, client *ent.Client, agentID, run, person uuid.UUID, importance float64) error {
	own := client.AgentMemory.Query().Where(agentmemory.AgentID(agentID), agentmemory.PersonID(person))
	if run != uuid.Nil {
		switch count, err := own.Clone().Where(agentmemory.RunID(run)).Count(ctx); {
		case err != nil:
			return fmt.Errorf("count the run's memories: %w", err)
		case count >= MaxPerRun:
			return apierr.New(apierr.Conflict, fmt.Sprintf("A run keeps at most %d memories", MaxPerRun))
		}
	}
	count, err := own.Clone().Count(ctx)
	if err != nil {
		return fmt.Errorf("count the memories: %w", err)
	}
	if count < MaxOwn {
		return nil
	}
	// The one that went unused for longest, of the least important ones.
	least, err := own.Clone().Where(agentmemory.RunIDNotNil(), agentmemory.ImportanceLTE(importance)).
		Order(ent.Asc(agentmemory.FieldImportance), agentmemory.ByRecalledAt(entsql.OrderNullsFirst()), ent.Asc(agentmemory.FieldUpdatedAt), ent.Asc(agentmemory.FieldID)).
		FirstID(ctx)
	switch {
	case ent.IsNotFound(err):
		return apierr.New(apierr.Conflict, fmt.Sprintf("The agent keeps %d memories of this person, none of them less important; delete some first", count))
	case err != nil:
		return fmt.Errorf("look for room: %w", err)
	}
	if err := client.AgentMemory.DeleteOneID(least).Exec(ctx); err != nil {
		return fmt.Errorf("make room: %w", err)
	}
	return nil
}
