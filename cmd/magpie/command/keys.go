package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
)

type keysCommand struct {
	List   keysList   `cmd:"" default:"1" help:"List the API keys."`
	Create keysCreate `cmd:"" help:"Make a pair of keys; they are shown once."`
	Show   keysShow   `cmd:"" help:"Show the settings of a pair."`
	Update keysUpdate `cmd:"" help:"Change settings of a pair; what is left out stays."`
	Rotate keysRotate `cmd:"" help:"Give a pair new keys, shown once; the old ones work on for a while."`
	Revoke keysRevoke `cmd:"" help:"End a pair of keys."`
}

type keysList struct{}

// Run lists the keys.
func (keysList) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		rows, err := client.List[client.Key](r, api, "ListKeys", nil, 0)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{row.ID.String(), row.Name, keyHints(row), keyReach(row),
					strings.Join(row.AllowedHosts, " "), keyState(row), moment(row.LastUsedAt)})
			}
			r.console.Table([]string{"ID", "NAME", "KEYS", "REACH", "HOSTS", "STATE", "LAST USED"}, table, "There is no API key yet.")
		})
	})
}

func keyHints(k client.Key) string { return k.PublishableHint + "… " + k.SecretHint + "…" }

func keyReach(k client.Key) string {
	if k.AllCollections {
		return "all collections"
	}
	return fmt.Sprintf("%d collections", len(k.AllowedCollections))
}

// keyState returns the status of a pair and whether it has leaked.
func keyState(k client.Key) string {
	state := strings.ToLower(k.Status)
	if state == "active" {
		state = "valid"
	}
	if k.LeakedAt != nil {
		state += ", leaked"
	}
	return state
}

type keysShow struct {
	Key string `arg:"" help:"Id or name of the pair."`
}

// Run shows one pair.
func (c keysShow) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		id, err := keyID(r, api, c.Key)
		if err != nil {
			return err
		}
		var answer struct {
			Key client.Key `json:"key"`
		}
		if err := api.Do(r, "GetKey", client.Variables{"id": id}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Key, func() { r.showKey(answer.Key) })
	})
}

func (r *runtime) showKey(k client.Key) {
	reach := keyReach(k)
	if !k.AllCollections {
		ids := make([]string, len(k.AllowedCollections))
		for i, id := range k.AllowedCollections {
			ids[i] = id.String()
		}
		reach = strings.Join(ids, " ")
	}
	preset, rate := "-", "the server's"
	if k.DefaultCollection != nil {
		preset = k.DefaultCollection.String()
	}
	if k.RatePerMinute != nil {
		if rate = strconv.Itoa(*k.RatePerMinute) + " a minute"; *k.RatePerMinute == 0 {
			rate = "none"
		}
	}
	signed := "when present"
	if k.RequireSignature {
		signed = "required"
	}
	databases := "no"
	if k.DatabaseTools {
		databases = "queried at /mcp"
	}
	leaked := "-"
	if k.LeakedAt != nil {
		leaked = moment(k.LeakedAt) + " on " + strconv.Quote(text(k.LeakedOrigin)) + "; rotate the keys"
	}
	r.console.Pairs([][2]string{
		{"id", k.ID.String()}, {"name", k.Name}, {"state", keyState(k)}, {"keys", keyHints(k)}, {"collections", reach}, {"default collection", preset},
		{"hosts", strings.Join(k.AllowedHosts, " ")}, {"referers", strings.Join(k.AllowedReferers, " ")}, {"signature", signed}, {"rate limit", rate},
		{"databases", databases},
		{"chat model", text(k.WidgetModelID)}, {"chat context", text(k.WidgetContext)},
		{"created", moment(&k.CreatedAt)}, {"expires", moment(k.ExpiresAt)}, {"revoked", moment(k.RevokedAt)}, {"last used", moment(k.LastUsedAt)},
		{"rotated", moment(k.RotatedAt)}, {"old keys end", moment(k.PreviousExpiresAt)}, {"seen in a browser", leaked},
	}...)
}

type keysCreate struct {
	Name             string        `required:"" help:"Name of the pair."`
	Host             []string      `required:"" help:"Host from which the publishable key works: example.com, *.example.com, or * for any."`
	Referer          []string      `help:"Address under which pages may use the publishable key: https://example.com/docs."`
	Collection       []string      `help:"Collection that the keys reach (id or name)."`
	AllCollections   bool          `help:"Let the keys reach every collection."`
	Default          string        `help:"Collection that is searched when a request names none (id or name)."`
	RequireSignature bool          `help:"Refuse requests of the secret key that are not signed."`
	DatabaseTools    bool          `help:"Let programs that connect to /mcp by the secret key query the attached databases of its collections."`
	RatePerMinute    int           `default:"-1" help:"Requests a minute; 0 for no limit; the server's setting when left out."`
	Expires          time.Duration `help:"Time until the keys end, for example 2160h."`
	Model            string        `help:"Chat model for this key."`
	Context          string        `help:"What the chat model is told about the site that uses this key."`
}

// Run makes the pair of keys.
func (c keysCreate) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		if c.AllCollections == (len(c.Collection) > 0) {
			return usagef("give --collection, or --all-collections")
		}
		input := client.Variables{"name": c.Name, "allowedHosts": c.Host, "allowAllCollections": c.AllCollections, "requireSignature": c.RequireSignature, "databaseTools": c.DatabaseTools}
		reach, err := collectionIDs(r, api, c.Collection)
		if err != nil {
			return err
		}
		input["allowedCollections"] = reach
		if c.Default != "" {
			id, err := collectionID(r, api, c.Default)
			if err != nil {
				return err
			}
			input["defaultCollection"] = id
		}
		if len(c.Referer) > 0 {
			input["allowedReferers"] = c.Referer
		}
		if c.RatePerMinute >= 0 {
			input["rateLimitPerMinute"] = c.RatePerMinute
		}
		if c.Expires > 0 {
			input["expiresAt"] = after(c.Expires)
		}
		optional(input, "widgetModelId", c.Model)
		optional(input, "widgetContext", c.Context)
		created, err := api.CreateKey(r, input)
		if err != nil {
			return err
		}
		return r.showCreated(created)
	})
}

func collectionIDs(ctx context.Context, api *client.Client, namesOrIDs []string) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, 0, len(namesOrIDs))
	for _, name := range namesOrIDs {
		id, err := collectionID(ctx, api, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// after is the time in a while, as an operation takes it.
func after(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }

func (r *runtime) showCreated(created client.CreatedKey) error {
	return r.console.Result(created, func() {
		r.console.Pairs([2]string{"id", created.APIKey.ID.String()}, [2]string{"publishable key", created.PublishableKey},
			[2]string{"secret key", created.SecretKey})
		r.console.Note("The keys are shown this once.")
		if until := created.APIKey.PreviousExpiresAt; until != nil {
			r.console.Note("The old ones work until %s.", moment(until))
		}
	})
}

// keysUpdate changes settings. An empty text clears one that need not be there.
type keysUpdate struct {
	Key              string   `arg:"" help:"Id or name of the pair."`
	Name             string   `help:"Name of the pair."`
	Host             []string `help:"Hosts from which the publishable key works, in place of those that it has."`
	Referer          []string `help:"Addresses under which pages may use it, in place of those that it has; \"\" for any."`
	Collection       []string `help:"Collections that the keys reach (id or name), in place of those that they reach."`
	AllCollections   bool     `help:"Let the keys reach every collection."`
	Default          *string  `help:"Collection that is searched when a request names none (id or name); \"\" for none."`
	RequireSignature *bool    `negatable:"" help:"Refuse requests of the secret key that are not signed, or (--no-require-signature) do not."`
	DatabaseTools    *bool    `negatable:"" help:"Let programs that connect to /mcp by the secret key query the attached databases of its collections, or (--no-database-tools) do not."`
	RatePerMinute    string   `placeholder:"N|default" help:"Requests a minute; 0 for no limit; default for the server's setting."`
	Expires          string   `placeholder:"TIME|never" help:"Time until the keys end, for example 2160h; never for no end."`
	Model            *string  `help:"Chat model for this key; \"\" for the default one."`
	Context          *string  `help:"What the chat model is told about the site that uses this key; \"\" for nothing."`
}

// Run changes the pair.
func (c keysUpdate) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		input, err := c.input(r, api)
		if err != nil {
			return err
		}
		if len(input) == 0 {
			return usagef("give something to change")
		}
		id, err := keyID(r, api, c.Key)
		if err != nil {
			return err
		}
		var answer struct {
			Key client.Key `json:"key"`
		}
		if err := api.Do(r, "UpdateKey", client.Variables{"id": id, "input": input}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Key, func() { r.showKey(answer.Key) })
	})
}

func (c keysUpdate) input(ctx context.Context, api *client.Client) (client.Variables, error) {
	input := client.Variables{}
	optional(input, "name", c.Name)
	if len(c.Host) > 0 {
		input["allowedHosts"] = c.Host
	}
	if len(c.Referer) > 0 {
		input["allowedReferers"] = c.Referer // blanks are left out
	}
	switch {
	case c.AllCollections && len(c.Collection) > 0:
		return nil, usagef("give --collection, or --all-collections")
	case c.AllCollections:
		input["allowAllCollections"] = true
	case len(c.Collection) > 0:
		reach, err := collectionIDs(ctx, api, c.Collection)
		if err != nil {
			return nil, err
		}
		input["allowAllCollections"], input["allowedCollections"] = false, reach
	}
	if c.Default != nil {
		input["defaultCollection"] = nil
		if *c.Default != "" {
			id, err := collectionID(ctx, api, *c.Default)
			if err != nil {
				return nil, err
			}
			input["defaultCollection"] = id
		}
	}
	if c.RequireSignature != nil {
		input["requireSignature"] = *c.RequireSignature
	}
	if c.DatabaseTools != nil {
		input["databaseTools"] = *c.DatabaseTools
	}
	if c.Model != nil {
		input["widgetModelId"] = *c.Model
	}
	if c.Context != nil {
		input["widgetContext"] = *c.Context
	}
	return input, c.limits(input)
}

func (c keysUpdate) limits(input client.Variables) error {
	switch c.RatePerMinute {
	case "":
	case "default":
		input["rateLimitPerMinute"] = nil
	default:
		n, err := strconv.Atoi(c.RatePerMinute)
		if err != nil {
			return usagef("--rate-per-minute must be a number, or default")
		}
		input["rateLimitPerMinute"] = n
	}
	switch c.Expires {
	case "":
	case "never":
		input["expiresAt"] = nil
	default:
		d, err := time.ParseDuration(c.Expires)
		if err != nil {
			return usagef("--expires must be a time such as 2160h, or never")
		}
		input["expiresAt"] = after(d)
	}
	return nil
}

type keysRotate struct {
	Key     string        `arg:"" help:"Id or name of the pair."`
	Overlap time.Duration `default:"24h" help:"How long the old keys work on, up to 720h; 0 ends them at once."`
	Expires time.Duration `help:"Time until the pair ends, for example 2160h; its end stays when left out."`
}

// Run rotates the pair.
func (c keysRotate) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		if c.Overlap%time.Minute != 0 {
			return usagef("--overlap must be whole minutes")
		}
		id, err := keyID(r, api, c.Key)
		if err != nil {
			return err
		}
		v := client.Variables{"id": id, "overlapMinutes": int(c.Overlap / time.Minute)}
		if c.Expires != 0 {
			v["expiresAt"] = after(c.Expires)
		}
		var answer struct {
			Created client.CreatedKey `json:"created"`
		}
		if err := api.Do(r, "RotateKey", v, &answer); err != nil {
			return err
		}
		return r.showCreated(answer.Created)
	})
}

type keysRevoke struct {
	Key string `arg:"" help:"Id or name of the pair."`
}

// Run ends the pair of keys.
func (c keysRevoke) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		id, err := keyID(r, api, c.Key)
		if err != nil {
			return err
		}
		var answer struct {
			Key client.Key `json:"key"`
		}
		if err := api.Do(r, "RevokeKey", client.Variables{"id": id}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Key, func() { r.console.Note("Revoked %s.", answer.Key.Name) })
	})
}

// keyID finds a pair of keys by its id or its name. Of several with a name, those that
// have not ended count.
func keyID(ctx context.Context, api *client.Client, nameOrID string) (uuid.UUID, error) {
	if id, err := uuid.Parse(nameOrID); err == nil {
		return id, nil
	}
	rows, err := client.List[client.Key](ctx, api, "ListKeys", nil, 0)
	if err != nil {
		return uuid.Nil, err
	}
	rows = active(rows, nameOrID, func(k client.Key) (string, string) { return k.Name, k.Status })
	return byName("key", nameOrID, "keys list", rows, func(k client.Key) (string, uuid.UUID) { return k.Name, k.ID })
}

// active returns the rows that are active if one of them has the name, and all otherwise.
func active[T any](rows []T, name string, of func(T) (name, status string)) []T {
	var valid []T
	found := false
	for _, row := range rows {
		if rowName, status := of(row); status == "ACTIVE" {
			valid = append(valid, row)
			found = found || rowName == name
		}
	}
	if found {
		return valid
	}
	return rows
}
