package graph_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/internal/chat"
	chatanswer "github.com/magpie-search/magpie/internal/chat/answer"
	"github.com/magpie-search/magpie/internal/viewer"
)

func anAgent(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	return must[*ent.Agent](t)(h.db.Ent.Agent.Create().SetName("Another").SetSystemPrompt("Help.").Save(n.system(t))).ID
}

func aTemplate(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	return must[*ent.AgentTemplate](t)(h.db.Ent.AgentTemplate.Create().SetName("Another").SetSystemPrompt("Help.").Save(n.system(t))).ID
}

// ownMemory returns a memory of the caller, which every member may change.
func ownMemory(own context.Context, t *testing.T, h *fixture, n *tenant) uuid.UUID {
	shared := false
	return must[*ent.AgentMemory](t)(h.resolver.Memories.Create(own, n.agent, memory.Input{Content: "The word is " + uuid.NewString() + ".", Shared: &shared})).ID
}

func ownTalk(own context.Context, t *testing.T, h *fixture, _ *tenant) uuid.UUID {
	return must[*ent.Conversation](t)(h.db.Ent.Conversation.Create().SetTitle("Another").Save(own)).ID
}

// ownAnswer returns an answer in a conversation of the caller, with feedback.
func ownAnswer(own context.Context, t *testing.T, h *fixture, n *tenant) uuid.UUID {
	said := must[*ent.Message](t)(h.db.Ent.Message.Create().SetConversationID(ownTalk(own, t, h, n)).SetRole(message.RoleAssistant).SetContent("An answer").Save(own))
	must[*ent.Feedback](t)(h.db.Ent.Feedback.Create().SetMessageID(said.ID).SetRating("POSITIVE").Save(own))
	return said.ID
}

func ownRun(own context.Context, t *testing.T, h *fixture, n *tenant) uuid.UUID {
	return must[*ent.AgentRun](t)(h.db.Ent.AgentRun.Create().SetAgentID(n.agent).SetConversationID(ownTalk(own, t, h, n)).
		SetMessage("What is the word?").SetStatus(agentrun.StatusCompleted).Save(own)).ID
}

func agentCalls() map[string]maker {
	return map[string]maker{
		"Mutation.createAgent":             fixed(`mutation { createAgent(input: {name: "New", systemPrompt: "Help."}) { id } }`, nil),
		"Mutation.updateAgent":             on(`mutation($i: ID!) { updateAgent(id: $i, input: {name: "Other"}) { id } }`, anAgent),
		"Mutation.deleteAgent":             on("mutation($i: ID!) { deleteAgent(id: $i) }", anAgent),
		"Mutation.createAgentFromTemplate": on("mutation($i: ID!) { createAgentFromTemplate(templateId: $i) { id } }", aTemplate),
		"Mutation.createAgentTemplate":     fixed(`mutation { createAgentTemplate(input: {name: "New", systemPrompt: "Help."}) { id } }`, nil),
		"Mutation.updateAgentTemplate":     on(`mutation($i: ID!) { updateAgentTemplate(id: $i, input: {name: "Other"}) { id } }`, aTemplate),
		"Mutation.deleteAgentTemplate":     on("mutation($i: ID!) { deleteAgentTemplate(id: $i) }", aTemplate),
		"Mutation.createAgentMemory":       on(`mutation($i: ID!) { createAgentMemory(agentId: $i, input: {content: "The word is here."}) { id } }`, anAgent),
		"Mutation.updateAgentMemory":       onOwn(`mutation($i: ID!) { updateAgentMemory(id: $i, input: {content: "The word is there."}) { id } }`, ownMemory),
		"Mutation.deleteAgentMemory":       onOwn("mutation($i: ID!) { deleteAgentMemory(id: $i) }", ownMemory),
		"Mutation.cancelRun":               onOwn("mutation($i: ID!) { cancelRun(id: $i) { status } }", ownRun),
	}
}

func talkCalls() map[string]maker {
	return map[string]maker{
		"Mutation.renameConversation":  onOwn(`mutation($i: ID!) { renameConversation(id: $i, title: "Other") { title } }`, ownTalk),
		"Mutation.deleteConversation":  onOwn("mutation($i: ID!) { deleteConversation(id: $i) }", ownTalk),
		"Mutation.deleteConversations": onOwn("mutation($i: ID!) { deleteConversations(agentId: $i) }", agentOfTalk),
		"Mutation.stopChat":            onOwn("mutation($i: ID!) { stopChat(answerId: $i) }", openAnswer),
		"Mutation.setFeedback":         onOwn("mutation($i: ID!) { setFeedback(messageId: $i, input: {rating: NEGATIVE}) { rating } }", ownAnswer),
		"Mutation.removeFeedback":      onOwn("mutation($i: ID!) { removeFeedback(messageId: $i) }", ownAnswer),
	}
}

// openAnswer returns an answer to the caller that goes on until it is stopped.
func openAnswer(own context.Context, t *testing.T, h *fixture, _ *tenant) uuid.UUID {
	id, v := uuid.New(), mustViewer(own, t)
	if err := h.resolver.Answers.Start(own, chatanswer.Owner{Workspace: v.Workspace, Subject: v.Subject}, id, func(ctx context.Context) (<-chan chat.Event, error) {
		events := make(chan chat.Event)
		context.AfterFunc(ctx, func() { close(events) })
		return events, nil
	}); err != nil {
		t.Fatal(err)
	}
	return id
}

func mustViewer(ctx context.Context, t *testing.T) viewer.Viewer {
	t.Helper()
	v, ok := viewer.From(ctx)
	if !ok {
		t.Fatal("nobody calls")
	}
	return v
}

// agentOfTalk returns an agent with which the caller has a conversation.
func agentOfTalk(own context.Context, t *testing.T, h *fixture, n *tenant) uuid.UUID {
	id := anAgent(t, h, n)
	must[*ent.Conversation](t)(h.db.Ent.Conversation.Create().SetTitle("With an agent").SetAgentID(id).Save(own))
	return id
}
