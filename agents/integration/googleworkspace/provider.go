package googleworkspace

import (
	"context"
	"net/url"
	"strings"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
)

const (
	optionAPI = "apiUrl"
	token     = "token"
	title     = "Google Workspace"

	scopes = "https://www.googleapis.com/auth/"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk, scope string) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: risk, Scopes: []string{scopes + scope}}
	}
	createEventTool := tool("calendar_create_event", "Create an event", "Creates an event in the person's calendar and invites the attendees.", policy.Send, "calendar.events")
	updateEventTool := tool("calendar_update_event", "Change an event", "Moves or changes an event and tells the attendees.", policy.Send, "calendar.events")
	createEventTool.Idempotent, updateEventTool.Idempotent = true, true // an event has the id of its call
	return integration.Provider{
		Name: "google_workspace", Title: title, Summary: "Reads and sends mail, shows and makes appointments, finds and creates documents.", Group: integration.Productivity,
		Config:      []connectors.Option{platform.AddressOption(optionAPI, "https://www.googleapis.com")},
		Credentials: []connectors.Option{{Name: token, Title: "Access token", Help: "Connecting an account is better: a token ends after an hour.", Type: connectors.TypeString, Sensitive: true}},
		OAuth:       &integration.OAuth{Provider: "google", Scopes: []string{"openid", "email"}},
		Check: func(ctx context.Context, a integration.Account) error {
			return api().Do(ctx, a, platform.Request{Path: "drive/v3/about", Query: url.Values{"fields": {"user"}}}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("gmail_search", "Search mail", "Finds mails by Gmail's search, such as from:ada@example.com newer_than:7d.", policy.Read, "gmail.readonly"), nil, searchMail),
			integration.Define(tool("gmail_read", "Read a mail", "Returns a mail with its text.", policy.Read, "gmail.readonly"), nil, readMail),
			integration.Define(tool("gmail_create_draft", "Draft a mail", "Creates a draft, which a person sends or not.", policy.Write, "gmail.compose"), showMail("Create a draft"), createDraft),
			integration.Define(tool("gmail_send", "Send a mail", "Sends a mail in the name of the person.", policy.Send, "gmail.send"), showMail("Send a mail"), sendMail),
			integration.Define(tool("calendar_list_events", "Show appointments", "Lists the events of the person's calendar in a range of time.", policy.Read, "calendar.readonly"), nil, listEvents),
			integration.Define(tool("calendar_free_busy", "Show when people are busy", "Returns when people are busy in a range of time.", policy.Read, "calendar.readonly"), nil, freeBusy),
			integration.Define(createEventTool, func(in eventInput) loop.Preview {
				title := "Create an event"
				if len(in.Attendees) > 0 {
					title += " and invite " + strings.Join(in.Attendees, ", ")
				}
				return integration.Show(title, in.fields()...)
			}, createEvent),
			integration.Define(updateEventTool, func(in updateInput) loop.Preview {
				return integration.Show("Change an event and tell the attendees", append([]integration.Field{{Name: "Event", Value: in.Event}}, in.values().fields()...)...)
			}, updateEvent),
			integration.Define(tool("drive_search", "Search files", "Finds files of Drive by words.", policy.Read, "drive.readonly"), nil, searchFiles),
			integration.Define(tool("drive_create_doc", "Create a document", "Creates a Google Doc from Markdown.", policy.Write, "drive.file"), func(in docInput) loop.Preview {
				return integration.Show("Create the document "+in.Name, integration.Field{Name: "Name", Value: in.Name}, integration.Field{Name: "Folder", Value: in.Folder},
					integration.Field{Name: "Text", Value: in.Text})
			}, createDoc),
		},
	}
}

func api() platform.API {
	return platform.API{Name: title, Base: platform.URL(optionAPI, ""), Authorize: platform.Bearer(token), Advice: "config." + optionAPI}
}
