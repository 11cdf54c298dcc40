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
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/viewer"
)

// remembered is how many messages of a conversation an answer looks back on at most, behind what is summarised.
const remembered = 40

// talk is a conversation as an answer sees it; the zero value is a new one.
type talk struct {
	id         uuid.UUID
	collection uuid.UUID // the one it stays in; zero where it is not bound to one
	summary    string    // of its first messages
	before     int       // how many messages come before the history
	history    []turn    // the oldest first, without the question at hand
}

// turn is one earlier message.
type turn struct {
	asked bool // by the visitor, else said by the assistant
	text  string
}

// open starts the conversation where it is new, and stores the question in it.
func (c *Chat) open(ctx context.Context, v viewer.Viewer, question string, pinned uuid.UUID, t *talk) error {
	tx, err := c.client.Tx(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := c.ask(ctx, tx, v, question, pinned, t); err != nil {
		_ = tx.Rollback() // the first error says more
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("store the question: %w", err)
	}
	return nil
}

// recall reads a conversation of this viewer, with its last messages; the zero id is a new one.
func (c *Chat) recall(ctx context.Context, v viewer.Viewer, id uuid.UUID) (talk, error) {
	if id == uuid.Nil {
		return talk{}, nil
	}
	found, err := c.client.Conversation.Query().
		Where(conversation.ID(id), conversation.SubjectID(v.Subject), conversation.AgentIDIsNil(), conversation.Named(v.EndUser)).Only(ctx)
	if ent.IsNotFound(err) {
		return talk{}, apierr.NotFound("Conversation")
	}
	if err != nil {
		return talk{}, fmt.Errorf("find the conversation: %w", err)
	}
	t := talk{id: id, summary: found.Summary}
	if found.CollectionID != nil {
		t.collection = *found.CollectionID
	}
	total, err := c.client.Message.Query().Where(message.ConversationID(id)).Count(ctx)
	if err != nil {
		return talk{}, fmt.Errorf("count the conversation's messages: %w", err)
	}
	wanted := min(max(total-found.Summarized, 0), remembered)
	t.before = total - wanted
	if wanted == 0 {
		return t, nil
	}
	rows, err := c.client.Message.Query().
		Where(message.ConversationID(id)).
		Order(ent.Desc(message.FieldCreatedAt, message.FieldID)).
		Limit(wanted).
		Select(message.FieldRole, message.FieldContent).
		All(ctx)
	if err != nil {
		return talk{}, fmt.Errorf("read the conversation: %w", err)
	}
	for _, row := range slices.Backward(rows) {
		t.history = append(t.history, turn{asked: row.Role == message.RoleUser, text: row.Content})
	}
	return t, nil
}

// remember keeps the summary of the first messages of a conversation. One that covers more stays.
func (c *Chat) remember(ctx context.Context, id uuid.UUID, summary string, covers int) error {
	err := c.client.Conversation.Update().
		Where(conversation.ID(id), conversation.SummarizedLT(covers)).
		SetSummary(summary).SetSummarized(covers).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the summary: %w", err)
	}
	return nil
}

// ask writes the question, and the conversation where it is new.
func (c *Chat) ask(ctx context.Context, tx *ent.Tx, v viewer.Viewer, question string, pinned uuid.UUID, t *talk) error {
	now := c.opt.Now()
	if t.id == uuid.Nil {
		create := tx.Conversation.Create().SetSubjectID(v.Subject).SetNamed(v.EndUser).SetTitle(titleOf(question)).
			SetCreatedAt(now).SetUpdatedAt(now)
		if pinned != uuid.Nil {
			create.SetCollectionID(pinned)
		}
		row, err := create.Save(ctx)
		if err != nil {
			return fmt.Errorf("start a conversation: %w", err)
		}
		t.id = row.ID
	} else if err := tx.Conversation.UpdateOneID(t.id).SetUpdatedAt(now).Exec(ctx); err != nil {
		if ent.IsNotFound(err) { // deleted meanwhile
			return apierr.NotFound("Conversation")
		}
		return fmt.Errorf("touch the conversation: %w", err)
	}
	err := tx.Message.Create().SetConversationID(t.id).SetSubjectID(v.Subject).SetRequestID(requestid.From(ctx)).
		SetRole(message.RoleUser).SetContent(question).SetCreatedAt(now).SetUpdatedAt(now).
		Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the question: %w", err)
	}
	return nil
}

// keep stores what was said. Nothing said leaves no message.
func (c *Chat) keep(ctx context.Context, v viewer.Viewer, id uuid.UUID, text string, sources []Source, usage Usage) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	list := make([]map[string]any, len(sources))
	for i, s := range sources {
		list[i] = map[string]any{"id": s.ID.String(), "title": s.Title, "url": s.URL}
	}
	now := c.opt.Now()
	err := c.client.Message.Create().SetConversationID(id).SetSubjectID(v.Subject).SetRequestID(requestid.From(ctx)).
		SetRole(message.RoleAssistant).SetContent(text).SetSources(list).
		SetPromptTokens(usage.PromptTokens).SetCompletionTokens(usage.CompletionTokens).
		SetCreatedAt(now).SetUpdatedAt(now).
		Exec(ctx)
	if err == nil {
		return nil
	}
	// Deleted while it was answered: what is gone stays so, and nothing is wrong.
	there, looking := c.client.Conversation.Query().Where(conversation.ID(id)).Exist(ctx)
	if looking == nil && !there {
		return nil
	}
	return fmt.Errorf("store the answer: %w", err)
}

// titleOf names a conversation after its first question.
func titleOf(question string) string {
	return shorten(strings.Join(strings.Fields(question), " "), 80)
}

// shorten cuts text to at most limit characters, an ellipsis included, at a blank where one is near.
func shorten(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	cut := limit - 1
	for i := cut; i > cut*2/3; i-- {
		if runes[i] == ' ' || runes[i] == '\n' {
			cut = i
			break
		}
	}
	return strings.TrimRight(string(runes[:cut]), " \n") + "…"
}
