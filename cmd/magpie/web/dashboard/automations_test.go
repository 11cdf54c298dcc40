package dashboard_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// openedIssue is an event of GitHub.
const openedIssue = `{"action": "opened",
	"issue": {"id": 1, "number": 7, "title": "The lamp is dark", "body": "Since Monday", "html_url": "https://github.com/acme/house/issues/7", "user": {"login": "ada"}},
	"repository": {"full_name": "acme/house"}, "sender": {"login": "ada"}}`

// deliver sends an event of GitHub, signed with a secret, and returns the status.
func deliver(t *testing.T, address, secret, id string) (status int) {
	t.Helper()
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, openedIssue) // hashing cannot fail
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(openedIssue))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-GitHub-Event", "issues")
	request.Header.Set("X-GitHub-Delivery", id)
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := new(http.Client).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode
}

// receiver sets GitHub up as a sender of events, and returns its address and secret.
func (p *person) receiver(name string) (address, secret string) {
	p.t.Helper()
	p.open("/inbound/new?provider=github")
	p.fill("Name", name)
	p.hit("Create")
	p.sees("Copy this now")
	address, secret = p.Text(`all("main code")[0].innerText`), p.Text(`all("main code")[1].innerText`)
	p.hit("I have copied it")
	p.Until(`title() === ` + quoted(name))
	return address, secret
}

func TestAutomations(t *testing.T) {
	m := newWorld(t)
	t.Run("receiving events", func(t *testing.T) { receivingEvents(t, m) })
	t.Run("by the clock", func(t *testing.T) { anAutomationByTheClock(t, m) })
	t.Run("by an event", func(t *testing.T) { anAutomationByAnEvent(t, m) })
}

func receivingEvents(t *testing.T, m *world) {
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/inbound")
	address, secret := p.receiver("House")
	p.sees("Nothing has arrived yet")
	if status := deliver(t, address, "wrong", "d-0"); status != http.StatusUnauthorized && status != http.StatusForbidden {
		t.Errorf("an event with a wrong signature is answered with %d", status)
	}
	if status := deliver(t, address, secret, "d-1"); status >= http.StatusMultipleChoices {
		t.Fatalf("an event is answered with %d", status)
	}
	p.hit("Read again")
	p.sees("issues.opened")
	p.Until(`hit("Read again") && (hit("Read again").click(), says("Started none"))`)
	p.hit("Process again")
	p.sees("It is processed again")
	p.accessibleHere("the events of an integration")
	p.choose("State", "Refused")
	p.Until(`!says("The lamp is dark")`)

	p.hit("Test")
	p.Until(`all("[role=dialog] [role=alert]").length === 1 || all("[role=dialog] .mantine-Alert-root").length === 1`)
	p.accessibleHere("the outcome of a test")
	p.hit("Close")
	p.pick("Actions", "Replace the secret")
	p.sees("The old secret is accepted")
	p.accessibleHere("the form of a new secret")
	p.confirm("Replace the secret")
	p.sees("Copy this now")
	again := p.Text(`all("[role=dialog] code")[1].innerText`)
	p.hit("Close")
	p.sees("Old secret accepted until")
	if status := deliver(t, address, again, "d-2"); status >= http.StatusMultipleChoices {
		t.Errorf("an event with the new secret is answered with %d", status)
	}
	p.pick("Actions", "Edit")
	p.fill("Name", "Garden")
	p.hit("Save")
	p.Until(`title() === "Garden"`)
	p.hit("Receives")
	p.sees("Disabled")
	p.pick("Actions", "Delete")
	p.fill("Type Garden to confirm", "Garden")
	p.confirm("Delete")
	p.Until(`location.pathname === "/inbound" && hit("Code") && !hit("Garden")`)
	p.Clean()
}

func anAutomationByTheClock(t *testing.T, m *world) {
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/automations")
	p.hit("New automation")
	p.hit("Use it: Empty")
	p.fill("Name", "Morning round")
	p.fill("Times", "0 7 * * *")
	p.choose("Agent", "Caretaker")
	p.fill("Instructions", "Report on lamps.")
	p.choose("A person approves", "only calls whose tool asks")
	p.hit("Create")
	p.Until(`title() === "Morning round"`)
	p.sees("No runs yet")

	p.hit("Run now")
	p.accessibleHere("the form of a run by hand")
	p.hit("Start")
	p.Until(`all("tr.row").length === 1`)
	p.Until(`all("tr.row")[0].innerText.includes("Completed")`)
	p.hit("Open")
	p.sees("replaced by the night shift")
	p.accessibleHere("a run of an automation")
	p.hit("Run again with this event")
	p.Until(`all("tr.row").filter((e) => e.innerText.includes("Completed")).length === 2`)
	p.hit("Open")
	p.hit("Show the steps")
	p.Until(`title() === "Run"`)
	p.sees("Report on lamps.")
	p.Do(back)
	p.Until(`title() === "Morning round"`)

	p.hit("Settings")
	p.fill("Times", "never")
	p.hit("Save")
	p.Until(`field("Times").getAttribute("aria-invalid") === "true"`)
	p.fill("Times", "30 6 * * *")
	p.fill("Description", "At half past six")
	p.hit("Save")
	p.Until(`says("At half past six")`)
	p.hit("Turn off")
	p.Until(`hit("Turn on")`)
	p.hit("Turn on")
	p.Until(`hit("Turn off")`)
	p.hit("Delete")
	p.fill("Type Morning round to confirm", "Morning round")
	p.confirm("Delete")
	p.Until(`location.pathname === "/automations" && hit("Reports") && !hit("Morning round")`)
	p.Clean()
}

func anAutomationByAnEvent(t *testing.T, m *world) {
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/inbound")
	address, secret := p.receiver("House")
	p.open("/automations/new?template=empty")
	p.fill("Name", "Triage")
	p.choose("Starts", "by an event of a platform")
	p.choose("Received by", "House")
	p.fill("Types of events", "issues.*")
	p.Press("\r")
	p.hit("Add a condition")
	p.fill("Value of the event", "title")
	p.choose("Comparison", "contains")
	p.fill("Compared with", "lamp")
	p.choose("Agent", "Caretaker")
	p.fill("Instructions", "Say who helps. ")
	p.hit("Insert title")
	p.hit("Add a delivery")
	p.choose("Collection", "Handbook")
	p.hit("Create")
	p.Until(`title() === "Triage"`)

	if status := deliver(t, address, secret, "d-1"); status >= http.StatusMultipleChoices {
		t.Fatalf("an event is answered with %d", status)
	}
	// The answer is stored as a document, which a person approves.
	p.open("/approvals")
	p.Until(`all("tr.row").length === 1`)
	p.Click(`all("tr.row a")[0]`)
	p.submit("Approve")
	p.sees("Decided by you (on the dashboard)")
	p.open("/automations")
	p.hit("Triage")
	p.Until(`all("tr.row").length === 1 && (all("tr.row")[0].innerText.includes("Completed") || (hit("Read again")?.click(), false))`)
	p.hit("Open")
	p.sees("The lamp is dark")
	p.sees("Document Handbook")
	p.Clean()
}
