package zendesk

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	optionURL = "url"
	email     = "email"
	apiToken  = "apiToken"
	title     = "Zendesk"
	example   = "https://acme.zendesk.com"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: risk}
	}
	updateTool := tool("update_fields", "Change a ticket", "Changes the status, priority, type, assignee or tags of a ticket.", policy.Write)
	updateTool.Idempotent = true
	commentPreview := func(verb string) func(in commentInput) loop.Preview {
		return func(in commentInput) loop.Preview {
			id := strconv.Itoa(in.Ticket)
			return integration.Show(verb+id, integration.Field{Name: "Ticket", Value: id}, integration.Field{Name: "Text", Value: in.Text})
		}
	}
	return integration.Provider{
		Name: "zendesk", Title: title, Summary: "Finds and reads tickets, comments on them, answers customers and changes fields.", Group: integration.Business,
		Config: []connectors.Option{{
			Name: optionURL, Title: "Address", Help: "The address of the account.", Type: connectors.TypeString, Required: true, Format: connectors.FormatURL,
			Destination: true, Example: example, Check: platform.CheckURL(example),
		}},
		Credentials: []connectors.Option{
			{Name: email, Title: "Mail address", Help: "Of the agent in whose name tickets are changed.", Type: connectors.TypeString, Required: true, Format: connectors.FormatEmail, Example: "ada@example.com"},
			{Name: apiToken, Title: "API token", Help: "From the Admin Center, Apps and integrations.", Type: connectors.TypeString, Required: true, Sensitive: true},
		},
		Check: func(ctx context.Context, a integration.Account) error {
			var out struct {
				User struct {
					ID int64 `json:"id"`
				} `json:"user"`
			}
			if err := api().Do(ctx, a, platform.Request{Path: "users/me.json"}, &out); err != nil {
				return err
			}
			if out.User.ID == 0 { // Zendesk answers strangers too
				return &apierr.Error{Code: apierr.Unauthorized, Message: "Zendesk does not accept the credentials.", Cause: platform.Missing(apiToken)}
			}
			return nil
		},
		Tools: []integration.Tool{
			integration.Define(tool("search_tickets", "Search tickets", "Searches tickets by Zendesk's search, such as status:open priority:high refund.", policy.Read), nil, search),
			integration.Define(tool("get_ticket", "Read a ticket", "Returns a ticket with its comments.", policy.Read), nil, get),
			integration.Define(tool("comment_internal", "Add an internal note", "Adds a note that only agents see.", policy.Write), commentPreview("Add an internal note to the ticket "), comment(false)),
			integration.Define(tool("reply_public", "Answer the customer", "Sends a public answer to the requester and the followers of a ticket.", policy.Send), commentPreview("Send an answer to the customer of the ticket "), comment(true)),
			integration.Define(updateTool, func(in updateInput) loop.Preview {
				id := strconv.Itoa(in.Ticket)
				assignee := ""
				if in.Assignee != 0 {
					assignee = strconv.Itoa(in.Assignee)
				}
				return integration.Show("Change the ticket "+id, integration.Field{Name: "Ticket", Value: id}, integration.Field{Name: "Status", Value: in.Status},
					integration.Field{Name: "Priority", Value: in.Priority}, integration.Field{Name: "Type", Value: in.Type}, integration.Field{Name: "Assignee", Value: assignee},
					integration.Field{Name: "Tags", Value: strings.Join(in.Tags, ", ")})
			}, update),
		},
	}
}

func api() platform.API {
	return platform.API{
		Name: title, Base: platform.URL(optionURL, "/api/v2"), Advice: "config." + optionURL,
		Authorize: func(r *http.Request, a integration.Account, _ string) error {
			if a.Credentials[email] == "" || a.Credentials[apiToken] == "" {
				return platform.Missing(apiToken)
			}
			r.SetBasicAuth(a.Credentials[email]+"/token", a.Credentials[apiToken])
			return nil
		},
	}
}

type ticket struct {
	ID          int64    `json:"id"`
	Subject     string   `json:"subject"`
	Description string   `json:"description,omitempty"`
	Status      string   `json:"status"`
	Priority    string   `json:"priority,omitempty"`
	Type        string   `json:"type,omitempty"`
	Requester   int64    `json:"requester_id,omitempty"`
	Assignee    int64    `json:"assignee_id,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Updated     string   `json:"updated_at,omitempty"`
	URL         string   `json:"url"`
}

// link sets the address at which people open the ticket.
func (t *ticket) link(a integration.Account) {
	t.URL = strings.TrimRight(a.String(optionURL), "/") + "/agent/tickets/" + strconv.FormatInt(t.ID, 10)
}

type searchInput struct {
	Query string `json:"query" rule:"required,min=1,max=1000"`
	Limit int    `json:"limit" rule:"min=1,max=50" about:"20 when left out."`
}

func search(ctx context.Context, a integration.Account, in searchInput) (loop.Result, error) {
	if in.Limit == 0 {
		in.Limit = 20
	}
	var out struct {
		Count   int      `json:"count"`
		Results []ticket `json:"results"`
	}
	query := url.Values{"query": {"type:ticket " + in.Query}, "per_page": {strconv.Itoa(in.Limit)}}
	if err := api().Do(ctx, a, platform.Request{Path: "search.json", Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	for i := range out.Results {
		out.Results[i].link(a)
	}
	return integration.Result(out, "%d tickets found", out.Count)
}

type ticketInput struct {
	Ticket int `json:"ticket_id" rule:"required,min=1,max=2000000000"`
}

func path(id int, rest string) string { return platform.Path("tickets/%s"+rest, strconv.Itoa(id)) }

func get(ctx context.Context, a integration.Account, in ticketInput) (loop.Result, error) {
	var out struct {
		Ticket   ticket `json:"ticket"`
		Comments []struct {
			ID      int64  `json:"id"`
			Author  int64  `json:"author_id"`
			Public  bool   `json:"public"`
			Text    string `json:"plain_body"`
			Created string `json:"created_at"`
		} `json:"comments"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: path(in.Ticket, ".json")}, &out); err != nil {
		return loop.Result{}, err
	}
	if err := api().Do(ctx, a, platform.Request{Path: path(in.Ticket, "/comments.json"), Query: url.Values{"sort_order": {"desc"}, "per_page": {"30"}}}, &out); err != nil {
		return loop.Result{}, err
	}
	out.Ticket.link(a)
	return integration.Result(out, "The ticket %d", in.Ticket)
}

type commentInput struct {
	Ticket int    `json:"ticket_id" rule:"required,min=1,max=2000000000"`
	Text   string `json:"text" rule:"required,min=1,max=20000"`
}

func comment(public bool) func(ctx context.Context, a integration.Account, in commentInput) (loop.Result, error) {
	return func(ctx context.Context, a integration.Account, in commentInput) (loop.Result, error) {
		return change(ctx, a, in.Ticket, map[string]any{"comment": map[string]any{"body": in.Text, "public": public}})
	}
}

// change changes a ticket. The mark of the call is in the metadata of the change, which
// the customer does not see.
func change(ctx context.Context, a integration.Account, id int, fields map[string]any) (loop.Result, error) {
	if marker := integration.Marker(ctx); marker != "" {
		fields["metadata"] = map[string]any{"custom": map[string]any{"mark": marker}}
	}
	var out struct {
		Ticket ticket `json:"ticket"`
	}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPut, Path: path(id, ".json"), Body: map[string]any{"ticket": fields}}, &out); err != nil {
		return loop.Result{}, err
	}
	out.Ticket.link(a)
	return integration.Result(out.Ticket, "The ticket %d was changed", id)
}

type updateInput struct {
	Ticket   int      `json:"ticket_id" rule:"required,min=1,max=2000000000"`
	Status   string   `json:"status" rule:"enum=new|open|pending|hold|solved|closed"`
	Priority string   `json:"priority" rule:"enum=urgent|high|normal|low"`
	Type     string   `json:"type" rule:"enum=problem|incident|question|task"`
	Assignee int      `json:"assignee_id" rule:"min=1,max=2000000000"`
	Tags     []string `json:"tags" rule:"max=50" about:"They replace the tags of the ticket."`
}

func update(ctx context.Context, a integration.Account, in updateInput) (loop.Result, error) {
	fields := map[string]any{}
	for name, value := range map[string]string{"status": in.Status, "priority": in.Priority, "type": in.Type} {
		if value != "" {
			fields[name] = value
		}
	}
	if in.Assignee != 0 {
		fields["assignee_id"] = in.Assignee
	}
	if in.Tags != nil {
		fields["tags"] = in.Tags
	}
	if len(fields) == 0 {
		return loop.Result{}, apierr.New(apierr.InvalidRequest, "Give at least one field to change.")
	}
	return change(ctx, a, in.Ticket, fields)
}
