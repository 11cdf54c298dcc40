package mcp

import (
	"context"
	"fmt"
	"strings"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/internal/apierr"
)

// source is a document that an answer cites.
type source struct {
	Number int     `json:"number" jsonschema:"the number by which the answer cites it"`
	ID     string  `json:"id"`
	Title  string  `json:"title"`
	URL    *string `json:"url"`
}

type askInput struct {
	Question       string `json:"question" jsonschema:"at most 4,000 characters"`
	Collection     string `json:"collection,omitempty" jsonschema:"id of one collection"`
	ConversationID string `json:"conversation_id,omitempty" jsonschema:"of an earlier answer, for a further question"`
}

type answer struct {
	Answer         string   `json:"answer" jsonschema:"Markdown that cites its sources as [1]"`
	Sources        []source `json:"sources"`
	ConversationID string   `json:"conversation_id"`
}

func askTool() *protocol.Tool {
	tool := readOnly("ask", "Ask", "Answers a question from the documents and cites them. It takes longer than search and counts as a question of a chat.")
	tool.Annotations.IdempotentHint = false
	return tool
}

func (s *session) ask(ctx context.Context, in askInput) (string, answer, error) {
	input := map[string]any{"message": in.Question}
	if err := setID(input, "collection", in.Collection); err != nil {
		return "", answer{}, err
	}
	conversation := map[string]any{}
	if err := setID(conversation, "conversation_id", in.ConversationID); err != nil {
		return "", answer{}, err
	}
	if id, ok := conversation["conversation_id"]; ok {
		input["conversationId"] = id
	}
	return s.answer(ctx, "MCPAsk", input)
}

// answer collects the answer of a subscription.
func (s *session) answer(ctx context.Context, operation string, input map[string]any) (string, answer, error) {
	out := answer{Sources: []source{}}
	var written strings.Builder
	err := s.caller.follow(ctx, operation, map[string]any{"input": input}, func(e event) {
		if e.ConversationID != "" {
			out.ConversationID = e.ConversationID
		}
		written.WriteString(e.Delta + e.Content)
		for i, cited := range e.Sources {
			cited.Number = i + 1
			out.Sources = append(out.Sources, cited)
		}
	})
	if err != nil {
		return "", answer{}, err
	}
	if out.Answer = written.String(); out.Answer == "" {
		return "", answer{}, apierr.New(apierr.Unavailable, "The answer ended early; try again.")
	}
	shown := out.Answer
	for i, cited := range out.Sources {
		if i == 0 {
			shown += "\n\nSources:"
		}
		shown += fmt.Sprintf("\n[%d] %s %s", cited.Number, oneLine(cited.Title, 200), text(cited.URL))
	}
	return shown, out, nil
}

type agentInfo struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type agentsOutput struct {
	Agents []agentInfo `json:"agents"`
}

func agentsTool() *protocol.Tool {
	return readOnly("list_agents", "List agents", "Lists the agents of the workspace, which run_agent runs.")
}

func (s *session) listAgents(ctx context.Context, _ struct{}) (string, agentsOutput, error) {
	var data struct {
		Agents struct {
			Edges []struct {
				Node struct {
					ID, Name    string
					Description *string
				}
			}
		}
	}
	if err := s.caller.run(ctx, "MCPAgents", map[string]any{"limit": maxListed}, &data); err != nil {
		return "", agentsOutput{}, err
	}
	out := agentsOutput{Agents: make([]agentInfo, len(data.Agents.Edges))}
	lines := make([]string, len(out.Agents))
	for i, e := range data.Agents.Edges {
		out.Agents[i] = agentInfo{ID: e.Node.ID, Name: e.Node.Name, Description: text(e.Node.Description)}
		lines[i] = fmt.Sprintf("%s (%s) %s", oneLine(e.Node.Name, 80), e.Node.ID, oneLine(text(e.Node.Description), 200))
	}
	return strings.Join(lines, "\n"), out, nil
}

type runAgentInput struct {
	Agent          string `json:"agent" jsonschema:"id of the agent, as list_agents gives it"`
	Message        string `json:"message" jsonschema:"the task, at most 16,000 characters"`
	ConversationID string `json:"conversation_id,omitempty" jsonschema:"of an earlier run of this agent"`
}

func runAgentTool() *protocol.Tool {
	tool := readOnly("run_agent", "Run an agent", "Gives an agent of the workspace a task and returns its answer.")
	open := true
	tool.Annotations.ReadOnlyHint, tool.Annotations.IdempotentHint, tool.Annotations.OpenWorldHint = false, false, &open
	return tool
}

func (s *session) runAgent(ctx context.Context, in runAgentInput) (string, answer, error) {
	ids := map[string]any{}
	if err := setID(ids, "agent", in.Agent); err != nil {
		return "", answer{}, err
	}
	if err := setID(ids, "conversation_id", in.ConversationID); err != nil {
		return "", answer{}, err
	}
	if ids["agent"] == nil {
		return "", answer{}, invalid("agent", "is required")
	}
	input := map[string]any{"agentId": ids["agent"], "message": in.Message}
	if id, ok := ids["conversation_id"]; ok {
		input["conversationId"] = id
	}
	return s.answer(ctx, "MCPRunAgent", input)
}
