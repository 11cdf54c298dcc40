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

// Remember stores what an agent learned in a run, for the person who runs it.
// If the agent already knows it, Remember keeps the newer text and the greater
// importance; shared memories stay unchanged. Passwords, keys and tokens are
// removed from the text.
//
// Blank or too long text is invalid. More than MaxPerRun new memories of a run
// are a conflict. If the agent is full, the least important memory that a run
// wrote for this person is deleted. Remember must not be called within a
// transaction.
func (s *Store) Remember(ctx context.Context, agentID, run uuid.UUID, n Note) (Item, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession || v.Subject == uuid.Nil {
		return Item{}, apierr.New(apierr.Forbidden, "An agent remembers only what it learnt with a signed-in person")
	}
	n.Importance = clampImportance(n.Importance)
	content, err := validate(&n.Kind, &n.Content, nil)
	if err != nil {
		return Item{}, err
	}
	if n.Content, ok = Scrub(content); !ok {
		return Item{}, apierr.Invalid("content", "is nothing but a credential, which is never kept")
	}
	if _, err := validate(nil, &n.Content, nil); err != nil { // redactions may make the text longer
		return Item{}, err
	}
	if err := s.checkAgent(ctx, agentID); err != nil {
		return Item{}, err
	}
	vec := s.embedMemory(ctx, n.Content)
	var stored *ent.AgentMemory
	err = s.withAgentLock(ctx, agentID, func(ctx context.Context, client *ent.Client) error {
		stored, err = s.merge(ctx, client, agentID, run, v.Subject, n, vec)
		return err
	})
	if err != nil {
		return Item{}, err
	}
	return fromRow(stored), nil
}

// merge stores a note, or updates the memory that says the same.
func (s *Store) merge(ctx context.Context, client *ent.Client, agentID, run, person uuid.UUID, n Note, vec vector) (*ent.AgentMemory, error) {
	rows, err := client.AgentMemory.Query().
		Where(agentmemory.AgentID(agentID), agentmemory.KindEQ(agentmemory.Kind(n.Kind)), visibleToViewer(ctx)).
		Order(ent.Desc(agentmemory.FieldImportance), ent.Desc(agentmemory.FieldID)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the memories: %w", err)
	}
	if duplicate := s.findDuplicate(rows, n.Content, vec); duplicate != nil {
		if duplicate.PersonID == nil {
			return duplicate, nil
		}
		row, err := client.AgentMemory.UpdateOne(duplicate).SetContent(n.Content).SetImportance(max(n.Importance, duplicate.Importance)).
			SetEmbedding(vec.bytes).SetEmbeddingModel(vec.model).SetUpdatedAt(s.timestamp()).Save(ctx)
		if err != nil {
			return nil, fmt.Errorf("store the memory: %w", err)
		}
		return row, nil
	}
	if err := s.makeRoom(ctx, client, agentID, run, person, n.Importance); err != nil {
		return nil, err
	}
	create := s.create(client, agentID, person, n, vec)
	if run != uuid.Nil {
		create.SetRunID(run)
	}
	row, err := create.Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("store the memory: %w", err)
	}
	return row, nil
}

// makeRoom checks that the run may store another memory and deletes one if the
// person's memories are full.
func (s *Store) makeRoom(ctx context.Context, client *ent.Client, agentID, run, person uuid.UUID, importance float64) error {
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
	// The least recently used of the least important memories.
	least, err := own.Clone().Where(agentmemory.RunIDNotNil(), agentmemory.ImportanceLTE(importance)).
		Order(ent.Asc(agentmemory.FieldImportance), agentmemory.ByRecalledAt(entsql.OrderNullsFirst()), ent.Asc(agentmemory.FieldUpdatedAt), ent.Asc(agentmemory.FieldID)).
		FirstID(ctx)
	switch {
	case ent.IsNotFound(err):
		return apierr.New(apierr.Conflict, fmt.Sprintf("The agent keeps %d memories of this person, none of them less important; delete some first", count))
	case err != nil:
		return fmt.Errorf("find a memory to delete: %w", err)
	}
	if err := client.AgentMemory.DeleteOneID(least).Exec(ctx); err != nil {
		return fmt.Errorf("delete a memory: %w", err)
	}
	return nil
}
