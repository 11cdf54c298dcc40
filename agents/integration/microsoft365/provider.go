package microsoft365

import (
	"context"
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
	title     = "Microsoft 365"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk, scopes ...string) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: risk, Scopes: scopes}
	}
	createEventTool := tool("calendar_create_event", "Create an event", "Creates an event in the person's calendar and invites the attendees.", policy.Send, "Calendars.ReadWrite")
	createEventTool.Idempotent = true // an event has the transaction id of its call
	return integration.Provider{
		Name: "microsoft_365", Title: title, Summary: "Reads and sends mail, makes appointments, posts in Teams, finds files and creates pages.", Group: integration.Productivity,
		Config:      []connectors.Option{platform.AddressOption(optionAPI, "https://graph.microsoft.com")},
		Credentials: []connectors.Option{{Name: token, Title: "Access token", Help: "Connecting an account is better: a token ends after an hour.", Type: connectors.TypeString, Sensitive: true}},
		OAuth:       &integration.OAuth{Provider: "microsoft", Scopes: []string{"offline_access", "User.Read"}},
		Check: func(ctx context.Context, a integration.Account) error {
			return api().Do(ctx, a, platform.Request{Path: "me"}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("outlook_search", "Search mail", "Finds mails by words, or by Outlook's search such as from:ada subject:report.", policy.Read, "Mail.Read"), nil, searchMail),
			integration.Define(tool("outlook_read", "Read a mail", "Returns a mail with its text.", policy.Read, "Mail.Read"), nil, readMail),
			integration.Define(tool("outlook_create_draft", "Draft a mail", "Creates a draft, which a person sends or not.", policy.Write, "Mail.ReadWrite"), showMail("Create a draft"), createDraft),
			integration.Define(tool("outlook_send", "Send a mail", "Sends a mail in the name of the person.", policy.Send, "Mail.Send"), showMail("Send a mail"), sendMail),
			integration.Define(tool("calendar_list_events", "Show appointments", "Lists the events of the person's calendar in a range of time.", policy.Read, "Calendars.Read"), nil, listEvents),
			integration.Define(createEventTool, showEvent, createEvent),
			integration.Define(tool("teams_list", "List teams", "Lists the teams of the person.", policy.Read, "Team.ReadBasic.All"), nil, listTeams),
			integration.Define(tool("teams_list_channels", "List channels", "Lists the channels of a team.", policy.Read, "Channel.ReadBasic.All"), nil, listChannels),
			integration.Define(tool("teams_post", "Post in Teams", "Posts a message to a channel of a team.", policy.Send, "ChannelMessage.Send"), func(in postInput) loop.Preview {
				return integration.Show("Post a message in Teams", integration.Field{Name: "Team", Value: in.Team}, integration.Field{Name: "Channel", Value: in.Channel},
					integration.Field{Name: "Message", Value: in.Text})
			}, post),
			integration.Define(tool("sharepoint_search", "Search files", "Finds files and pages of SharePoint and OneDrive by words.", policy.Read, "Files.Read.All", "Sites.Read.All"), nil, searchFiles),
			integration.Define(tool("sharepoint_list_sites", "Find sites", "Finds sites of SharePoint, with their ids, by words.", policy.Read, "Sites.Read.All"), nil, listSites),
			integration.Define(tool("sharepoint_create_page", "Create a page", "Creates a page of a site as a draft, which a person publishes.", policy.Write, "Sites.ReadWrite.All"), func(in pageInput) loop.Preview {
				return integration.Show("Create the page "+in.Title, integration.Field{Name: "Site", Value: in.Site}, integration.Field{Name: "Title", Value: in.Title},
					integration.Field{Name: "Text", Value: in.Text})
			}, createPage),
		},
	}
}

func api() platform.API {
	return platform.API{Name: title, Base: platform.URL(optionAPI, "/v1.0"), Authorize: platform.Bearer(token), Advice: "config." + optionAPI}
}

// list is Graph's envelope of lists.
type list[T any] struct {
	Value []T `json:"value"`
}

// RequiredList implements the check of answers.
func (list[T]) RequiredList() string { return "value" }

func join(list []string) string { return strings.Join(list, ", ") }
