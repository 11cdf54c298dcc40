package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/config/namedfile"
)

type connectorsCommand struct {
	List   connectorsList   `cmd:"" default:"1" help:"List the connectors."`
	Kinds  connectorsKinds  `cmd:"" help:"List the kinds of connectors with their options."`
	Create connectorsCreate `cmd:"" help:"Make a connector."`
	Show   connectorsShow   `cmd:"" help:"Show a connector."`
	Update connectorsUpdate `cmd:"" help:"Change a connector."`
	Pause  connectorsPause  `cmd:"" help:"Let no sync of a connector run; one that runs keeps its place."`
	Resume connectorsResume `cmd:"" help:"End a pause; a sync that it stopped goes on where it was."`
	Test   connectorsTest   `cmd:"" help:"Try a connector's connection."`
	Delete connectorsDelete `cmd:"" help:"Delete a connector with its documents and files."`
}

type connectorsList struct {
	Collection string `help:"Only those of this collection (id or name)."`
}

// Run lists the connectors.
func (c connectorsList) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		v := client.Variables{}
		if c.Collection != "" {
			id, err := collectionID(r, api, c.Collection)
			if err != nil {
				return err
			}
			v["collection"] = id
		}
		rows, err := client.List[client.Connector](r, api, "ListConnectors", v, 0)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				schedule := "manual"
				if row.DocSync.Strategy == "SCHEDULED" {
					schedule = row.DocSync.Interval
				}
				table = append(table, []string{row.ID.String(), row.Name, row.Type, strings.ToLower(row.Status), row.CollectionName,
					schedule, moment(row.LastSync)})
			}
			r.console.Table([]string{"ID", "NAME", "TYPE", "STATUS", "COLLECTION", "SCHEDULE", "LAST SYNC"}, table,
				"There is no connector yet; make one with `magpie connectors create`.")
		})
	})
}

type connectorsKinds struct{}

// Run lists the kinds.
func (connectorsKinds) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		kinds, err := api.Kinds(r)
		if err != nil {
			return err
		}
		return r.console.Result(kinds, func() {
			for _, kind := range kinds {
				r.console.Printf("%s  %s\n", r.console.Bold(kind.Name), kind.Description)
				r.showOptions("--option", kind.Options)
				r.showOptions("--credential", kind.Credentials)
			}
		})
	})
}

// connectorSettings are given when a connector is made and when it is changed.
type connectorSettings struct {
	Option          []string `placeholder:"NAME=VALUE" sep:"none" help:"Option of the kind, repeated; connectors kinds has examples. A list takes commas, the option again, or JSON: repos=[\"a\",\"b\"]."`
	OptionJSON      string   `placeholder:"OBJECT" help:"All options as one JSON object."`
	Credential      []string `placeholder:"NAME=VALUE" sep:"none" help:"Credential; other users of this machine can see it: prefer --credentials."`
	CredentialsFile string   `name:"credentials" placeholder:"FILE" help:"File with the credentials as a JSON object; - reads them from the input."`
	Schedule        string   `placeholder:"INTERVAL" help:"15m, 30m, 1h, 2h, 4h, 6h, 12h, 24h, or manual."`
	Disabled        bool     `help:"Let no sync run."`
}

// input is what the settings say for a connector of a kind, which is asked for
// where there are options.
func (c connectorSettings) input(r *runtime, api *client.Client, kind func() (string, error)) (client.Variables, error) {
	input := client.Variables{}
	var known []client.Option
	if len(c.Option) > 0 {
		name, err := kind()
		if err != nil {
			return nil, err
		}
		if known, err = optionsOf(r, api, name); err != nil {
			return nil, err
		}
	}
	options, err := readOptions(c.Option, c.OptionJSON, known)
	if err != nil {
		return nil, err
	}
	if len(options) > 0 {
		input["config"] = options
	}
	secret := ""
	if c.CredentialsFile != "" {
		content, err := readInput(r, c.CredentialsFile)
		if err != nil {
			return nil, fmt.Errorf("read the credentials: %w", err)
		}
		secret = string(content)
	}
	credentials, err := readCredentials(c.Credential, secret)
	if err != nil {
		return nil, err
	}
	if len(credentials) > 0 {
		input["credentials"] = credentials
	}
	switch c.Schedule {
	case "":
	case "manual":
		input["docSync"] = client.Variables{"syncStrategy": "MANUAL"}
	default:
		input["docSync"] = client.Variables{"syncStrategy": "SCHEDULED", "scheduleInterval": c.Schedule}
	}
	return input, nil
}

// maxText is more than any text has that an operation takes, in bytes.
const maxText = 1 << 20

// readInput reads a file, or the input for "-".
func readInput(r *runtime, path string) ([]byte, error) {
	if path == "-" {
		return namedfile.ReadFrom(r, r.streams.In, maxText)
	}
	content, err := namedfile.Read(r, path, maxText)
	if tooLarge := (*namedfile.SizeError)(nil); errors.As(err, &tooLarge) || errors.Is(err, namedfile.ErrNoWriter) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return content, err
}

type connectorsCreate struct {
	connectorSettings

	Name       string `required:"" help:"Name of the connector."`
	Type       string `required:"" help:"Kind; connectors kinds lists them."`
	Collection string `required:"" help:"Target collection (id or name)."`
}

// Run makes the connector.
func (c connectorsCreate) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		input, err := c.input(r, api, func() (string, error) { return c.Type, nil })
		if err != nil {
			return err
		}
		collection, err := collectionID(r, api, c.Collection)
		if err != nil {
			return err
		}
		input["name"], input["type"], input["collection"], input["enabled"] = c.Name, c.Type, collection, !c.Disabled
		row, err := api.CreateConnector(r, input)
		if err != nil {
			return err
		}
		return r.console.Result(row, func() { r.console.Printf("%s\n", row.ID) })
	})
}

type connectorsShow struct {
	Connector string `arg:"" help:"Id or name."`
}

// Run shows the connector.
func (c connectorsShow) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		row, err := api.Connector(r, id)
		if err != nil {
			return err
		}
		return r.showConnector(row)
	})
}

func (r *runtime) showConnector(row client.Connector) error {
	return r.console.Result(row, func() {
		config, err := json.Marshal(row.Config)
		if err != nil {
			config = nil // it came as JSON
		}
		r.console.Pairs([2]string{"id", row.ID.String()}, [2]string{"name", row.Name}, [2]string{"type", row.Type},
			[2]string{"status", strings.ToLower(row.Status)}, [2]string{"enabled", fmt.Sprint(row.Enabled)},
			[2]string{"collection", row.CollectionName}, [2]string{"options", string(config)},
			[2]string{"schedule", strings.ToLower(row.DocSync.Strategy) + " " + row.DocSync.Interval}, [2]string{"next sync", moment(row.NextSyncAt)},
			[2]string{"last sync", moment(row.LastSync)}, [2]string{"last error", text(row.LastError)})
	})
}

type connectorsUpdate struct {
	connectorSettings

	Connector string `arg:"" help:"Id or name."`
	Name      string `help:"New name."`
	Enabled   bool   `help:"Let syncs run again."`
}

// Run changes the connector.
func (c connectorsUpdate) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		input, err := c.input(r, api, func() (string, error) {
			row, err := api.Connector(r, id)
			return row.Type, err
		})
		if err != nil {
			return err
		}
		optional(input, "name", c.Name)
		switch {
		case c.Enabled && c.Disabled:
			return usagef("--enabled and --disabled exclude each other")
		case c.Enabled, c.Disabled:
			input["enabled"] = c.Enabled
		}
		if len(input) == 0 {
			return errNothing
		}
		row, err := api.UpdateConnector(r, id, input)
		if err != nil {
			return err
		}
		return r.showConnector(row)
	})
}

type connectorsTest struct {
	Connector string `arg:"" help:"Id or name."`
}

// Run tries the connection; one that does not work is a failure.
func (c connectorsTest) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		var answer struct {
			Test struct {
				OK      bool           `json:"ok"`
				Message string         `json:"message"`
				Details map[string]any `json:"details"`
			} `json:"test"`
		}
		if err := api.Do(r, "TestConnector", client.Variables{"id": id}, &answer); err != nil {
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
			return fmt.Errorf("the connection does not work: %s", answer.Test.Message)
		}
		return nil
	})
}

type connectorsDelete struct {
	Connector string `arg:"" help:"Id or name."`
	Yes       bool   `help:"Really delete it."`
}

// Run deletes the connector.
func (c connectorsDelete) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		row, err := api.Connector(r, id)
		if err != nil {
			return err
		}
		if !c.Yes {
			return fmt.Errorf("this deletes the connector %q with its documents and files; say it again with --yes", row.Name)
		}
		if err := api.Do(r, "DeleteConnector", client.Variables{"id": id}, nil); err != nil {
			return err
		}
		return r.console.Result(map[string]uuid.UUID{"deleted": id}, func() { r.console.Note("Deleted %s.", row.Name) })
	})
}

// withConnector operates on a connector given by its id or name.
func (r *runtime) withConnector(nameOrID string, do func(*client.Client, uuid.UUID) error) error {
	return r.operate(func(api *client.Client) error {
		id, err := connectorID(r, api, nameOrID)
		if err != nil {
			return err
		}
		return do(api, id)
	})
}

// connectorID finds a connector by its id or its name.
func connectorID(ctx context.Context, api *client.Client, nameOrID string) (uuid.UUID, error) {
	if id, err := uuid.Parse(nameOrID); err == nil {
		return id, nil
	}
	rows, err := client.List[client.Connector](ctx, api, "ConnectorNames", nil, 0)
	if err != nil {
		return uuid.Nil, err
	}
	return byName("connector", nameOrID, "connectors", rows, func(c client.Connector) (string, uuid.UUID) { return c.Name, c.ID })
}
