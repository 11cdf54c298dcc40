package dashboard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
	"github.com/magpie-search/magpie/internal/testkit/driveserver"
)

// A filling is the label of a field in the form of a connector, and what is entered.
type filling struct{ label, text string }

// fillings are what the forms of new connectors are filled with, by kind. A kind whose
// list is empty has no field that must be filled. serviceAccount is a key file of Google.
func fillings(serviceAccount string) map[string][]filling {
	return map[string][]filling{
		"file_upload":  {},
		"web_crawler":  {{"Start addresses", "https://docs.example.com/guide/"}, {"Maximum pages", "20"}, {"User agent", "Reader"}, {"User", "reader"}, {"Password", "secret"}},
		"s3":           {{"Bucket", "company-docs"}, {"Region", "eu-west-1"}, {"Prefix", "handbook/"}, {"Access key id", "reader"}, {"Secret access key", "secret"}},
		"github":       {{"Repositories", "acme/handbook"}, {"Branch", "main"}, {"Paths", "docs/**"}, {"Personal access token", "secret"}},
		"gitlab":       {{"Projects", "acme/handbook"}, {"Branch", "main"}, {"Access token", "secret"}},
		"confluence":   {{"Address", "https://acme.atlassian.net"}, {"Spaces", "ENG"}, {"Mail address", "ada@example.com"}, {"API token", "secret"}},
		"jira":         {{"Address", "https://acme.atlassian.net"}, {"Projects", "ENG"}, {"Mail address", "ada@example.com"}, {"API token", "secret"}},
		"notion":       {{"Pages", "1a2b3c4d5e6f708192a3b4c5d6e7f809"}, {"Integration token", "secret"}},
		"servicenow":   {{"Address", "https://acme.service-now.com"}, {"Tables", "incident"}, {"User name", "magpie.reader"}, {"Password", "secret"}},
		"hubspot":      {{"Objects", "tickets"}, {"Access token", "pat-eu1-secret"}},
		"slack":        {{"Channels", "general"}, {"Date range", "90d"}, {"Bot token", "xoxb-secret"}},
		"google_drive": {{"Only these folders", "https://drive.google.com/drive/folders/1Example"}, {"Service account key", serviceAccount}},
		"salesforce":   {{"Address", "https://acme.my.salesforce.com"}, {"Objects", "Case"}, {"Consumer key", "app"}, {"Consumer secret", "secret"}},
		"sharepoint":   {{"Site", "https://acme.sharepoint.com/sites/handbook"}, {"Tenant", "11111111-2222-3333-4444-555555555555"}, {"Client", "66666666-7777-8888-9999-000000000000"}, {"Client secret", "secret"}},
		"postgresql":   {{"Host", "db.example.com"}, {"Port", "5433"}, {"Database", "shop"}, {"Schemas", "public, sales"}, {"Tables", "orders*"}, {"User", "reader"}, {"Password", "secret"}},
		"mysql":        {{"Host", "db.example.com"}, {"Database", "shop"}, {"Tables", "orders*"}, {"User", "reader"}, {"Password", "secret"}},
		"mssql":        {{"Host", "db.example.com"}, {"Database", "shop"}, {"Schemas", "dbo, sales"}, {"Tables", "orders*"}, {"User", "reader"}, {"Password", "secret"}},
		"clickhouse":   {{"Host", "db.example.com"}, {"Port", "8123"}, {"Database", "shop"}, {"Tables", "orders*"}, {"User", "reader"}, {"Password", "secret"}},
	}
}

// A kind of connector as the service describes it.
type kind struct {
	Name, Title string
	Options     []struct{ Name, Title, Type string }
}

func TestEveryKindOfConnectorIsMadeInItsForm(t *testing.T) {
	m := newWorld(t)
	var found struct{ ConnectorKinds []kind }
	m.GraphQL(&found, `{ connectorKinds { name title options { name title type } } }`, nil)
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/connectors/new")
	for _, kind := range found.ConnectorKinds {
		p.sees(kind.Title)
	}
	drive := driveserver.New()
	t.Cleanup(drive.Close)
	todo := fillings(drive.ServiceAccount())
	for _, kind := range found.ConnectorKinds {
		fields, known := todo[kind.Name]
		delete(todo, kind.Name)
		if !known {
			t.Errorf("%s has no filling", kind.Name)
			continue
		}
		p.goTo("/connectors/new/" + kind.Name + "?collection=" + m.collection)
		p.enter("Name", "A "+kind.Name)
		for _, field := range fields {
			p.enter(field.label, field.text)
		}
		save := "Save"
		if len(fields) == 0 {
			save = "Save and upload files"
		}
		p.hit(save)
		p.Until(`location.pathname.match(/^.connectors.[0-9a-f-]{36}$/) || document.querySelector("form [aria-invalid=true], form [role=alert]")`)
		if wrong := p.Text(`[...document.querySelectorAll("form .mantine-InputWrapper-error, form [role=alert]")].map((e) => e.innerText).join("; ")`); wrong != "" {
			t.Errorf("%s is not saved: %s", kind.Name, wrong)
			p.leavesForm()
			continue
		}
		p.Until(`title() === ` + quoted("A "+kind.Name))
		m.made(t, kind, fields)
	}
	for name := range todo {
		t.Errorf("there is no kind %s", name)
	}

	p.goTo("/connectors/new/website") // an alias
	p.Is(`title()`, "New connector: Web site")
	p.open("/connectors/new/notion")
	p.sees("An account of Notion can be connected here") // it moves what is below
	p.hit("Save")
	p.Until(`field("Collection").getAttribute("aria-invalid") === "true"`)
	p.enter("Name", "Not to be saved")
	p.leavesForm()
	p.open("/connectors?type=github")
	p.hit("A github")
	p.sees("Deliveries cannot be verified yet")
	p.Clean()
}

// leavesForm leaves a form with changes, first not, then without saving.
func (p *person) leavesForm() {
	p.t.Helper()
	here := p.Text(`location.pathname`)
	p.hit("Documents")
	p.asked("What you have entered is not saved.", "Cancel")
	p.Is(`location.pathname`, here)
	p.hit("Documents")
	p.asked("What you have entered is not saved.", "Leave")
	p.Until(`location.pathname === "/documents" && title() === "Documents" && settled()`) // while the form is there, the browser asks too, when another page is opened
}

// made checks that the connector of a kind has what was entered.
func (m *world) made(t *testing.T, kind kind, fields []filling) {
	t.Helper()
	var found struct {
		Connectors struct {
			Edges []struct {
				Node struct{ Config map[string]any }
			}
		}
	}
	m.GraphQL(&found, `query($name: String!, $type: String!) { connectors(matching: $name, type: $type) { edges { node { config } } } }`,
		object{"name": "A " + kind.Name, "type": kind.Name})
	if len(found.Connectors.Edges) != 1 {
		t.Errorf("%d connectors of the kind %s were made", len(found.Connectors.Edges), kind.Name)
		return
	}
	config := found.Connectors.Edges[0].Node.Config
	for _, field := range fields {
		for _, option := range kind.Options {
			if option.Title == field.label && !strings.Contains(fmt.Sprint(config[option.Name]), field.text) {
				t.Errorf("%s has %s %v, not %s", kind.Name, option.Name, config[option.Name], field.text)
			}
		}
	}
}
