package slack_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/approval/slack"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/ent/auditentry"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/event"
)

func TestAnApprovalIsPostedDecidedAndReplacedByItsOutcome(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	row := f.ask(f.mail())
	f.deliver()
	f.deliver()
	if n := f.slack.calls["chat.postMessage"]; n != 1 {
		t.Fatalf("posted %d times", n)
	}
	message := f.slack.shown()[0]
	has(t, "the message", message, "Send a mail to", "Dear Ada \\u0026amp; Co.", "Why, in the agent's own words: She asked.", `{\"to\": \"ada@example.com\"}`, "Approve", "Edit…", "Reject…",
		"https://app.example.com/approvals/"+row.ID.String(), "Risk: send", "Agent: Guide")
	if now := f.read(row.ID); now.SlackTs == nil || now.NotifiedAt == nil || now.SlackDueAt != nil {
		t.Errorf("after posting: %+v", now)
	}
	if said := f.press("UADA", "approve", f.slack.button("approve")); said != "null" {
		t.Errorf("Ada is told %s", said)
	}
	decided := f.read(row.ID)
	if decided.Status != entapproval.StatusApproved || *decided.DecidedVia != entapproval.DecidedViaSlack {
		t.Errorf("decided: %+v", decided)
	}
	if run := must[*ent.AgentRun](t)(f.db.Ent.AgentRun.Get(f.system(), f.run.ID)); run.Status != agentrun.StatusQueued {
		t.Errorf("the run is %s", run.Status)
	}
	value := f.slack.button("approve")
	f.deliver()
	outcome := f.slack.shown()[0]
	has(t, "the outcome", outcome, "Approved by ada, ")
	if f.slack.button("approve") != "" || len(f.slack.shown()) != 1 {
		t.Errorf("the message has buttons: %s", outcome)
	}
	if said := f.press("UADA", "approve", value); !strings.Contains(said, "ada has already approved this, at ") {
		t.Errorf("a second click is told %s", said)
	}
	f.deliver()
	if n := f.slack.calls["chat.update"]; n != 1 {
		t.Errorf("replaced %d times", n)
	}
}

// A process that stops after Slack took a message has not recorded its name. Whoever uses
// its button names it.
func TestAMessageThatWasNotRecordedIsReplacedByItsOutcome(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	row := f.ask(f.mail())
	f.deliver()
	must[*ent.Approval](t)(f.read(row.ID).Update().ClearSlackTs().SetSlackDueAt(f.clock().Add(20 * time.Second)).Save(f.system()))
	if said := f.press("UADA", "approve", f.slack.button("approve")); said != "null" {
		t.Errorf("Ada is told %s", said)
	}
	f.deliver()
	f.advance(time.Minute)
	f.deliver()
	if all := f.slack.shown(); len(all) != 1 || !strings.Contains(all[0], "Approved by ada, ") {
		t.Errorf("the messages are %s", all)
	}
}

func TestOnlyApproversDecideAndOthersAreTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	row := f.ask(f.mail())
	f.deliver()
	value := f.slack.button("approve")
	f.slack.users["UBOT"], f.slack.users["UGONE"], f.slack.users["UOPEN"] = slackUser("ada@example.com", "T1"), slackUser("ada@example.com", "T1"), slackUser("ada@example.com", "T1")
	f.slack.users["UBOT"]["is_bot"], f.slack.users["UGONE"]["deleted"], f.slack.users["UOPEN"]["is_email_confirmed"] = true, true, false
	f.slack.users["UFAR"] = slackUser("ada@example.com", "T2")
	for _, user := range []string{"UBOB", "UEVE", "UBOT", "UGONE", "UOPEN", "UFAR", "UNKNOWN"} {
		for _, action := range []string{"approve", "edit", "reject"} {
			if said := f.press(user, action, value); !strings.Contains(said, "You are not an approver") || !strings.Contains(said, "ephemeral") {
				t.Errorf("%s, %s: told %s", user, action, said)
			}
		}
	}
	if f.read(row.ID).Status != entapproval.StatusPending || len(f.slack.views) != 0 {
		t.Error("somebody else decided")
	}
	entries := must[[]*ent.AuditEntry](t)(f.db.Ent.AuditEntry.Query().Where(auditentry.Action("approval.refuse")).All(f.system()))
	if len(entries) != 21 || entries[0].TargetName != "mail.send" {
		t.Errorf("the audit log has %d refusals", len(entries))
	}
	for _, wrong := range []string{row.ID.String(), row.ID.String() + ".x", uuid.NewString() + "." + row.Nonce, "x"} {
		if said := f.press("UADA", "approve", wrong); !strings.Contains(said, "does not exist") {
			t.Errorf("%s: told %s", wrong, said)
		}
	}
	if n := f.slack.calls["users.info"]; n > 30 {
		t.Errorf("Slack was asked %d times", n)
	}
}

func TestFormsEditCommentConfirmAndAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	edited := f.ask(f.mail())
	f.deliver()
	if said := f.press("UADA", "edit", f.slack.button("edit")); said != "null" {
		t.Errorf("told %s", said)
	}
	has(t, "a bad edit", f.submit("UADA", map[string]string{"arguments": "no JSON", "comment": ""}), `"errors":{"arguments":"arguments: must be a JSON object"}`)
	has(t, "an edit that does not fit the tool", f.submit("UADA", map[string]string{"arguments": `{"to": 5}`, "comment": ""}), `"errors":{"arguments":"arguments.to: must be a string"}`)
	if row := f.read(edited.ID); row.Status != entapproval.StatusPending {
		t.Errorf("a bad edit decides: %s", row.Status)
	}
	has(t, "another's edit", f.submit("UBOB", map[string]string{"arguments": "{}", "comment": ""}), "You are not an approver")
	if got := f.submit("UADA", map[string]string{"arguments": `{"to": "bob@example.com"}`, "comment": "To Bob."}); got != "" {
		t.Errorf("edited: %s", got)
	}
	if row := f.read(edited.ID); row.Status != entapproval.StatusEdited || string(approval.Arguments(row)) != `{"to": "bob@example.com"}` || *row.Comment != "To Bob." {
		t.Errorf("edited: %+v", row)
	}
	has(t, "edited again", f.submit("UADA", map[string]string{"arguments": "{}", "comment": ""}), `"comment":"ada has already edited this`)
	f.clear()

	rejected := f.ask(f.mail())
	f.deliver()
	f.press("UADA", "reject", f.slack.button("reject"))
	if got := f.submit("UADA", map[string]string{"comment": "Too early."}); got != "" {
		t.Errorf("rejected: %s", got)
	}
	f.deliver()
	if row := f.read(rejected.ID); row.Status != entapproval.StatusRejected || *row.Comment != "Too early." {
		t.Errorf("rejected: %+v", row)
	}
	has(t, "the outcome", f.slack.shown()[0], "Rejected by ada", "Comment: Too early.")
	f.clear()

	deletion := f.mail()
	deletion.Risk, deletion.Tool = policy.Delete, "files.delete"
	deleted := f.ask(deletion)
	f.deliver()
	if f.slack.button("approve") != "" {
		t.Error("a deletion can be approved by one click")
	}
	f.press("UADA", "confirm", f.slack.button("confirm"))
	has(t, "a wrong name", f.submit("UADA", map[string]string{"confirm": "files", "comment": ""}), `"confirm":"confirm: must be files.delete`)
	if got := f.submit("UADA", map[string]string{"confirm": "files.delete", "comment": ""}); got != "" || f.read(deleted.ID).Status != entapproval.StatusApproved {
		t.Errorf("confirmed: %s, %s", got, f.read(deleted.ID).Status)
	}
	f.clear()

	question := f.mail()
	question.Kind, question.Risk, question.Options = entapproval.KindQuestion, policy.Question, []string{"Today", "Tomorrow"}
	asked, open := f.ask(question), question
	f.deliver()
	f.press("UADA", "option_1", f.slack.button("option_1"))
	if row := f.read(asked.ID); row.Status != entapproval.StatusAnswered || *row.Answer != "Tomorrow" {
		t.Errorf("answered: %+v", row)
	}
	f.clear()
	open.CallID = uuid.NewString()
	asked = f.ask(open)
	f.deliver()
	f.press("UADA", "answer", f.slack.button("answer"))
	if got := f.submit("UADA", map[string]string{"answer": "Next week", "comment": ""}); got != "" || *f.read(asked.ID).Answer != "Next week" {
		t.Errorf("answered: %s", got)
	}
}

func TestOnlyGenuineAndRecentRequestsAreAccepted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	row := f.ask(f.mail())
	f.deliver()
	body := payload(object{
		"type": "block_actions", "team": object{"id": "T1"}, "user": object{"id": "UADA"}, "response_url": "https://evil.example/x",
		"actions": []object{{"action_id": "approve", "value": row.ID.String() + "." + row.Nonce}},
	})
	flipped := f.signed(body, signingSecret, f.now)
	flipped.Body = bytes.Clone(flipped.Body)
	flipped.Body[len(flipped.Body)/2] ^= 1
	unsigned := f.signed(body, signingSecret, f.now)
	unsigned.Header.Del("X-Slack-Signature")
	for what, r := range map[string]*event.Request{
		"one bit flipped": flipped, "unsigned": unsigned, "another secret": f.signed(body, "other", f.now), "an empty secret": f.signed(body, "", f.now),
		"stale": f.signed(body, signingSecret, f.now.Add(-6*time.Minute)), "from the future": f.signed(body, signingSecret, f.now.Add(6*time.Minute)),
	} {
		for _, integration := range []uuid.UUID{f.integration, uuid.Nil} {
			if _, err := f.app.Receive(t.Context(), integration, r); codeOf(err) != apierr.InvalidSignature && (what != "one bit flipped" || codeOf(err) != apierr.InvalidRequest) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	if f.read(row.ID).Status != entapproval.StatusPending {
		t.Fatal("a forged request decided")
	}
	if _, err := f.app.Receive(t.Context(), uuid.New(), f.signed(body, signingSecret, f.now)); codeOf(err) != apierr.CodeNotFound {
		t.Errorf("an unknown integration: %v", err)
	}
	if answer, err := f.app.Receive(t.Context(), uuid.Nil, &event.Request{Body: []byte("ssl_check=1&token=x")}); err != nil || len(answer.Body) != 0 {
		t.Errorf("a check of the certificate: %q, %v", answer.Body, err)
	}
	if _, err := f.app.Receive(t.Context(), f.integration, f.signed("payload=%7B", signingSecret, f.now)); codeOf(err) != apierr.InvalidRequest {
		t.Errorf("no payload: %v", err)
	}
	// The team finds the integration for the address without an id.
	if _, err := f.app.Receive(t.Context(), uuid.Nil, f.signed(body, signingSecret, f.now)); err != nil || f.read(row.ID).Status != entapproval.StatusApproved {
		t.Errorf("by its team: %v", err)
	}
}

func TestAMessageSurvivesFailuresOfSlack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	row := f.ask(f.mail())
	f.slack.fail["chat.postMessage"] = []string{"429", "500", "internal_error"}
	for _, wait := range []time.Duration{0, 40 * time.Second, time.Minute, 2 * time.Minute} {
		f.advance(wait)
		f.deliver()
	}
	if now := f.read(row.ID); now.SlackTs == nil || now.SlackError != nil || f.slack.calls["chat.postMessage"] != 4 {
		t.Errorf("after %d calls: %+v", f.slack.calls["chat.postMessage"], now)
	}
	lost := f.mail()
	lost.Channel = &approval.Channel{Integration: f.integration, Name: "C0LOST000"}
	other := f.ask(lost)
	f.deliver()
	f.advance(time.Hour)
	f.deliver()
	if now := f.read(other.ID); now.SlackDueAt != nil || now.SlackError == nil || !strings.Contains(*now.SlackError, "channel_not_found") || f.slack.calls["chat.postMessage"] != 5 {
		t.Errorf("a channel that does not exist: %+v", now)
	}
	// Expiry is an outcome, too.
	f.advance(24 * time.Hour)
	if _, err := f.store.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.deliver()
	has(t, "the outcome", f.slack.shown()[0], "Expired, ")
	// An integration that is gone posts nothing.
	gone := f.ask(f.mail())
	if err := f.inbox.Delete(f.system(), f.integration); err != nil {
		t.Fatal(err)
	}
	f.deliver()
	if now := f.read(gone.ID); now.SlackDueAt != nil || now.SlackError == nil || now.SlackTs != nil {
		t.Errorf("without an integration: %+v", now)
	}
}

func TestAMessageMayHaveNothingButALink(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]any{"detail": "link_only"})
	row := f.ask(f.mail())
	f.deliver()
	message := f.slack.shown()[0]
	has(t, "the message", message, "https://app.example.com/approvals/"+row.ID.String())
	for _, part := range []string{"Ada", "ada@", "mail", row.Nonce, "Approve"} {
		if strings.Contains(message, part) {
			t.Errorf("%q is in %s", part, message)
		}
	}
	if f.press("UADA", "open", ""); f.read(row.ID).Status != entapproval.StatusPending {
		t.Error("opening it decided")
	}
}

func TestLongTextsFitSlack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	long := f.mail()
	long.Title, long.Preview, long.Reason = strings.Repeat("<&>", 200), strings.Repeat("é&", 40_000), strings.Repeat(">", 5_000)
	arguments, err := json.Marshal(map[string]string{"text": strings.Repeat("`", 5_000)})
	if err != nil {
		t.Fatal(err)
	}
	long.Arguments = arguments
	f.ask(long)
	f.deliver() // the stand-in checks the limits
	if len(f.slack.shown()) != 1 || f.slack.button("edit") != "" || f.slack.button("approve") == "" {
		t.Errorf("posted: %d messages", len(f.slack.shown()))
	}
}

func FuzzInteraction(f *testing.F) {
	f.Add("payload=%7B%22type%22%3A%22block_actions%22%2C%22user%22%3A%7B%22id%22%3A%22U%22%7D%7D")
	f.Add("ssl_check=1")
	f.Add("payload=[]&payload=%zz")
	provider := slack.New(slack.Options{}).Provider()
	f.Fuzz(func(t *testing.T, body string) {
		r := &event.Request{Body: []byte(body)}
		if _, ok := provider.Open(r); ok {
			return
		}
		keys, err := provider.Route(r)
		if len(keys) > 1 || err != nil && len(keys) > 0 {
			t.Errorf("%q: %v, %v", body, keys, err)
		}
	})
}
