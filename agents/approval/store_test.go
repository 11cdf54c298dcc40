package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestWhatIsApprovedIsWhatWasAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	row := f.ask(t, f.run, mail("1"))[0]
	if row.Status != entapproval.StatusPending || row.Arguments != mailArguments || row.ArgumentsHash != approval.Hash(json.RawMessage(mailArguments)) ||
		row.ExpiresAt.Sub(row.RequestedAt) != 24*time.Hour || row.Risk != entapproval.RiskSend || row.SubjectID != f.person("ada") {
		t.Errorf("asked: %+v", row)
	}
	if again := f.ask(t, f.run, mail("1"))[0]; again.ID != row.ID {
		t.Error("the same call has two approvals")
	}
	decided := must[*ent.Approval](t)(f.decide("ada", row, approval.Decision{Action: approval.Approve, Comment: "Fine.", ExpectedHash: row.ArgumentsHash}))
	if decided.Status != entapproval.StatusApproved || *decided.DecidedBy != f.person("ada") || *decided.DecidedVia != "DASHBOARD" || *decided.Comment != "Fine." ||
		string(approval.Arguments(decided)) != mailArguments {
		t.Errorf("decided: %+v", decided)
	}
	if f.status(t, f.run) != agentrun.StatusQueued || f.resumes() != 1 {
		t.Errorf("the run is %s, resumed %d times", f.status(t, f.run), f.resumes())
	}
}

func TestARunContinuesWithItsLastDecision(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows := f.ask(t, f.run, mail("1"), mail("2"), mail("3"))
	for i, row := range rows {
		must[*ent.Approval](t)(f.decide("ada", row, approval.Decision{Action: approval.Reject}))
		if want := i == len(rows)-1; (f.status(t, f.run) == agentrun.StatusQueued) != want || (f.resumes() == 1) != want {
			t.Errorf("after %d decisions the run is %s, resumed %d times", i+1, f.status(t, f.run), f.resumes())
		}
	}
	all := must[[]*ent.Approval](t)(f.store.OfRun(t.Context(), f.db.Ent, f.run))
	if len(all) != 3 || all[0].CallID != "1" || all[2].Status != entapproval.StatusRejected {
		t.Errorf("the run has %v", all)
	}
}

func TestConcurrentDecisionsResumeARunOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows := f.ask(t, f.run, mail("1"), mail("2"), mail("3"), mail("4"))
	var all sync.WaitGroup
	var mu sync.Mutex
	won, lost := 0, 0
	for _, row := range rows {
		for range 2 {
			all.Go(func() {
				_, err := f.decide("ada", row, approval.Decision{Action: approval.Approve})
				mu.Lock()
				defer mu.Unlock()
				switch codeOf(err) {
				case "":
					won++
				case apierr.Conflict:
					lost++
				default:
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if won != 4 || lost != 4 || f.resumes() != 1 || f.status(t, f.run) != agentrun.StatusQueued {
		t.Errorf("%d decided, %d too late, resumed %d times, the run is %s", won, lost, f.resumes(), f.status(t, f.run))
	}
}

func TestTheSecondToDecideLearnsWhoDecidedAndWhen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.now = time.Date(2027, 3, 4, 14, 2, 30, 0, time.UTC)
	request := mail("1")
	request.Role = viewer.RoleEditor
	row := f.ask(t, f.run, request)[0]
	must[*ent.Approval](t)(f.decide("eve", row, approval.Decision{Action: approval.Reject}))
	f.advance(time.Hour)
	for _, name := range []string{"ada", "joe", "eve"} {
		_, err := f.decide(name, row, approval.Decision{Action: approval.Approve})
		if codeOf(err) != apierr.Conflict || apierr.From(err).Message != "eve has already rejected this, at 2027-03-04 14:02 UTC" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhoSeesAndWhoDecides(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const sees, decides, nothing = apierr.Forbidden, apierr.Code(""), apierr.CodeNotFound
	for name, c := range map[string]struct {
		change func(*approval.Request)
		want   map[string]apierr.Code
	}{
		"nobody named": {func(*approval.Request) {}, map[string]apierr.Code{"ada": decides, "bob": nothing, "eve": nothing, "joe": nothing, "zoe": nothing, "mallory": nothing}},
		"bob named": {func(r *approval.Request) { r.Approvers = []uuid.UUID{f.person("bob")} },
			map[string]apierr.Code{"ada": decides, "bob": decides, "eve": nothing, "joe": nothing, "zoe": nothing, "mallory": nothing}},
		"admins": {func(r *approval.Request) { r.Role = viewer.RoleAdmin },
			map[string]apierr.Code{"ada": decides, "bob": nothing, "eve": nothing, "joe": decides, "zoe": decides, "mallory": nothing}},
		"others only": {func(r *approval.Request) { r.Role, r.OthersOnly = viewer.RoleViewer, true },
			map[string]apierr.Code{"ada": sees, "bob": decides, "eve": decides, "joe": decides, "zoe": decides, "mallory": nothing}},
	} {
		for person, want := range c.want {
			request := mail(name + person)
			c.change(&request)
			row := f.ask(t, f.run, request)[0]
			_, err := f.decide(person, row, approval.Decision{Action: approval.Approve})
			if codeOf(err) != want {
				t.Errorf("%s, %s: %v, want %q", name, person, err, want)
			}
			_, err = f.db.Ent.Approval.Get(f.people[person], row.ID)
			if ent.IsNotFound(err) != (want == nothing) {
				t.Errorf("%s, %s reads: %v", name, person, err)
			}
		}
	}
	row := f.ask(t, f.run, mail("key"))[0]
	key := viewer.With(t.Context(), viewer.Viewer{Workspace: f.workspace, Subject: f.person("ada"), Kind: viewer.KindKey, Role: viewer.RoleOwner, AllCollections: true, Secret: true})
	if _, err := f.store.Decide(key, row.ID, approval.Decision{Action: approval.Approve}, "API"); err == nil {
		t.Error("an API key decides")
	}
}

func TestDecisionsAreChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	deletion, question, unknown := mail("delete"), mail("question"), mail("unknown")
	deletion.Risk, deletion.Tool = policy.Delete, "files.delete"
	question.Kind, question.Risk, question.Options = entapproval.KindQuestion, policy.Question, []string{"Yes", "No"}
	unknown.Kind = entapproval.KindUnknownEffect
	rows := f.ask(t, f.run, mail("mail"), deletion, question, unknown)
	edited := json.RawMessage(`{"to":"bob@example.com"}`)
	for _, c := range []struct {
		row  int
		d    approval.Decision
		want string
	}{
		{0, approval.Decision{Action: "maybe"}, "action: must be one of"},
		{0, approval.Decision{Action: approval.Answer, Answer: "Yes"}, "action: only questions are answered"},
		{0, approval.Decision{Action: approval.Approve, Answer: "Yes"}, "answer: is for the action answer only"},
		{0, approval.Decision{Action: approval.Reject, Arguments: edited}, "arguments: are for the action edit only"},
		{0, approval.Decision{Action: approval.Approve, Arguments: json.RawMessage(`{}`)}, "arguments.to: is required"},
		{0, approval.Decision{Action: approval.Approve, ExpectedHash: "x"}, "The arguments are not those that you saw"},
		{0, approval.Decision{Action: approval.Approve, Comment: strings.Repeat("a", 4001)}, "comment: "},
		{0, approval.Decision{Action: approval.Edit}, "arguments: must be a JSON object"},
		{0, approval.Decision{Action: approval.Edit, Arguments: json.RawMessage(`[]`)}, "arguments: must be a JSON object"},
		{0, approval.Decision{Action: approval.Edit, Arguments: json.RawMessage(`null`)}, "arguments: must be a JSON object"},
		{0, approval.Decision{Action: approval.Edit, Arguments: json.RawMessage(`{}`)}, "arguments.to: is required"},
		{0, approval.Decision{Action: approval.Approve, Remember: "always"}, "remember: must be one of"},
		{0, approval.Decision{Action: approval.Edit, Arguments: edited, Remember: approval.ForRun}, "remember: only an approval as it is"},
		{0, approval.Decision{Action: approval.Approve, Remember: approval.ForAgent}, "Only editors"},
		{1, approval.Decision{Action: approval.Approve}, "confirm: must be files.delete"},
		{1, approval.Decision{Action: approval.Approve, Confirm: "files.delete", Remember: approval.ForRun}, "remember: this is asked each time"},
		{2, approval.Decision{Action: approval.Approve}, "action: a question is answered"},
		{2, approval.Decision{Action: approval.Answer}, "answer: "},
		{3, approval.Decision{Action: approval.Edit, Arguments: edited}, "action: only a call that was not made yet"},
	} {
		_, err := f.decide("ada", rows[c.row], c.d)
		if err == nil || !strings.Contains(apierr.From(err).Message, c.want) {
			t.Errorf("%+v: %v, want %q", c.d, err, c.want)
		}
	}
	if f.status(t, f.run) != agentrun.StatusWaiting {
		t.Error("a refused decision continued the run")
	}
	for i, d := range []approval.Decision{
		{Action: approval.Edit, Arguments: edited}, {Action: approval.Approve, Confirm: "files.delete"}, {Action: approval.Answer, Answer: "Perhaps"}, {Action: approval.Approve},
	} {
		decided := must[*ent.Approval](t)(f.decide("ada", rows[i], d))
		if i == 0 && (decided.Status != entapproval.StatusEdited || string(approval.Arguments(decided)) != string(edited) || decided.Arguments != mailArguments) {
			t.Errorf("edited: %+v", decided)
		}
		if i == 2 && (decided.Status != entapproval.StatusAnswered || *decided.Answer != "Perhaps") {
			t.Errorf("answered: %+v", decided)
		}
	}
}

func TestRequestsThatCannotBeShownAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for field, change := range map[string]func(*approval.Request){
		"tool":      func(r *approval.Request) { r.CallID = "" },
		"arguments": func(r *approval.Request) { r.Arguments = json.RawMessage(`"text"`) },
		"options":   func(r *approval.Request) { r.Options = []string{"two\nlines"} },
		"approvers": func(r *approval.Request) { r.OthersOnly = true },
		"role":      func(r *approval.Request) { r.Role = "guest" },
	} {
		request := mail("1")
		change(&request)
		_, err := f.store.Create(f.people["ada"], f.db.Ent, f.run, []approval.Request{request})
		if codeOf(err) != apierr.InvalidRequest || apierr.From(err).Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestExpiredApprovalsCannotBeDecidedAndEndTheWait(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	short, long := mail("1"), mail("2")
	short.Expiry = time.Hour
	rows := f.ask(t, f.run, short, long)
	if runs := must[[]uuid.UUID](t)(f.store.Expire(t.Context())); len(runs) != 0 {
		t.Errorf("expired at once: %v", runs)
	}
	f.advance(time.Hour)
	if _, err := f.decide("ada", rows[0], approval.Decision{Action: approval.Approve}); codeOf(err) != apierr.Conflict || !strings.Contains(err.Error(), "expired at") {
		t.Errorf("decided too late: %v", err)
	}
	if runs := must[[]uuid.UUID](t)(f.store.Expire(t.Context())); len(runs) != 1 || f.status(t, f.run) != agentrun.StatusWaiting {
		t.Errorf("expired: %v, the run is %s", runs, f.status(t, f.run))
	}
	f.advance(24 * time.Hour)
	var sweeps sync.WaitGroup
	var mu sync.Mutex
	ended := 0
	for range 4 {
		sweeps.Go(func() {
			runs, err := f.store.Expire(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			ended += len(runs)
		})
	}
	sweeps.Wait()
	if ended != 1 || f.resumes() != 1 || f.status(t, f.run) != agentrun.StatusQueued {
		t.Errorf("%d sweeps ended the wait, resumed %d times, the run is %s", ended, f.resumes(), f.status(t, f.run))
	}
	if _, err := f.decide("ada", rows[1], approval.Decision{Action: approval.Approve}); codeOf(err) != apierr.Conflict || !strings.Contains(err.Error(), "expired at") {
		t.Errorf("decided after the sweep: %v", err)
	}
}

func TestTheEndOfARunCancelsWhatItAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows := f.ask(t, f.run, mail("1"), mail("2"))
	must[*ent.Approval](t)(f.decide("ada", rows[0], approval.Decision{Action: approval.Approve}))
	if err := f.store.CancelRun(f.people["ada"], f.db.Ent, f.run); err != nil {
		t.Fatal(err)
	}
	all := must[[]*ent.Approval](t)(f.store.OfRun(t.Context(), f.db.Ent, f.run))
	if all[0].Status != entapproval.StatusApproved || all[1].Status != entapproval.StatusCanceled {
		t.Errorf("%s, %s", all[0].Status, all[1].Status)
	}
	if _, err := f.decide("ada", rows[1], approval.Decision{Action: approval.Approve}); codeOf(err) != apierr.Conflict || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("decided: %v", err)
	}
}

func TestADecisionThatIsNotCommittedResumesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	row := f.ask(t, f.run, mail("1"))[0]
	failure := errors.New("later")
	err := transaction.In(f.people["ada"], f.db.Ent, func(ctx context.Context, _ *ent.Client) error {
		if _, err := f.store.Decide(ctx, row.ID, approval.Decision{Action: approval.Approve}, "API"); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) || f.resumes() != 0 || f.status(t, f.run) != agentrun.StatusWaiting {
		t.Errorf("%v, resumed %d times, the run is %s", err, f.resumes(), f.status(t, f.run))
	}
}
