package dashboard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// option is an option of a provider's form.
type option struct {
	Name, Title, Type   string
	Required, Sensitive bool
	Default             any
	Example             string
	Choices             []string
}

const optionFields = `{ name title type required sensitive default example choices }`

// provider is a provider of integrations with tools, or of those that receive.
type provider struct {
	Name, Title          string
	Options, Credentials []option
}

// values are what is entered for options whose example does not do, by provider and
// option. An empty one leaves the option out.
func (m *world) values() map[string]string {
	return map[string]string{
		"teams.tenant_id": "3c9e1a52-0b1f-4b6e-9d6c-2f1f4f0a7c11", "teams.collection": m.collection, "zoom.collection": m.collection,
		"google_meet.collection": m.collection,
		"mcp.clientSecret":       "", // goes with a client id, which is for few people
		"google_meet.key":        "", // a file of Google
	}
}

// fillOptions fills the required fields of a provider's form, and those with an example.
// Options of other shapes than texts and numbers are chosen in the list of choices.
func (p *person) fillOptions(of provider, known map[string]string) {
	p.t.Helper()
	for _, option := range append(append([]option{}, of.Options...), of.Credentials...) {
		value, ok := known[of.Name+"."+option.Name]
		if !ok {
			value = option.Example
		}
		if !ok && value == "" && option.Sensitive {
			value = "a secret of some length"
		}
		if value == "" && len(option.Choices) > 0 {
			value = option.Choices[0]
		}
		if !p.holds(`document.querySelector(` + quoted(`[name="`+option.Name+`"]`) + `)`) {
			continue // for few people, or without the present values of no use
		}
		switch {
		case value == "" && option.Required && option.Default == nil:
			p.t.Errorf("%s: nothing is known to enter for %s", of.Name, option.Name)
		case value == "" || option.Type == "boolean" || option.Type == "object" || len(option.Choices) > 0 && option.Default != nil:
		case option.Type == "string_list": // its name is at a hidden field
			p.enter(option.Title, value)
		default:
			p.put(option.Name, value)
		}
	}
}

// holds reports whether an expression is true.
func (p *person) holds(expression string) bool {
	p.t.Helper()
	return p.Text(`Boolean(`+expression+`)`) == "true"
}

// put sets the field with a name at once.
func (p *person) put(name, value string) {
	p.t.Helper()
	p.Eval(`(() => {
		const field = document.querySelector(`+quoted(`[name="`+name+`"]`)+`);
		const kind = field instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
		Object.getOwnPropertyDescriptor(kind.prototype, "value").set.call(field, `+quoted(value)+`);
		field.dispatchEvent(new Event("input", {bubbles: true}));
	})()`, nil)
}

// visit opens a page as a link of the dashboard does, without loading the dashboard anew.
func (p *person) visit(path string) {
	p.t.Helper()
	p.Eval(`(() => { history.pushState(null, "", `+quoted(path)+`); dispatchEvent(new PopStateEvent("popstate")); })()`, nil)
}

func TestIntegrations(t *testing.T) {
	m := newWorld(t)
	t.Run("every provider of tools", func(t *testing.T) { everyProviderOfTools(t, m) })
	t.Run("every provider that sends", func(t *testing.T) { everyProviderThatSends(t, m) })
	t.Run("tools of an endpoint", func(t *testing.T) { toolsOfAnEndpoint(t, m) })
	t.Run("coming back", func(t *testing.T) { comingBack(t, m) })
	t.Run("command line", func(t *testing.T) { commandLineFlow(t, m) })
}

func everyProviderOfTools(t *testing.T, m *world) {
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/integrations/new")
	var known struct{ ToolProviders []provider }
	m.GraphQL(&known, fmt.Sprintf(`{ toolProviders { name title options %s credentials %s } }`, optionFields, optionFields), nil)
	p.Until(fmt.Sprintf(`all("main button.row").length === %d`, len(known.ToolProviders)))
	for _, one := range known.ToolProviders {
		p.visit("/integrations/new?provider=" + one.Name)
		p.Until(`title() === ` + quoted(one.Title) + ` && hit("Create")`)
		p.fillOptions(one, m.values())
		p.hit("Create")
		p.Until(`/^.integrations.[0-9a-f-]{36}$/.test(location.pathname) && settled() || all("[aria-invalid=true]").length || says("That did not work")`)
		if said := p.Text(`location.pathname.endsWith("/new") ? document.querySelector("main").innerText : ""`); said != "" {
			t.Errorf("%s: %s", one.Name, said)
		}
	}
	p.Clean()
}

func everyProviderThatSends(t *testing.T, m *world) {
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/inbound/new")
	var known struct{ InboundProviders []provider }
	m.GraphQL(&known, fmt.Sprintf(`{ inboundProviders { name title options %s credentials %s } }`, optionFields, optionFields), nil)
	p.Until(fmt.Sprintf(`all("main button.row").length === %d`, len(known.InboundProviders)))
	for _, one := range known.InboundProviders {
		p.visit("/inbound")
		p.Until(`title() === "Inbound events"`)
		p.visit("/inbound/new?provider=" + one.Name)
		p.Until(`title() === ` + quoted(one.Title) + ` && hit("Create")`)
		p.fillOptions(one, m.values())
		p.hit("Create")
		p.Until(`says("Copy this now") || all("[aria-invalid=true]").length || says("That did not work")`)
		if !p.holds(`says("Copy this now")`) {
			t.Errorf("%s: %s", one.Name, p.Text(`document.querySelector("main").innerText`))
			continue
		}
		if address := p.Text(`all("main code")[0].innerText`); !strings.Contains(address, strings.TrimPrefix(m.URL, "http://")+"/api/v1/webhooks/") {
			t.Errorf("%s is received at %q", one.Name, address)
		}
	}
	p.Clean()
}

func toolsOfAnEndpoint(t *testing.T, m *world) {
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/integrations/new?provider=webhook")
	p.Until(`hit("Create")`)
	p.accessibleHere("the form of a webhook")
	p.fill("Name", "House")
	p.fill("First part of the tools' names", "house")
	p.put("url", m.desk.url)
	p.hit("Create")
	p.Until(`title() === "House"`)
	p.sees("No tools yet")

	p.hit("New tool")
	p.fill("Name", "dim_lamp")
	p.fill("Title", "Dim a lamp")
	p.fill("Description", "Makes a lamp darker")
	p.fill("Path", "/lamps/{text}/dim")
	p.accessibleHere("the form of a tool")
	p.hit("Save")
	p.sees("house.dim_lamp")

	p.hit("Import an OpenAPI document")
	p.fill("Address of the document", m.desk.url+"/openapi.json")
	p.hit("Show its operations")
	p.sees("Remove a lamp")
	p.accessibleHere("the operations of a document")
	p.hit("Import 2 tools")
	p.Until(`all("main h3").length === 3`)

	tool := func(title, button string) string {
		return `[...all("main h3").find((e) => e.innerText === ` + quoted(title) + `).closest(".mantine-Paper-root").querySelectorAll("button")].find((e) => named(e) === ` + quoted(button) + `)`
	}
	p.Click(tool("Dim a lamp", "Try it"))
	p.fill("text", "hall")
	p.hit("Call")
	p.sees("The call will do this")
	p.hit("Do it")
	p.sees("The call has succeeded")
	p.accessibleHere("a tool that was tried")
	if got := m.desk.received(); len(got) != 1 {
		t.Errorf("the desk received %q", got)
	}
	p.Click(tool("Dim a lamp", "Policy and rules"))
	p.choose("What happens with a call", "Never allow")
	p.hit("Add a rule about arguments")
	p.fill("Argument", "text")
	p.fill("Compared with", "hall")
	p.Click(tool("Dim a lamp", "Save"))
	p.Until(`all("main .mantine-Badge-root").some((e) => e.innerText === "Never allow")`)
	p.Click(tool("Dim a lamp", "Describe anew"))
	p.sees("The tool is replaced as a whole")
	p.fill("Path", "/lamps/{text}")
	p.choose("Effect", "Reads")
	p.Until(`field("Effect").value === "Reads" && field("Path").value === "/lamps/{text}"`)
	p.hit("Save")
	p.Until(`all("main .mantine-Badge-root").filter((e) => e.innerText === "Reads").length === 2`)
	p.Click(tool("Remove a lamp", "Delete"))
	p.fill("Type remove_lamp to confirm", "remove_lamp")
	p.confirm("Delete")
	p.Until(`all("main h3").length === 2`)

	p.hit("Test")
	p.Until(`all("[role=status].mantine-Alert-root").length === 1`)
	p.pick("Actions", "Edit")
	p.fill("Name", "Whole house")
	p.hit("Save")
	p.Until(`title() === "Whole house"`)
	p.pick("Actions", "Delete")
	p.fill("Type Whole house to confirm", "Whole house")
	p.confirm("Delete")
	p.Until(`location.pathname === "/integrations" && hit("Desk") && !hit("Whole house")`)
	p.Clean()
}
