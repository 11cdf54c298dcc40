package conversation

import (
	"context"
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entconversation "github.com/magpie-search/magpie/ent/conversation"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/usage/analytics"
)

// maxTitle is the longest title of a conversation, in characters.
const maxTitle = 300

// Options are the parts that Conversations needs.
type Options struct {
	Ent       *ent.Client
	Analytics *analytics.Store // nil records no ratings
	Log       *slog.Logger
}

// Conversations manages the viewer's own conversations. Its methods join the
// transaction of the context. Their errors are apierr.
type Conversations struct{ o Options }

// New returns a Conversations.
func New(o Options) *Conversations { return &Conversations{o} }

func (c *Conversations) client(ctx context.Context) *ent.Client {
	return transaction.Client(ctx, c.o.Ent)
}

// Kind tells conversations with the chat from those with an agent.
type Kind string

// The kinds of conversations.
const (
	KindChat  Kind = "CHAT"
	KindAgent Kind = "AGENT"
)

// KindOf returns the kind of a conversation.
func KindOf(row *ent.Conversation) Kind {
	if row.AgentID != nil {
		return KindAgent
	}
	return KindChat
}

// Filter selects conversations. Its zero value selects all.
type Filter struct {
	Agent *uuid.UUID
	Kind  Kind
	Text  string // part of the title or of a message, ignoring case
}

func (f Filter) predicates() []predicate.Conversation {
	var where []predicate.Conversation
	if f.Agent != nil {
		where = append(where, entconversation.AgentID(*f.Agent))
	}
	switch f.Kind {
	case KindAgent:
		where = append(where, entconversation.AgentIDNotNil())
	case KindChat:
		where = append(where, entconversation.AgentIDIsNil())
	}
	if text := strings.TrimSpace(f.Text); text != "" {
		where = append(where, entconversation.Or(
			entconversation.TitleContainsFold(text),
			entconversation.HasMessagesWith(message.ContentContainsFold(text)),
		))
	}
	return where
}

// Query returns a query for the conversations that f selects.
func (c *Conversations) Query(ctx context.Context, f Filter) *ent.ConversationQuery {
	return c.client(ctx).Conversation.Query().Where(f.predicates()...)
}

// Get returns a conversation.
func (c *Conversations) Get(ctx context.Context, id uuid.UUID) (*ent.Conversation, error) {
	row, err := c.client(ctx).Conversation.Get(ctx, id)
	return row, lookup.Error("Conversation", err)
}

// Rename gives a conversation a title. Its updated_at, which orders lists by the
// last question, stays.
func (c *Conversations) Rename(ctx context.Context, id uuid.UUID, title string) (*ent.Conversation, error) {
	title, err := check.Line("title", title, maxTitle)
	if err != nil {
		return nil, err
	}
	row, err := c.client(ctx).Conversation.Query().Where(entconversation.ID(id)).ForUpdate().Only(ctx)
	if err != nil {
		return nil, lookup.Error("Conversation", err)
	}
	row, err = row.Update().SetTitle(title).SetUpdatedAt(row.UpdatedAt).Save(ctx)
	return row, lookup.Error("Conversation", err)
}

// Delete deletes a conversation.
func (c *Conversations) Delete(ctx context.Context, id uuid.UUID) error {
	return lookup.Error("Conversation", c.client(ctx).Conversation.DeleteOneID(id).Exec(ctx))
}

// DeleteAll deletes the conversations that f selects, and returns how many.
func (c *Conversations) DeleteAll(ctx context.Context, f Filter) (int, error) {
	return c.client(ctx).Conversation.Delete().Where(f.predicates()...).Exec(ctx)
}

// MessageCounts counts the messages of conversations.
func (c *Conversations) MessageCounts(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]int, error) {
	var rows []struct {
		Conversation uuid.UUID `json:"conversation_id"`
		Count        int       `json:"count"`
	}
	err := c.client(ctx).Message.Query().Where(message.ConversationIDIn(ids...)).
		GroupBy(message.FieldConversationID).Aggregate(ent.Count()).Scan(ctx, &rows)
	counts := make(map[uuid.UUID]int, len(rows))
	for _, row := range rows {
		counts[row.Conversation] = row.Count
	}
	return counts, err
}
