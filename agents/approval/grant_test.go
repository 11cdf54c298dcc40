package approval_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/toolgrant"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// granted returns in which of some runs a tool needs no consent.
func (f *fixture) granted(t *testing.T, tool string, runs map[string]*ent.AgentRun) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for name, run := range runs {
		if must[bool](t)(f.store.Granted(f.people["ada"], run, tool)) {
			out[name] = true
		}
	}
	return out
}

func TestAGrantHoldsForItsScopeUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	same := must[*ent.AgentRun](t)(f.db.Ent.AgentRun.Create().SetAgentID(f.agent.ID).SetConversationID(f.run.ConversationID).SetMessage("More").Save(f.people["ada"]))
	runs := map[string]*ent.AgentRun{"run": f.run, "conversation": same, "other": f.newRun(t, "bob")}
	for remember, want := range map[approval.Remember][]string{
		approval.Once: nil, approval.ForRun: {"run"}, approval.ForConversation: {"run", "conversation"}, approval.ForAgent: {"run", "conversation", "other"},
	} {
		request := mail(string(remember))
		request.Tool = "tool." + string(remember)
		request.Role = viewer.RoleEditor
		row := f.ask(t, f.run, request)[0]
		person := "ada"
		if remember == approval.ForAgent {
			person = "eve"
		}
		must[*ent.Approval](t)(f.decide(person, row, approval.Decision{Action: approval.Approve, Remember: remember}))
		got := f.granted(t, request.Tool, runs)
		if len(got) != len(want) {
			t.Errorf("%s: granted in %v", remember, got)
		}
		for _, name := range want {
			if !got[name] {
				t.Errorf("%s: not granted in %s", remember, name)
			}
		}
		if f.granted(t, "tool.other", runs)["run"] {
			t.Errorf("%s: another tool is granted", remember)
		}
		for _, g := range must[[]*ent.ToolGrant](t)(f.store.Grants(f.people[person], f.agent.ID).Where(toolgrant.Tool(request.Tool)).All(f.people[person])) {
			if _, err := f.store.Revoke(f.people["mallory"], g.ID); codeOf(err) != apierr.CodeNotFound {
				t.Errorf("%s: another workspace revoked it: %v", remember, err)
			}
			if _, err := f.store.Revoke(f.people["bob"], g.ID); err == nil {
				t.Errorf("%s: another person revoked it", remember)
			}
			if revoked := must[*ent.ToolGrant](t)(f.store.Revoke(f.people[person], g.ID)); revoked.RevokedAt == nil || *revoked.RevokedBy != f.person(person) {
				t.Errorf("%s: revoked: %+v", remember, revoked)
			}
		}
		if got := f.granted(t, request.Tool, runs); len(got) != 0 {
			t.Errorf("%s: still granted in %v", remember, got)
		}
	}
}

func TestAnApproverAllowsOnlyWhatIsTheirs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	request := mail("1")
	request.Approvers = []uuid.UUID{f.person("bob")}
	row := f.ask(t, f.run, request)[0]
	for _, remember := range []approval.Remember{approval.ForConversation, approval.ForAgent} {
		if _, err := f.decide("bob", row, approval.Decision{Action: approval.Approve, Remember: remember}); codeOf(err) != apierr.Forbidden {
			t.Errorf("%s: %v", remember, err)
		}
	}
	must[*ent.Approval](t)(f.decide("bob", row, approval.Decision{Action: approval.Approve, Remember: approval.ForRun}))
	if !must[bool](t)(f.store.Granted(f.people["ada"], f.run, "mail.send")) {
		t.Error("the run has no grant")
	}
	for name, want := range map[string]int{"ada": 1, "bob": 1, "joe": 0, "mallory": 0} {
		if n := must[int](t)(f.store.Grants(f.people[name], f.agent.ID).Count(f.people[name])); n != want {
			t.Errorf("%s sees %d grants", name, n)
		}
	}
}
