package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
)

type integrationsCommand struct {
	List      integrationsList      `cmd:"" default:"1" help:"List the integrations of the workspace."`
	Providers integrationsProviders `cmd:"" help:"List the providers with their options."`
	Show      integrationsShow      `cmd:"" help:"Show an integration."`
	Create    integrationsCreate    `cmd:"" help:"Make an integration from a file or from flags."`
	Test      integrationsTest      `cmd:"" help:"Make the cheapest request that needs the credentials."`
	Tools     integrationsTools     `cmd:"" help:"List the tools of an integration."`
	Accept    integrationsAccept    `cmd:"" name:"accept-change" help:"Accept a changed tool, so that agents can call it again."`
	Authorize integrationsAuthorize `cmd:"" help:"Print the address at which a person connects an integration by OAuth."`
	Delete    integrationsDelete    `cmd:"" help:"Delete an integration with its tools and credentials."`
}

type integrationRow struct {
	ID            uuid.UUID      `json:"id"`
	Kind          string         `json:"kind"`
	Provider      string         `json:"provider"`
	Name          string         `json:"name"`
	Slug          string         `json:"slug"`
	OwnerScope    string         `json:"ownerScope"`
	CredentialsOf string         `json:"credentialsOf"`
	Enabled       bool           `json:"enabled"`
	Config        map[string]any `json:"config"`
	Status        string         `json:"status"`
	LastError     *string        `json:"lastError"`
	DiscoveredAt  *time.Time     `json:"discoveredAt"`
	CreatedAt     time.Time      `json:"createdAt"`
	UpdatedAt     time.Time      `json:"updatedAt"`
	Tools         []toolRow      `json:"tools,omitempty"`
}

type toolRow struct {
	ID          uuid.UUID      `json:"id"`
	Name        string         `json:"name"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Risk        string         `json:"risk"`
	Policy      *string        `json:"policy"`
	Timeout     int            `json:"timeout"`
	Enabled     bool           `json:"enabled"`
	Drift       map[string]any `json:"drift"`
}

// state is "on", "off", or that somebody must accept a change.
func (t toolRow) state() string {
	switch {
	case t.Drift != nil:
		return "changed: see accept-change"
	case t.Enabled:
		return "on"
	default:
		return "off"
	}
}

// policy returns default, allow, ask or deny.
func (t toolRow) policy() string {
	if t.Policy == nil {
		return "default"
	}
	return strings.ToLower(*t.Policy)
}

type toolProvider struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Summary     string          `json:"summary"`
	Kind        string          `json:"kind"`
	OAuth       *string         `json:"oauth"`
	Options     []client.Option `json:"options"`
	Credentials []client.Option `json:"credentials"`
	Tools       []struct {
		Name   string `json:"name"`
		Title  string `json:"title"`
		Risk   string `json:"risk"`
		Policy string `json:"policy"`
	} `json:"tools"`
}

func toolProviders(ctx context.Context, api *client.Client) ([]toolProvider, error) {
	var answer struct {
		Providers []toolProvider `json:"providers"`
	}
	err := api.Do(ctx, "ToolProviders", nil, &answer)
	return answer.Providers, err
}

type integrationsList struct{}

// Run lists the integrations.
func (integrationsList) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		rows, err := client.List[integrationRow](r, api, "ListToolIntegrations", nil, 0)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{row.ID.String(), row.Name, row.Slug, row.Provider, strings.ToLower(row.CredentialsOf), strings.ToLower(row.Status), text(row.LastError)})
			}
			r.console.Table([]string{"ID", "NAME", "SLUG", "PROVIDER", "CREDENTIALS", "STATUS", "LAST ERROR"}, table,
				"There is no integration yet; `magpie integrations providers` lists what can be connected.")
		})
	})
}

type integrationsProviders struct {
	Provider string `arg:"" optional:"" help:"Only this one, with its tools."`
}

// Run lists the providers.
func (c integrationsProviders) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		all, err := toolProviders(r, api)
		if err != nil {
			return err
		}
		if c.Provider != "" {
			one := slices.IndexFunc(all, func(p toolProvider) bool { return p.Name == c.Provider })
			if one < 0 {
				return fmt.Errorf("there is no provider %q", c.Provider)
			}
			all = all[one : one+1]
		}
		return r.console.Result(all, func() {
			for _, p := range all {
				r.console.Printf("%s  %s\n", r.console.Bold(p.Name), p.Summary)
				r.showOptions("--option", p.Options)
				r.showOptions("--credential", p.Credentials)
				for _, tool := range p.Tools {
					if c.Provider != "" {
						r.console.Printf("  tool %s: %s, %s  %s\n", tool.Name, strings.ToLower(tool.Risk), strings.ToLower(tool.Policy), tool.Title)
					}
				}
			}
		})
	})
}

type integrationsShow struct {
	Integration string `arg:"" help:"Id, slug or name."`
}

// Run shows the integration.
func (c integrationsShow) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		row, err := integrationOf(r, api, c.Integration)
		if err != nil {
			return err
		}
		return r.console.Result(row, func() {
			changed := 0
			for _, tool := range row.Tools {
				if tool.Drift != nil {
					changed++
				}
			}
			r.console.Pairs([2]string{"id", row.ID.String()}, [2]string{"name", row.Name}, [2]string{"slug", row.Slug}, [2]string{"provider", row.Provider},
				[2]string{"owner", strings.ToLower(row.OwnerScope)}, [2]string{"credentials of", strings.ToLower(row.CredentialsOf)}, [2]string{"enabled", fmt.Sprint(row.Enabled)},
				[2]string{"status", strings.ToLower(row.Status)}, [2]string{"last error", text(row.LastError)}, [2]string{"options", compact(row.Config)},
				[2]string{"tools", fmt.Sprintf("%d, %d changed", len(row.Tools), changed)}, [2]string{"tools read", moment(row.DiscoveredAt)})
		})
	})
}

type integrationsCreate struct {
	File            string   `arg:"" optional:"" type:"path" help:"File with the integration as JSON, as the API takes it; - for the input."`
	Provider        string   `help:"Provider; integrations providers lists them."`
	Name            string   `help:"Name; the title of the provider when left out."`
	Slug            string   `help:"First part of the names of its tools; the provider when left out."`
	Option          []string `placeholder:"NAME=VALUE" sep:"none" help:"Option of the provider, repeated."`
	OptionJSON      string   `placeholder:"OBJECT" help:"All options as one JSON object."`
	Credential      []string `placeholder:"NAME=VALUE" sep:"none" help:"Credential; other users of this machine can see it: prefer --credentials."`
	CredentialsFile string   `name:"credentials" placeholder:"FILE" help:"File with the credentials as a JSON object; - reads them from the input."`
	Shared          bool     `help:"All runs use the credentials given here; otherwise each person enters their own."`
	Disabled        bool     `help:"Let agents not call its tools yet."`
}

// Run makes the integration.
func (c integrationsCreate) Run(r *runtime) error {
	if (c.File == "") == (c.Provider == "") {
		return usagef("give a file or --provider")
	}
	return r.operate(func(api *client.Client) error {
		input, err := c.input(r, api)
		if err != nil {
			return err
		}
		var answer struct {
			Integration integrationRow `json:"integration"`
		}
		if err := api.Do(r, "CreateToolIntegration", client.Variables{"input": input}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Integration, func() { r.console.Printf("%s\n", answer.Integration.ID) })
	})
}

func (c integrationsCreate) input(r *runtime, api *client.Client) (client.Variables, error) {
	input := client.Variables{}
	if c.File != "" {
		content, err := r.readText(c.File)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(content), &input); err != nil || input == nil {
			return nil, errors.New("the file is no JSON object") // it may hold secrets
		}
	} else if err := c.fromProvider(r, api, input); err != nil {
		return nil, err
	}
	for _, name := range []string{"ownerScope", "credentialsOf"} {
		if value, ok := input[name].(string); ok {
			input[name] = strings.ToUpper(value)
		}
	}
	optional(input, "name", c.Name)
	optional(input, "slug", c.Slug)
	if err := c.settings(r, input); err != nil {
		return nil, err
	}
	if c.Shared {
		input["credentialsOf"] = "SHARED"
	}
	if input["credentials"] != nil && input["credentialsOf"] != "SHARED" {
		return nil, errors.New("a command is no person whose credentials these could be; add --shared to let all runs use them")
	}
	if c.Disabled {
		input["enabled"] = false
	}
	return input, nil
}

// fromProvider begins the input with a provider and its options.
func (c integrationsCreate) fromProvider(r *runtime, api *client.Client, input client.Variables) error {
	all, err := toolProviders(r, api)
	if err != nil {
		return err
	}
	one := slices.IndexFunc(all, func(p toolProvider) bool { return p.Name == c.Provider })
	if one < 0 {
		names := make([]string, 0, len(all))
		for _, p := range all {
			names = append(names, p.Name)
		}
		return fmt.Errorf("there is no provider %q; there are %s", c.Provider, strings.Join(names, ", "))
	}
	input["provider"], input["name"] = c.Provider, all[one].Title
	options, err := readOptions(c.Option, c.OptionJSON, all[one].Options)
	if err == nil && len(options) > 0 {
		input["config"] = options
	}
	return err
}

// settings adds the credentials.
func (c integrationsCreate) settings(r *runtime, input client.Variables) error {
	secret := ""
	if c.CredentialsFile != "" {
		content, err := readInput(r, c.CredentialsFile)
		if err != nil {
			return fmt.Errorf("read the credentials: %w", err)
		}
		secret = string(content)
	}
	credentials, err := readCredentials(c.Credential, secret)
	if err == nil && len(credentials) > 0 {
		input["credentials"] = credentials
	}
	return err
}

type integrationsTest struct {
	Integration string `arg:"" help:"Id, slug or name."`
}

// Run tries the credentials; those that do not work are a failure.
func (c integrationsTest) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		row, err := integrationOf(r, api, c.Integration)
		if err != nil {
			return err
		}
		var answer struct {
			Test struct {
				OK        bool   `json:"ok"`
				Message   string `json:"message"`
				NeedsAuth bool   `json:"needsAuth"`
			} `json:"test"`
		}
		if err := api.Do(r, "TestToolIntegration", client.Variables{"id": row.ID}, &answer); err != nil {
			return err
		}
		if err := r.console.Result(answer.Test, func() {
			if answer.Test.OK {
				r.console.Printf("%s\n", answer.Test.Message)
			}
		}); err != nil {
			return err
		}
		if !answer.Test.OK {
			return fmt.Errorf("the integration does not work: %s", answer.Test.Message)
		}
		return nil
	})
}

type integrationsTools struct {
	Integration string `arg:"" help:"Id, slug or name."`
	Refresh     bool   `help:"Read the tools of a tool server again before."`
}

// Run lists the tools.
func (c integrationsTools) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		row, err := integrationOf(r, api, c.Integration)
		if err != nil {
			return err
		}
		if c.Refresh {
			if err := api.Do(r, "RefreshTools", client.Variables{"id": row.ID}, nil); err != nil {
				return err
			}
			if row, err = integrationByID(r, api, row.ID); err != nil {
				return err
			}
		}
		return r.console.Result(row.Tools, func() {
			table := make([][]string, 0, len(row.Tools))
			for _, tool := range row.Tools {
				table = append(table, []string{row.Slug + "." + tool.Name, strings.ToLower(tool.Risk), tool.policy(), tool.state(), tool.Title})
			}
			r.console.Table([]string{"TOOL", "RISK", "POLICY", "STATE", "TITLE"}, table, "The integration has no tools.")
		})
	})
}

type integrationsAccept struct {
	Integration string `arg:"" help:"Id, slug or name."`
	Tool        string `arg:"" help:"Name of the tool, with or without the slug."`
}

// Run accepts the tool as its source describes it now.
func (c integrationsAccept) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		row, err := integrationOf(r, api, c.Integration)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(c.Tool, row.Slug+".")
		one := slices.IndexFunc(row.Tools, func(t toolRow) bool { return t.Name == name })
		switch {
		case one < 0:
			return fmt.Errorf("%s has no tool %q", row.Name, name)
		case row.Tools[one].Drift == nil:
			return fmt.Errorf("the tool %q has not changed", name)
		}
		var answer struct {
			Tool toolRow `json:"tool"`
		}
		if err := api.Do(r, "AcceptTool", client.Variables{"id": row.Tools[one].ID}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Tool, func() { r.console.Note("Accepted %s.%s.", row.Slug, name) })
	})
}

type integrationsAuthorize struct {
	Integration string `arg:"" help:"Id, slug or name."`
}

// Run prints the address of the integration on the dashboard. Only a person's browser can
// begin a connection: it is bound to the one that ends it.
func (c integrationsAuthorize) Run(r *runtime) error {
	return r.operateAt(func(api *client.Client, dashboard string) error {
		row, err := integrationOf(r, api, c.Integration)
		if err != nil {
			return err
		}
		all, err := toolProviders(r, api)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(p toolProvider) bool { return p.Name == row.Provider && p.OAuth != nil }) {
			return fmt.Errorf("%s is not connected by OAuth; its credentials are entered", row.Name)
		}
		address := dashboard + "/integrations/" + row.ID.String()
		return r.console.Result(map[string]string{"url": address}, func() {
			r.console.Note("Open this address in a browser, signed in as the person who connects %s:", row.Name)
			r.console.Printf("%s\n", address)
		})
	})
}

type integrationsDelete struct {
	Integration string `arg:"" help:"Id, slug or name."`
	Yes         bool   `help:"Really delete it."`
}

// Run deletes the integration.
func (c integrationsDelete) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		row, err := integrationOf(r, api, c.Integration)
		if err != nil {
			return err
		}
		if !c.Yes {
			return fmt.Errorf("this deletes %q with its %d tools and everybody's credentials for it; say it again with --yes", row.Name, len(row.Tools))
		}
		if err := api.Do(r, "DeleteToolIntegration", client.Variables{"id": row.ID}, nil); err != nil {
			return err
		}
		return r.console.Result(map[string]uuid.UUID{"deleted": row.ID}, func() { r.console.Note("Deleted %s.", row.Name) })
	})
}

// integrationOf finds an integration, with its tools, by its id, slug or name.
func integrationOf(ctx context.Context, api *client.Client, nameOrID string) (integrationRow, error) {
	id, err := uuid.Parse(nameOrID)
	if err != nil {
		rows, err := client.List[integrationRow](ctx, api, "ListToolIntegrations", nil, 0)
		if err != nil {
			return integrationRow{}, err
		}
		if one := slices.IndexFunc(rows, func(row integrationRow) bool { return row.Slug == nameOrID }); one >= 0 {
			id = rows[one].ID
		} else if id, err = byName("integration", nameOrID, "integrations", rows, func(row integrationRow) (string, uuid.UUID) { return row.Name, row.ID }); err != nil {
			return integrationRow{}, err
		}
	}
	return integrationByID(ctx, api, id)
}

func integrationByID(ctx context.Context, api *client.Client, id uuid.UUID) (integrationRow, error) {
	var answer struct {
		Integration integrationRow `json:"integration"`
	}
	err := api.Do(ctx, "GetToolIntegration", client.Variables{"id": id}, &answer)
	return answer.Integration, err
}
