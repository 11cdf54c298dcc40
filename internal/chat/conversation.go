package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"magpie/ent"
	"magpie/ent/conversation"
	"magpie/ent/message"
	"magpie/internal/apierr"
	"magpie/internal/viewer"
)

// remembered is how many messages of a conversation an answer looks back on.
const remembered = 12

// talk is a conversation as an answer sees it.
type talk struct {
	id      uuid.UUID
	history []turn // the oldest first, without the question at hand
}

// turn is one earlier message.
type turn struct {
	asked bool // by the visitor, else said by the assistant
	text  string
}

// open finds or starts the conversation of a request and stores the question in it.
func (c *Chat) open(ctx context.Context, v viewer.Viewer, req Request, pinned uuid.UUID) (talk, error) {
	t := talk{id: req.Conversation}
	if t.id != uuid.Nil {
		var err error
		if t.history, err = c.recall(ctx, v, t.id); err != nil {
			return talk{}, err
		}
	}
	if req.Admit != nil {
		if err := req.Admit(ctx); err != nil {
			return talk{}, err
		}
	}
	tx, err := c.client.Tx(ctx)
	if err != nil {
		return talk{}, fmt.Errorf("begin: %w", err)
	}
	if err := c.ask(ctx, tx, v, req.Message, pinned, &t); err != nil {
		_ = tx.Rollback() // the first error says more
		return talk{}, err
	}
	if err := tx.Commit(); err != nil {
		return talk{}, fmt.Errorf("store the question: %w", err)
	}
	return t, nil
}

// recall reads the last messages of a conversation of this viewer.
func (c *Chat) recall(ctx context.Context, v viewer.Viewer, id uuid.UUID) ([]turn, error) {
	found, err := c.client.Conversation.Query().
		Where(conversation.ID(id), conversation.SubjectID(v.Subject)).Exist(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the conversation: %w", err)
	}
	if !found {
		return nil, apierr.NotFound("Conversation")
	}
	rows, err := c.client.Message.Query().
		Where(message.ConversationID(id)).
		Order(ent.Desc(message.FieldCreatedAt, message.FieldID)).
		Limit(remembered).
		Select(message.FieldRole, message.FieldContent).
		All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the conversation: %w", err)
	}
	turns := make([]turn, 0, len(rows))
	for _, row := range slices.Backward(rows) {
		turns = append(turns, turn{asked: row.Role == message.RoleUser, text: row.Content})
	}
	return turns, nil
}

// ask writes the question, and the conversation where it is new.
func (c *Chat) ask(ctx context.Context, tx *ent.Tx, v viewer.Viewer, question string, pinned uuid.UUID, t *talk) error {
	now := c.opt.Now()
	if t.id == uuid.Nil {
		create := tx.Conversation.Create().SetSubjectID(v.Subject).SetTitle(titleOf(question)).
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
	err := tx.Message.Create().SetConversationID(t.id).SetSubjectID(v.Subject).
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
	err := c.client.Message.Create().SetConversationID(id).SetSubjectID(v.Subject).
		SetRole(message.RoleAssistant).SetContent(text).SetSources(list).
		SetPromptTokens(usage.PromptTokens).SetCompletionTokens(usage.CompletionTokens).
		SetCreatedAt(now).SetUpdatedAt(now).
		Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the answer: %w", err)
	}
	return nil
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
