package conversation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/message"
)

// A File is an exported conversation.
type File struct {
	Name, MediaType, Content string
}

// ExportMarkdown writes a conversation for people.
func (c *Conversations) ExportMarkdown(ctx context.Context, id uuid.UUID) (File, error) {
	row, messages, err := c.read(ctx, id)
	if err != nil {
		return File{}, err
	}
	return File{Name: fileName(row) + ".md", MediaType: "text/markdown; charset=utf-8", Content: markdown(row, messages)}, nil
}

// ExportJSON writes a conversation for programs.
func (c *Conversations) ExportJSON(ctx context.Context, id uuid.UUID) (File, error) {
	row, messages, err := c.read(ctx, id)
	if err != nil {
		return File{}, err
	}
	out := jsonConversation{
		ID: row.ID, Title: row.Title, CollectionID: row.CollectionID, AgentID: row.AgentID,
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), Messages: []jsonMessage{},
	}
	for _, m := range messages {
		out.Messages = append(out.Messages, jsonMessage{
			ID: m.ID, Role: strings.ToLower(string(m.Role)), Content: m.Content, Sources: append([]map[string]any{}, m.Sources...),
			PromptTokens: m.PromptTokens, CompletionTokens: m.CompletionTokens, CreatedAt: m.CreatedAt.UTC(),
		})
	}
	raw, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return File{}, fmt.Errorf("export the conversation: %w", err)
	}
	return File{Name: fileName(row) + ".json", MediaType: "application/json", Content: string(raw) + "\n"}, nil
}

// read returns a conversation with its messages in order.
func (c *Conversations) read(ctx context.Context, id uuid.UUID) (*ent.Conversation, []*ent.Message, error) {
	row, err := c.Get(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	messages, err := c.client(ctx).Message.Query().Where(message.ConversationID(id)).
		Order(message.ByCreatedAt(), message.ByID()).All(ctx)
	return row, messages, err
}

func fileName(row *ent.Conversation) string {
	return "conversation-" + row.CreatedAt.UTC().Format("20060102-150405")
}

// jsonConversation is the JSON form of a conversation.
type jsonConversation struct {
	ID           uuid.UUID     `json:"id"`
	Title        string        `json:"title"`
	CollectionID *uuid.UUID    `json:"collectionId"`
	AgentID      *uuid.UUID    `json:"agentId"`
	CreatedAt    time.Time     `json:"createdAt"`
	UpdatedAt    time.Time     `json:"updatedAt"`
	Messages     []jsonMessage `json:"messages"`
}

type jsonMessage struct {
	ID               uuid.UUID        `json:"id"`
	Role             string           `json:"role"`
	Content          string           `json:"content"`
	Sources          []map[string]any `json:"sources"`
	PromptTokens     int              `json:"promptTokens"`
	CompletionTokens int              `json:"completionTokens"`
	CreatedAt        time.Time        `json:"createdAt"`
}

// markdown returns a conversation as Markdown: a section for each message, with
// its time and its sources.
func markdown(row *ent.Conversation, messages []*ent.Message) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n", escapeLine(row.Title))
	for _, m := range messages {
		heading := "Answer"
		if m.Role == message.RoleUser {
			heading = "Question"
		}
		fmt.Fprintf(&out, "\n## %s, %s\n\n%s\n", heading, m.CreatedAt.UTC().Format(time.RFC3339), strings.TrimSpace(m.Content))
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

// escapeLine returns text as one line without Markdown syntax.
func escapeLine(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "<", `\<`, "`", "\\`", "*", `\*`, "_", `\_`).
		Replace(strings.Join(strings.Fields(text), " "))
}
