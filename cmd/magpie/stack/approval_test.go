package stack_test

import (
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/viewer"
)

// askApproval makes a run ask for an approval, and allows a tool to its agent.
func (s *service) askApproval(name, agent, run string) (approval, grant string) {
	s.t.Helper()
	all := viewer.With(s.t.Context(), viewer.System(uuid.Nil))
	row, err := s.app.DB.Ent.AgentRun.Get(all, uuid.MustParse(run))
	if err != nil {
		s.t.Fatal(err)
	}
	system := viewer.With(s.t.Context(), viewer.System(row.WorkspaceID))
	now := time.Now()
	asked, err := s.app.DB.Ent.Approval.Create().SetRunID(row.ID).SetAgentID(uuid.MustParse(agent)).SetSubjectID(row.SubjectID).SetCallID("1").SetTool("mail.send").
		SetRisk("SEND").SetTitle("Send the " + canary + " of " + name).SetArguments(`{"text": "The ` + canary + ` of ` + name + `"}`).SetArgumentsHash("x").
		SetApproverRole("VIEWER").SetRequestedAt(now).SetExpiresAt(now.Add(time.Hour)).SetNonce("n").Save(system)
	if err != nil {
		s.t.Fatal(err)
	}
	allowed, err := s.app.DB.Ent.ToolGrant.Create().SetAgentID(uuid.MustParse(agent)).SetTool("mail.send").SetScope("AGENT").SetCreatedBy(row.SubjectID).Save(system)
	if err != nil {
		s.t.Fatal(err)
	}
	return asked.ID.String(), allowed.ID.String()
}

// approvalIntrusions has one case for each route of approvals.
func approvalIntrusions(ada belongings) map[string]intrusion {
	const all, settings = "/api/v1/approvals", "/api/v1/approval-settings"
	one := all + "/" + ada.approval
	return map[string]intrusion{
		"GET " + all:                          {all + "?run=" + ada.run, nil, 404},
		"GET " + all + "/{id}":                {one, nil, 404},
		"POST " + all + "/{id}/approve":       {one + "/approve", map[string]any{}, 404},
		"POST " + all + "/{id}/reject":        {one + "/reject", map[string]any{"comment": "No."}, 404},
		"POST " + all + "/{id}/answer":        {one + "/answer", map[string]any{"answer": "Yes"}, 404},
		"GET /api/v1/agents/{id}/tool-grants": {"/api/v1/agents/" + ada.agent + "/tool-grants", nil, 404},
		"DELETE /api/v1/tool-grants/{id}":     {"/api/v1/tool-grants/" + ada.allowed, nil, 404},
		"GET " + settings:                     {settings, nil, 200},
		"PUT " + settings:                     {settings, map[string]any{"slackIntegrationId": ada.integration, "slackChannel": "C024BE91L"}, 404},
	}
}
