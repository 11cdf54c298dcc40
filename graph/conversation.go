package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/conversation"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
)

// maxTitle is the longest title of a conversation, in characters.
const maxTitle = 300

// conversations are one's own, as the policy of the entity has it.
func (r *Resolver) conversations(ctx context.Context, matching *string, agentID *uuid.UUID, kind *model.ConversationKind) *ent.ConversationQuery {
	query := r.client(ctx).Conversation.Query().Where(conversationsOf(agentID, kind)...)
	if text := strings.TrimSpace(orEmpty(matching)); text != "" {
		query.Where(conversation.Or(
			conversation.TitleContainsFold(text),
			conversation.HasMessagesWith(message.ContentContainsFold(text)),
		))
	}
	return query
}

func conversationsOf(agentID *uuid.UUID, kind *model.ConversationKind) []predicate.Conversation {
	var where []predicate.Conversation
	if agentID != nil {
		where = append(where, conversation.AgentID(*agentID))
	}
	switch {
	case kind == nil:
	case *kind == model.ConversationKindAgent:
		where = append(where, conversation.AgentIDNotNil())
	default:
		where = append(where, conversation.AgentIDIsNil())
	}
	return where
}

// newestFirst is the order of conversations where none was asked for.
func newestFirst(order []*ent.ConversationOrder) []*ent.ConversationOrder {
	if len(order) > 0 {
		return order
	}
	return []*ent.ConversationOrder{{Direction: entgql.OrderDirectionDesc, Field: ent.ConversationOrderFieldUpdatedAt}}
}

func (r *Resolver) renameConversation(ctx context.Context, id uuid.UUID, title string) (*ent.Conversation, error) {
	title = strings.Join(strings.Fields(title), " ")
	switch {
	case title == "":
		return nil, apierr.Invalid("title", "must not be blank")
	case utf8.RuneCountInString(title) > maxTitle:
		return nil, apierr.Invalid("title", fmt.Sprintf("must have at most %d characters", maxTitle))
	}
	row, err := r.client(ctx).Conversation.Query().Where(conversation.ID(id)).ForUpdate().Only(ctx)
	if _, err := found("Conversation", row, err); err != nil {
		return nil, err
	}
	// The time is that of the last question, which orders the list.
	row, err = row.Update().SetTitle(title).SetUpdatedAt(row.UpdatedAt).Save(ctx)
	return found("Conversation", row, err)
}

func (r *Resolver) deleteConversation(ctx context.Context, id uuid.UUID) error {
	err := r.client(ctx).Conversation.DeleteOneID(id).Exec(ctx)
	if ent.IsNotFound(err) {
		return apierr.NotFound("Conversation")
	}
	return err
}

func (r *Resolver) deleteConversations(ctx context.Context, agentID *uuid.UUID, kind *model.ConversationKind) (int, error) {
	return r.client(ctx).Conversation.Delete().Where(conversationsOf(agentID, kind)...).Exec(ctx)
}

func conversationKind(row *ent.Conversation) model.ConversationKind {
	if row.AgentID != nil {
		return model.ConversationKindAgent
	}
	return model.ConversationKindChat
}

// exported is a conversation as a JSON file has it.
type exported struct {
	ID           uuid.UUID         `json:"id"`
	Title        string            `json:"title"`
	CollectionID *uuid.UUID        `json:"collectionId"`
	AgentID      *uuid.UUID        `json:"agentId"`
	CreatedAt    time.Time         `json:"createdAt"`
	UpdatedAt    time.Time         `json:"updatedAt"`
	Messages     []exportedMessage `json:"messages"`
}

type exportedMessage struct {
	ID               uuid.UUID        `json:"id"`
	Role             string           `json:"role"`
	Content          string           `json:"content"`
	Sources          []map[string]any `json:"sources"`
	PromptTokens     int              `json:"promptTokens"`
	CompletionTokens int              `json:"completionTokens"`
	CreatedAt        time.Time        `json:"createdAt"`
}

func (r *Resolver) exportConversation(ctx context.Context, id uuid.UUID, format model.ExportFormat) (*model.ConversationExport, error) {
	row, err := r.client(ctx).Conversation.Get(ctx, id)
	if row, err = found("Conversation", row, err); err != nil {
		return nil, err
	}
	messages, err := r.client(ctx).Message.Query().Where(message.ConversationID(id)).
		Order(message.ByCreatedAt(), message.ByID()).All(ctx)
	if err != nil {
		return nil, err
	}
	name := "conversation-" + row.CreatedAt.UTC().Format("20060102-150405")
	if format == model.ExportFormatMarkdown {
		return &model.ConversationExport{FileName: name + ".md", MediaType: "text/markdown; charset=utf-8", Content: markdown(row, messages)}, nil
	}
	out := exported{
		ID: row.ID, Title: row.Title, CollectionID: row.CollectionID, AgentID: row.AgentID,
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), Messages: []exportedMessage{},
	}
	for _, m := range messages {
		out.Messages = append(out.Messages, exportedMessage{
			ID: m.ID, Role: strings.ToLower(string(m.Role)), Content: m.Content, Sources: append([]map[string]any{}, m.Sources...),
			PromptTokens: m.PromptTokens, CompletionTokens: m.CompletionTokens, CreatedAt: m.CreatedAt.UTC(),
		})
	}
	raw, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the conversation: %w", err)
	}
	return &model.ConversationExport{FileName: name + ".json", MediaType: "application/json", Content: string(raw) + "\n"}, nil
}

// markdown writes a conversation for people: who said what when, and from what.
func markdown(row *ent.Conversation, messages []*ent.Message) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n", escapeLine(row.Title))
	for _, m := range messages {
		who := "Answer"
		if m.Role == message.RoleUser {
			who = "Question"
		}
		fmt.Fprintf(&out, "\n## %s, %s\n\n%s\n", who, m.CreatedAt.UTC().Format(time.RFC3339), strings.TrimSpace(m.Content))
		if len(m.Sources) > 0 {
			out.WriteByte('\n')
		}
		for i, s := range m.Sources {
			title, _ := s["title"].(string)
			if url, _ := s["url"].(string); url != "" {
				fmt.Fprintf(&out, "%d. [%s](<%s>)\n", i+1, escapeLine(title), strings.NewReplacer("<", "%3C", ">", "%3E", "\n", "").Replace(url))
			} else {
				fmt.Fprintf(&out, "%d. %s\n", i+1, escapeLine(title))
			}
		}
	}
	return out.String()
}

// escapeLine makes a text one line of plain Markdown.
func escapeLine(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "<", `\<`, "`", "\\`", "*", `\*`, "_", `\_`).
		Replace(strings.Join(strings.Fields(text), " "))
}
