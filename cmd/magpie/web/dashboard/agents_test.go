package dashboard_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// submit presses a button of a form of the page, whatever else has its name.
func (p *person) submit(name string) {
	p.t.Helper()
	button := `all("main form button").find((e) => named(e) === ` + quoted(name) + ` && !e.disabled)`
	p.Click(button)
}

// tell sends a message to the agent, when its last run has ended.
func (p *person) tell(message string) {
	p.t.Helper()
	p.fill("Message", message)
	p.Until(`hit("Send")`)
	p.Press("\r")
}

// offline cuts the window off from the network, or ends that.
func offline(is bool) chromedp.Action {
	return network.EmulateNetworkConditions(is, 0, -1, -1)
}

func TestAgents(t *testing.T) {
	m := newWorld(t)
	t.Run("made", func(t *testing.T) { makingAnAgent(t, m) })
	t.Run("remember", func(t *testing.T) { whatAnAgentRemembers(t, m) })
	t.Run("run", func(t *testing.T) { runningAnAgent(t, m) })
	t.Run("a lost connection", func(t *testing.T) { aLostConnection(t, m) })
	t.Run("canceled", func(t *testing.T) { cancelingARun(t, m) })
	t.Run("decided about", func(t *testing.T) { decidingWhatAgentsMayDo(t, m) })
}

func makingAnAgent(t *testing.T, m *world) {
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/agents")
	p.hit("New agent")
	p.fill("Name", "Porter")
	p.fill("Instructions", "You answer at the door.")
	p.hit("Ask a person")
	p.hit("All collections")
	p.choose("Collections that it may search", "Handbook")
	p.Press("\x1b")
	p.fill("Greeting", "Good morning!")
	p.hit("Create")
	p.Until(`title() === "Porter"`)
	p.sees("Good morning!")

	p.hit("Edit")
	p.fill("Name", "Concierge")
	p.hit("Create a ticket")
	p.hit("Save")
	p.Until(`title() === "Concierge"`)
	type made struct {
		Name               string
		Tools, Collections []string
		AllCollections     bool
	}
	var got struct {
		Agents struct{ Edges []struct{ Node made } }
	}
	m.GraphQL(&got, `{ agents(first: 10) { edges { node { name tools collections allCollections } } } }`, nil)
	agents := got.Agents.Edges
	at := slices.IndexFunc(agents, func(edge struct{ Node made }) bool { return edge.Node.Name == "Concierge" })
	if at < 0 {
		t.Fatalf("the agents are %+v", agents)
	}
	if agent := agents[at].Node; !slices.Equal(agent.Tools, []string{"search_documents", "get_document", "ask_human", "desk.create_ticket"}) || !slices.Equal(agent.Collections, []string{m.collection}) || agent.AllCollections {
		t.Errorf("the agent is %+v", agent)
	}

	p.hit("Actions")
	p.accessibleHere("the menu of an agent")
	p.hit("Make a template of it")
	p.fill("Category", "house")
	p.accessibleHere("the form of a template")
	p.hit("Save")
	p.Until(`!all("[role=dialog]").length`) // "Saved" may still be there of the agent
	p.sees("Saved")
	p.open("/agents?tab=templates")
	p.findTemplate("Concierge")
	p.pick("Actions: Concierge", "Edit")
	p.fill("Name", "Doorkeeper")
	p.hit("Save")
	p.findTemplate("Doorkeeper")
	p.hit("Use it: Doorkeeper")
	p.Until(`field("Name")?.value === "Doorkeeper" && field("Instructions").value === "You answer at the door."`)
	p.hit("Create")
	p.Until(`title() === "Doorkeeper"`)
	p.pick("Actions", "Delete the agent")
	p.fill("Type Doorkeeper to confirm", "Doorkeeper")
	p.confirm("Delete")
	p.Until(`location.pathname === "/agents" && settled() && hit("Concierge") && !hit("Doorkeeper")`)
	p.hit("Templates")
	p.findTemplate("Doorkeeper")
	p.pick("Actions: Doorkeeper", "Delete")
	p.fill("Type Doorkeeper to confirm", "Doorkeeper")
	p.confirm("Delete")
	p.sees("No template fits")
	p.Clean()
}

// findTemplate waits until the templates are those with the text, and no card moves any more.
func (p *person) findTemplate(text string) {
	p.t.Helper()
	p.fill("Find a template", text)
	p.Until(`new URLSearchParams(location.search).get("q") === ` + quoted(text))
}

func whatAnAgentRemembers(t *testing.T, m *world) {
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, m.address("/agents/{agent}?tab=memories"))
	p.hit("New memory")
	p.fill("Text", "Lamps are warm white")
	p.accessibleHere("the form of a memory")
	p.hit("Save")
	p.hit("Edit: Lamps are warm white")
	p.fill("Text", "Lamps are cold white")
	p.hit("Save")
	p.fill("Search memories", "cold lamps")
	p.Until(`new URLSearchParams(location.search).get("q") === "cold lamps"`)
	p.Do(chromedp.Reload())
	p.Until(`field("Search memories")?.value === "cold lamps"`)
	p.hit("Delete: Lamps are cold white")
	p.sees("No memory fits")
	p.hit("Undo")
	p.hit("Delete: Lamps are cold white")
	p.sees("No memory fits")
	p.hit("Close")
	p.Until(`!says("was deleted")`)
	p.open(m.address("/agents/{agent}?tab=memories"))
	p.sees("No memories yet")
	p.Clean()
}

// actingAgent makes an agent that may create tickets and ask people.
func (m *world) actingAgent() (id string) {
	var made struct{ CreateAgent struct{ ID string } }
	m.GraphQL(&made, `mutation { createAgent(input: {name: "Clerk", systemPrompt: "You help.", tools: ["search_documents", "ask_human", "desk.create_ticket"]}) { id } }`, nil)
	return made.CreateAgent.ID
}

func runningAnAgent(t *testing.T, m *world) {
	agent := m.actingAgent()
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/agents/"+agent)

	p.tell("Who replaces a broken lamp?")
	p.sees("replaced by the night shift")
	p.sees("Step 1")
	p.Click(`all("summary")[0]`)
	p.sees("2 passages found")
	p.hit("Source 1: Lamps")
	p.Until(`all("[role=dialog] [aria-current=true]").some((e) => e.innerText.includes("night shift"))`)
	p.hit("Close")
	p.Until(`!all("[role=dialog]").length`)

	p.tell(`Please use ask_human {"question": "Which lamp?", "options": ["Hall", "Stairs"]}`)
	p.sees("Suggested answers")
	p.accessibleHere("a question of an agent")
	p.hit("Stairs")
	p.submit("Answer")
	p.sees("Answer: Stairs")

	p.tell("Create a ticket")
	p.sees("Allow this tool")
	p.submit("Edit")
	p.fill("title", "Dark stairs")
	p.accessibleHere("the arguments of a call, edited")
	p.hit("Approve with these changes")
	p.sees("Decided by you (on the dashboard)")
	p.Until(`says("tokens (") && !says("The agent goes on")`)
	if got := m.desk.received(); len(got) != 1 || got[0] != `{"title":"Dark stairs"}` {
		t.Errorf("the desk received %q", got)
	}

	p.hit("New conversation")
	p.tell("Create another ticket")
	p.sees("Allow this tool")
	p.fill("Comment", "Not today")
	p.submit("Reject")
	p.sees("Comment: Not today")
	p.sees("tokens (")
	if got := m.desk.received(); len(got) != 0 {
		t.Errorf("a rejected call was made: %q", got)
	}

	p.hit("New conversation")
	p.tell("Create a third ticket")
	p.sees("Allow this tool")
	p.choose("Allow this tool", "for all runs of the agent")
	p.submit("Approve")
	p.sees("tokens (")
	if got := m.desk.received(); len(got) != 1 {
		t.Errorf("the desk received %q", got)
	}
	p.hit("Permissions")
	p.sees("desk.create_ticket")
	p.hit("Revoke")
	p.sees("Later calls of the tool ask again.")
	p.accessibleHere("the question before a permission ends")
	p.confirm("Revoke")
	p.sees("Revoked")

	p.hit("Runs")
	p.Until(`all("tr.row").length === 5`)
	p.hit("Create another ticket")
	p.Until(`title() === "Run" && settled()`)
	p.sees("Comment: Not today")
	p.sees("replaced by the night shift")
	p.hit("Open the conversation")
	p.Until(`title() === "Clerk" && says("Create another ticket")`)

	p.hit("Conversations")
	p.pick("Actions: Create another ticket", "Rename")
	p.fill("Title", "The second ticket")
	p.hit("Save")
	p.pick("Actions: The second ticket", "Delete")
	p.Until(`all("tr.row").length === 2`)
	p.hit("Undo")
	p.Until(`all("tr.row").length === 3`)
	p.Clean()
}

// What was missed while the network was away arrives without a reload.
func aLostConnection(t *testing.T, m *world) {
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, m.address("/agents/{agent}"))
	p.tell("Tell me slowly who replaces a broken lamp")
	p.sees("The lamp is replaced")
	p.Do(offline(true))
	m.model.goOn()
	p.sees("Connection lost")
	p.Do(offline(false))
	p.sees("replaced by the night shift")
	p.sees("tokens (")
	p.Clean()
}

// A run that is canceled ends at once, though the model goes on writing, and leaves the composer free.
func cancelingARun(t *testing.T, m *world) {
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, m.address("/agents/{agent}"))
	p.tell("Tell me slowly who replaces a broken lamp")
	p.sees("The lamp is replaced")
	p.hit("Cancel the run")
	p.sees("The run has ended without a whole answer")
	p.Until(`!hit("Cancel the run")`)
	p.tell("Who replaces a broken lamp?")
	p.sees("replaced by the night shift")
	p.Clean()
}

func decidingWhatAgentsMayDo(t *testing.T, m *world) {
	agent := m.actingAgent()
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/approvals")
	p.sees("Nothing waits for a decision")
	q := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/agents/"+agent)
	q.tell("Create a ticket")
	q.sees("Allow this tool")

	open := `all("nav a").some((e) => e.textContent.replace(/\s+/g, " ").includes("Approvals11 open"))`
	p.Until(`all("tr.row").length === 1`)
	p.Until(open)
	p.accessibleHere("the menu with an open approval")
	if names := linkNames(p); !slices.Contains(names, "Approvals 1 open") {
		t.Errorf("the links are named %q", names)
	}
	p.Click(`all("tr.row a")[0]`)
	p.Until(`location.pathname.startsWith("/approvals/")`)
	p.sees("May decide: the person of the run")
	deep := p.Text(`location.pathname`)
	p.submit("Approve")
	p.sees("Decided by you (on the dashboard)")
	q.sees("tokens (")
	p.Until(`!(` + open + `)`)
	p.open("/approvals?tab=history")
	p.sees("Approved")
	p.choose("State", "Expired")
	p.sees("Nothing was decided yet")
	p.open(deep)
	p.sees("Decided by you (on the dashboard)")

	p.open("/approvals/settings")
	p.choose("Calls that change", "Never allow")
	p.hit("Add a rule for a tool")
	p.fill("Tool", "jira.*")
	p.hit("Save")
	p.sees("Saved")
	p.open("/approvals/settings")
	p.Until(`field("Calls that change")?.value === "Never allow" && field("Tool").value === "jira.*"`)
	q.hit("New conversation")
	q.tell("Create a ticket")
	q.sees("tokens (")
	if got := m.desk.received(); len(got) != 1 {
		t.Errorf("the desk received %q", got)
	}
	p.Clean()
	q.Clean()
}

// linkNames returns the accessible names of the links.
func linkNames(p *person) (names []string) {
	for _, node := range p.Accessible()["link"] {
		if name, ok := node.Name.Value.(string); ok {
			names = append(names, strings.Join(strings.Fields(name), " "))
		}
	}
	return names
}
