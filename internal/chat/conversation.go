package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/conversation"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat/quote"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxHistory is how many messages after the summarized ones an answer
// considers.
const maxHistory = 40

// conversationState is a conversation before the current question. The zero
// value is a new conversation.
type conversationState struct {
	id         uuid.UUID
	collection uuid.UUID // the collection it is bound to; zero if none
	summary    string    // of its first messages
	skipped    int       // number of messages before history
	history    []turn    // the oldest first
}

// turn is an earlier message.
type turn struct {
	fromUser bool // else from the assistant
	text     string
}

// storeQuestion stores the question and, if it is new, the conversation.
func (c *Chat) storeQuestion(ctx context.Context, v viewer.Viewer, question string, pinned uuid.UUID, s *conversationState) error {
	return transaction.In(ctx, c.client, func(ctx context.Context, client *ent.Client) error {
		return c.insertQuestion(ctx, client, v, question, pinned, s)
	})
}

// loadConversation reads the last messages of a conversation of this viewer.
// The zero id is a new conversation.
func (c *Chat) loadConversation(ctx context.Context, v viewer.Viewer, id uuid.UUID) (conversationState, error) {
	if id == uuid.Nil {
		return conversationState{}, nil
	}
	found, err := c.client.Conversation.Query().
		Where(conversation.ID(id), conversation.SubjectID(v.Subject), conversation.AgentIDIsNil(), conversation.Named(v.EndUser)).Only(ctx)
	if ent.IsNotFound(err) {
		return conversationState{}, apierr.NotFound("Conversation")
	}
	if err != nil {
		return conversationState{}, fmt.Errorf("find the conversation: %w", err)
	}
	s := conversationState{id: id, summary: found.Summary}
	if found.CollectionID != nil {
		s.collection = *found.CollectionID
	}
	total, err := c.client.Message.Query().Where(message.ConversationID(id)).Count(ctx)
	if err != nil {
		return conversationState{}, fmt.Errorf("count the conversation's messages: %w", err)
	}
	limit := min(max(total-found.Summarized, 0), maxHistory)
	s.skipped = total - limit
	if limit == 0 {
		return s, nil
	}
	rows, err := c.client.Message.Query().
		Where(message.ConversationID(id)).
		Order(ent.Desc(message.FieldCreatedAt, message.FieldID)).
		Limit(limit).
		Select(message.FieldRole, message.FieldContent).
		All(ctx)
	if err != nil {
		return conversationState{}, fmt.Errorf("read the conversation: %w", err)
	}
	for _, row := range slices.Backward(rows) {
		s.history = append(s.history, turn{fromUser: row.Role == message.RoleUser, text: row.Content})
	}
	return s, nil
}

// storeSummary stores the summary of the first messages of a conversation,
// unless a summary of more messages is stored.
func (c *Chat) storeSummary(ctx context.Context, id uuid.UUID, summary string, count int) error {
	err := c.client.Conversation.Update().
		Where(conversation.ID(id), conversation.SummarizedLT(count)).
		SetSummary(summary).SetSummarized(count).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the summary: %w", err)
	}
	return nil
}

func (c *Chat) insertQuestion(ctx context.Context, client *ent.Client, v viewer.Viewer, question string, pinned uuid.UUID, s *conversationState) error {
	now := c.opt.Now()
	if s.id == uuid.Nil {
		create := client.Conversation.Create().SetSubjectID(v.Subject).SetNamed(v.EndUser).SetTitle(titleOf(question)).
			SetCreatedAt(now).SetUpdatedAt(now)
		if pinned != uuid.Nil {
			create.SetCollectionID(pinned)
		}
		row, err := create.Save(ctx)
		if err != nil {
			return fmt.Errorf("create the conversation: %w", err)
		}
		s.id = row.ID
	} else if err := client.Conversation.UpdateOneID(s.id).SetUpdatedAt(now).Exec(ctx); err != nil {
		if ent.IsNotFound(err) { // deleted in the meantime
			return apierr.NotFound("Conversation")
		}
		return fmt.Errorf("update the conversation: %w", err)
	}
	err := client.Message.Create().SetConversationID(s.id).SetSubjectID(v.Subject).SetRequestID(requestid.From(ctx)).
		SetRole(message.RoleUser).SetContent(question).SetCreatedAt(now).SetUpdatedAt(now).
		Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the question: %w", err)
	}
	return nil
}

// insertAnswer stores the answer. A blank answer is not stored.
func (c *Chat) insertAnswer(ctx context.Context, v viewer.Viewer, id uuid.UUID, text string, sources []Source, usage Usage) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	now := c.opt.Now()
	err := c.client.Message.Create().SetConversationID(id).SetSubjectID(v.Subject).SetRequestID(requestid.From(ctx)).
		SetRole(message.RoleAssistant).SetContent(text).SetSources(StoredSources(sources)).
		SetPromptTokens(usage.PromptTokens).SetCompletionTokens(usage.CompletionTokens).
		SetCreatedAt(now).SetUpdatedAt(now).
		Exec(ctx)
	if err == nil {
		return nil
	}
	// The conversation may have been deleted in the meantime, which is no error.
	exists, lookupErr := c.client.Conversation.Query().Where(conversation.ID(id)).Exist(ctx)
	if lookupErr == nil && !exists {
		return nil
	}
	return fmt.Errorf("store the answer: %w", err)
}

// titleOf returns a title for a conversation from its first question.
func titleOf(question string) string {
	return quote.TruncateAtWord(strings.Join(strings.Fields(question), " "), 80)
}
