package graph_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/internal/viewer"
)

// anApproval creates a pending approval of a run, which the people named in it, members
// with the role viewer and the run's person may decide.
func anApproval(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	t.Helper()
	now := time.Now()
	return must[*ent.Approval](t)(h.db.Ent.Approval.Create().SetRunID(n.run).SetAgentID(n.agent).SetSubjectID(n.viewer.Subject).SetCallID(uuid.NewString()).
		SetTool("mail.send").SetRisk("SEND").SetTitle("Send a mail to " + n.email).SetArguments(`{"to": "` + n.email + `"}`).SetArgumentsHash("ab12").SetApproverRole("VIEWER").
		SetRequestedAt(now).SetExpiresAt(now.Add(time.Hour)).SetNonce("n").Save(viewer.With(t.Context(), viewer.System(n.viewer.Workspace)))).ID
}

// aToolGrant creates a grant for a person, or for everybody.
func aToolGrant(t *testing.T, h *fixture, n *tenant, person uuid.UUID) uuid.UUID {
	t.Helper()
	create := h.db.Ent.ToolGrant.Create().SetAgentID(n.agent).SetTool("mail.send").SetCreatedBy(n.viewer.Subject).SetScope("AGENT")
	if person != uuid.Nil {
		create.SetScope("RUN").SetRunID(n.run).SetPersonID(person)
	}
	return must[*ent.ToolGrant](t)(create.Save(viewer.With(t.Context(), viewer.System(n.viewer.Workspace)))).ID
}

// approvalTrials has a case for each root field of approvals.
func approvalTrials(ada *tenant) map[string]trial {
	id := func(v uuid.UUID) map[string]any { return map[string]any{"i": v} }
	return map[string]trial{
		"Query.approvals":                 {"query($i: ID!) { approvals(runId: $i) { edges { node { id title arguments } } totalCount } }", id(ada.run), "not_found"},
		"Query.approval":                  {"query($i: ID!) { approval(id: $i) { title arguments preview } }", id(ada.approval), "not_found"},
		"Query.toolGrants":                {"query($i: ID!) { toolGrants(agentId: $i) { edges { node { id tool } } } }", id(ada.agent), "not_found"},
		"Query.approvalSettings":          {"{ approvalSettings { toolPolicy slackIntegrationId slackChannel } }", nil, ""},
		"Mutation.decideApproval":         {"mutation($i: ID!) { decideApproval(input: {id: $i, action: APPROVE}) { title } }", id(ada.approval), "not_found"},
		"Mutation.revokeToolGrant":        {"mutation($i: ID!) { revokeToolGrant(id: $i) { tool } }", id(ada.allowed), "not_found"},
		"Mutation.updateApprovalSettings": {`mutation($i: ID!) { updateApprovalSettings(input: {slackIntegrationId: $i, slackChannel: "C024BE91L"}) { slackChannel } }`, id(ada.integration), "not_found"},
		"Subscription.approvalChanged":    {"subscription($i: ID!) { approvalChanged(id: $i) { approval { title } } }", id(ada.approval), "not_found"},
	}
}

func approvalCalls() map[string]maker {
	return map[string]maker{
		"Query.approvalSettings":  fixed("{ approvalSettings { toolPolicy } }", nil),
		"Mutation.decideApproval": on("mutation($i: ID!) { decideApproval(input: {id: $i, action: REJECT}) { id status } }", anApproval),
		"Mutation.revokeToolGrant": func(t *testing.T, h *fixture, n *tenant, who viewer.Viewer) call {
			return call{query: "mutation($i: ID!) { revokeToolGrant(id: $i) { id } }", variables: map[string]any{"i": aToolGrant(t, h, n, n.person(who).Subject)}}
		},
		"Mutation.updateApprovalSettings": func(*testing.T, *fixture, *tenant, viewer.Viewer) call {
			// Each call changes something.
			return call{query: "mutation($p: Map) { updateApprovalSettings(input: {toolPolicy: $p}) { toolPolicy } }",
				variables: map[string]any{"p": map[string]any{"tools": map[string]any{"mail." + uuid.NewString(): "deny"}}}}
		},
	}
}

// waitingApproval creates a run that waits, and an approval of it.
func (h *fixture) waitingApproval(t *testing.T, n *tenant) uuid.UUID {
	t.Helper()
	own := viewer.With(t.Context(), n.viewer)
	run := must[*ent.AgentRun](t)(h.db.Ent.AgentRun.Create().SetAgentID(n.agent).SetConversationID(ownTalk(own, t, h, n)).SetMessage("Hi").SetStatus(agentrun.StatusWaiting).Save(own))
	other := *n
	other.run = run.ID
	return anApproval(t, h, &other)
}

func TestAnApprovalIsDecidedOnceAndItsRunContinues(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	id := h.waitingApproval(t, ada)
	const decide = `mutation($i: ID!, $a: Map) { decideApproval(input: {id: $i, action: APPROVE, arguments: $a, argumentsHash: "ab12", remember: ONCE, comment: "Fine."}) {
		status mayDecide approverRole arguments editedArguments decidedVia decidedAt comment runId } }`
	first := h.ask(t, ada.viewer, "query($i: ID!) { approval(id: $i) { status mayDecide approverRole arguments } node(id: $i) { ... on Approval { title } } }", map[string]any{"i": id})
	if first.code() != "" || first.at("approval.status") != "PENDING" || first.at("approval.mayDecide") != true || first.at("approval.approverRole") != "VIEWER" ||
		first.at("approval.arguments") != `{"to": "ada@example.com"}` {
		t.Errorf("asked: %s", first.body)
	}
	done := h.ask(t, ada.viewer, decide, map[string]any{"i": id, "a": map[string]any{"to": "bob@example.com"}})
	if done.code() != "" || done.at("decideApproval.status") != "EDITED" || done.at("decideApproval.decidedVia") != "DASHBOARD" ||
		done.at("decideApproval.editedArguments") != `{"to":"bob@example.com"}` || done.at("decideApproval.comment") != "Fine." {
		t.Errorf("decided: %s", done.body)
	}
	run := done.id(t, "decideApproval.runId")
	if row := must[*ent.AgentRun](t)(h.db.Ent.AgentRun.Get(ada.system(t), run)); row.Status != agentrun.StatusQueued {
		t.Errorf("the run is %s", row.Status)
	}
	again := h.ask(t, ada.viewer, decide, map[string]any{"i": id})
	if again.code() != "conflict" || !strings.Contains(again.body, "ada has already edited this, at ") {
		t.Errorf("decided again: %s", again.body)
	}
	if e := h.entries(t, ada); e[len(e)-1].Action != "approval.edit" || strings.Contains(e[len(e)-1].TargetName, "@") {
		t.Errorf("the audit log has %+v", e[len(e)-1])
	}
	listed := h.ask(t, ada.viewer, "{ approvals(status: [EDITED], mine: true) { totalCount edges { node { id } } } }", nil)
	if listed.at("approvals.totalCount") != 1.0 {
		t.Errorf("listed: %s", listed.body)
	}
}

func TestASubscriptionFollowsAnApprovalToItsDecision(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	id := h.waitingApproval(t, ada)
	own := viewer.With(t.Context(), ada.viewer)
	changes, err := h.resolver.Subscription().ApprovalChanged(own, &id, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := <-changes; e.Approval.ID != id || e.Approval.Status != "PENDING" || e.Cursor == "" {
		t.Errorf("first: %+v", e)
	}
	if got := h.ask(t, ada.viewer, "mutation($i: ID!) { decideApproval(input: {id: $i, action: REJECT}) { id } }", map[string]any{"i": id}); got.code() != "" {
		t.Fatal(got.body)
	}
	if e := <-changes; e.Approval.Status != "REJECTED" {
		t.Errorf("then: %+v", e)
	}
	if e, ok := <-changes; ok {
		t.Errorf("more: %+v", e)
	}
	all, cancel := context.WithCancel(own)
	others, err := h.resolver.Subscription().ApprovalChanged(all, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := <-others; e.Approval.ID != ada.approval {
		t.Errorf("pending: %+v", e.Approval)
	}
	cancel()
	for range others {
	}
}

func TestToolPoliciesAreCheckedAndKept(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	const write = "mutation($p: Map) { updateApprovalSettings(input: {toolPolicy: $p}) { toolPolicy slackChannel } }"
	const agent = "mutation($i: ID!, $p: Map) { updateAgent(id: $i, input: {toolPolicy: $p}) { toolPolicy } }"
	good := map[string]any{"risks": map[string]any{"delete": "deny"}, "rules": []any{map[string]any{"tool": "*", "path": "amount", "op": "gt", "value": 100, "policy": "ask"}}}
	bad := map[string]any{"risks": map[string]any{"send": "allow"}}
	if got := h.ask(t, ada.viewer, write, map[string]any{"p": good}); got.at("updateApprovalSettings.toolPolicy.risks.delete") != "deny" {
		t.Errorf("the workspace's: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, agent, map[string]any{"i": ada.agent, "p": good}); got.at("updateAgent.toolPolicy.risks.delete") != "deny" {
		t.Errorf("the agent's: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, agent, map[string]any{"i": ada.agent, "p": nil}); got.code() != "" || strings.Contains(got.body, "deny") {
		t.Errorf("the agent's, removed: %s", got.body)
	}
	for _, got := range []answer{
		h.ask(t, ada.viewer, write, map[string]any{"p": bad}), h.ask(t, ada.viewer, agent, map[string]any{"i": ada.agent, "p": bad}),
		h.ask(t, ada.viewer, `mutation { updateApprovalSettings(input: {slackChannel: "#general"}) { slackChannel } }`, nil),
	} {
		if got.code() != "invalid_request" {
			t.Errorf("accepted: %s", got.body)
		}
	}
	if got := h.ask(t, ada.viewer, "{ approvalSettings { toolPolicy } }", nil); got.at("approvalSettings.toolPolicy.risks.delete") != "deny" {
		t.Errorf("kept: %s", got.body)
	}
}
