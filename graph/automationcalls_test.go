package graph_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/ent"
	entautomation "github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/viewer"
)

// anAutomation creates an automation that runs as the service member, which every editor
// may change.
func anAutomation(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	t.Helper()
	return must[*ent.Automation](t)(h.db.Ent.Automation.Create().SetName("Automation of " + n.email).SetAgentID(n.agent).SetOwnerID(n.viewer.Subject).
		SetRunAs(entautomation.RunAsService).SetInstructions("Help.").SetKind(entautomation.KindManual).Save(n.system(t))).ID
}

// aRun creates a run that has ended.
func aRun(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	t.Helper()
	row := must[*ent.AutomationRun](t)(h.resolver.Automations.Run(viewer.With(t.Context(), n.viewer), n.automation, map[string]any{"text": "Run of " + n.email}))
	return must[*ent.AutomationRun](t)(h.db.Ent.AutomationRun.UpdateOneID(row.ID).SetStatus(automationrun.StatusCompleted).SetStep(automationrun.StepDone).
		SetAnswer("The answer to " + n.email).SetFinishedAt(row.CreatedAt).ClearDueAt().Save(n.system(t))).ID
}

// automationTrials has a case for each root field of automations.
func automationTrials(ada *tenant) map[string]trial {
	id := func(v uuid.UUID) map[string]any { return map[string]any{"i": v} }
	return map[string]trial{
		"Query.automations":         {"{ automations { edges { node { id name instructions } } totalCount } }", nil, ""},
		"Query.automation":          {"query($i: ID!) { automation(id: $i) { name instructions trigger } }", id(ada.automation), "not_found"},
		"Query.automationRuns":      {"query($i: ID!) { automationRuns(automationId: $i) { edges { node { id output } } totalCount } }", id(ada.automation), "not_found"},
		"Query.automationRun":       {"query($i: ID!) { automationRun(id: $i) { title output } }", id(ada.automated), "not_found"},
		"Query.automationTemplates": {"{ automationTemplates { name } }", nil, ""},
		"Mutation.createAutomation": {
			`mutation($i: ID!) { createAutomation(input: {name: "Mine", agentId: $i, instructions: "Tell me.", kind: MANUAL}) { id } }`, id(ada.agent), "not_found",
		},
		"Mutation.updateAutomation":    {`mutation($i: ID!) { updateAutomation(id: $i, input: {name: "Mine"}) { name } }`, id(ada.automation), "not_found"},
		"Mutation.deleteAutomation":    {"mutation($i: ID!) { deleteAutomation(id: $i) }", id(ada.automation), "not_found"},
		"Mutation.runAutomation":       {"mutation($i: ID!) { runAutomation(id: $i) { id } }", id(ada.automation), "not_found"},
		"Mutation.replayAutomationRun": {"mutation($i: ID!) { replayAutomationRun(id: $i) { id } }", id(ada.automated), "not_found"},
		"Mutation.cancelAutomationRun": {"mutation($i: ID!) { cancelAutomationRun(id: $i) { id } }", id(ada.automated), "not_found"},
	}
}

func automationCalls() map[string]maker {
	return map[string]maker{
		"Query.automations":         fixed("{ automations { totalCount } }", nil),
		"Query.automation":          on("query($i: ID!) { automation(id: $i) { name } }", anAutomation),
		"Query.automationRuns":      fixed("{ automationRuns { totalCount } }", nil),
		"Query.automationRun":       on("query($i: ID!) { automationRun(id: $i) { title } }", aRun),
		"Query.automationTemplates": fixed("{ automationTemplates { name } }", nil),
		"Mutation.createAutomation": on(`mutation($i: ID!) { createAutomation(input: {name: "New", agentId: $i, instructions: "Help.", kind: MANUAL}) { id } }`,
			func(_ *testing.T, _ *fixture, n *tenant) uuid.UUID { return n.agent }),
		"Mutation.updateAutomation":    on(`mutation($i: ID!) { updateAutomation(id: $i, input: {enabled: false}) { id } }`, anAutomation),
		"Mutation.deleteAutomation":    on("mutation($i: ID!) { deleteAutomation(id: $i) }", anAutomation),
		"Mutation.runAutomation":       on("mutation($i: ID!) { runAutomation(id: $i, payload: {a: 1}) { status } }", anAutomation),
		"Mutation.replayAutomationRun": on("mutation($i: ID!) { replayAutomationRun(id: $i) { status } }", aRun),
		"Mutation.cancelAutomationRun": on("mutation($i: ID!) { cancelAutomationRun(id: $i) { status } }", aRun),
	}
}

func TestSettingsOfAutomationsAreChecked(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	for input, want := range map[string]string{
		`kind: MANUAL, instructions: " "`:                                                                                       "instructions: must not be blank",
		`kind: EMAIL, instructions: "Read {{event.password}}"`:                                                                  "unknown placeholder {{event.password}}",
		`kind: EMAIL, instructions: "x", trigger: {cron: "* * * * *"}`:                                                          "trigger.cron: is not known",
		`kind: MANUAL, instructions: "x", trigger: {a: 1}`:                                                                      "has no settings",
		`kind: SCHEDULE, instructions: "x", trigger: {cron: "* * * * *"}`:                                                       "at least 5 minutes",
		`kind: SCHEDULE, instructions: "x", trigger: {cron: "0 9 * *"}`:                                                         "five fields",
		`kind: SCHEDULE, instructions: "x", trigger: {cron: "0 9 * * *", timezone: "Mars"}`:                                     "trigger.timezone",
		`kind: DOCUMENT, instructions: "x", trigger: {}`:                                                                        "collectionIds",
		`kind: EMAIL, instructions: "x", conditions: [{path: "subject", op: "like", value: "x"}]`:                               "conditions[0].op",
		`kind: EMAIL, instructions: "x", approval: {mode: "sometimes"}`:                                                         "approval.mode",
		`kind: EMAIL, instructions: "x", approval: {onTimeout: "escalate"}`:                                                     "approval.escalateTo",
		`kind: EMAIL, instructions: "x", approval: {approvers: ["00000000-0000-8002-8000-000000000001"]}`:                       "must be members",
		`kind: EVENT, instructions: "x", delivery: [{kind: "reply_email"}]`:                                                     "delivery[0].kind: needs the trigger email",
		`kind: MANUAL, instructions: "x", delivery: [{kind: "document"}]`:                                                       "delivery[0].collectionId",
		`kind: MANUAL, instructions: "x", limits: {runsPerHour: -1}`:                                                            "limits.runsPerHour",
		`kind: MANUAL, instructions: "x", limits: {perMinute: 1}`:                                                               "unknown field",
		`kind: EVENT, instructions: "x", trigger: {integrationId: "00000000-0000-801b-8000-000000000001"}`:                      "Integration not found",
		`kind: MANUAL, instructions: "x", delivery: [{kind: "document", collectionId: "00000000-0000-8005-8000-000000000001"}]`: "Collection not found",
	} {
		got := h.ask(t, ada.viewer, `mutation($i: ID!) { createAutomation(input: {name: "A", agentId: $i, `+input+`}) { id } }`, map[string]any{"i": ada.agent})
		if !strings.Contains(got.body, want) {
			t.Errorf("%s:\n%s", input, got.body)
		}
	}
}

// An automation that runs with the rights of a person is that person's.
func TestOnlyTheOwnerChangesAnAutomationThatRunsAsTheOwner(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	made := h.ask(t, ada.viewer, `mutation($i: ID!) { createAutomation(input: {name: "A", agentId: $i, instructions: "Sum up {{event.text}}", kind: MANUAL}) { id runAs ownerId enabled } }`,
		map[string]any{"i": ada.agent})
	id := map[string]any{"i": made.id(t, "createAutomation.id")}
	editor, admin := h.member(t, ada, "editor@example.com", membership.RoleEditor), h.member(t, ada, "admin@example.com", membership.RoleAdmin)
	for query, codes := range map[string][3]string{
		`mutation($i: ID!) { updateAutomation(id: $i, input: {instructions: "Send me {{event.text}}"}) { id } }`: {"forbidden", "forbidden", ""},
		"mutation($i: ID!) { runAutomation(id: $i) { id } }":                                                     {"forbidden", "forbidden", ""},
		`mutation($i: ID!) { updateAutomation(id: $i, input: {enabled: true}) { id } }`:                          {"forbidden", "forbidden", ""},
		`mutation($i: ID!) { updateAutomation(id: $i, input: {enabled: false}) { id } }`:                         {"forbidden", "", ""},
	} {
		for i, who := range []viewer.Viewer{editor, admin, ada.viewer} {
			if got := h.ask(t, who, query, id); got.code() != codes[i] {
				t.Errorf("%s by %s: %s", query, who.Role, got.body)
			}
		}
	}
	run := h.ask(t, ada.viewer, "mutation($i: ID!) { runAutomation(id: $i, payload: {text: \"private\"}) { id } }", id).id(t, "runAutomation.id")
	h.db.Ent.AutomationRun.UpdateOneID(run).SetAnswer("private answer").SetSubjectID(ada.viewer.Subject).SaveX(ada.system(t))
	query := "query($i: ID!) { automationRun(id: $i) { status output } }"
	if got := h.ask(t, ada.viewer, query, map[string]any{"i": run}); got.at("automationRun.output") != "private answer" {
		t.Errorf("the owner reads %s", got.body)
	}
	if got := h.ask(t, admin, query, map[string]any{"i": run}); got.code() != "" || got.at("automationRun.output") != nil {
		t.Errorf("somebody else reads %s", got.body)
	}
}

func TestTemplatesOfAutomationsCanBeUsed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	store := automation.NewStore(automation.Options{Ent: h.db.Ent, Box: h.box, Index: h.resolver.Index, Deliveries: []string{automation.Document, automation.ReplyEmail}})
	for _, one := range automation.Templates() {
		for _, d := range one.Delivery {
			if d["kind"] == automation.Document {
				d["collectionId"] = ada.collection
			}
		}
		row, err := store.Create(viewer.With(t.Context(), ada.viewer), automation.Draft{
			Name: one.Title, Instructions: one.Instructions, Agent: ada.agent, Kind: one.Kind, Trigger: one.Trigger, Conditions: one.Conditions,
			Approval: one.Approval, Delivery: one.Delivery, Limits: one.Limits,
		})
		if err != nil || !row.Enabled {
			t.Errorf("%s: %v", one.Name, err)
		}
	}
}
