package command

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
)

type tokensCommand struct {
	List   tokensList   `cmd:"" default:"1" help:"List the tokens of the workspace."`
	Create tokensCreate `cmd:"" help:"Make a service token; it is shown once."`
	Revoke tokensRevoke `cmd:"" help:"End a token."`
}

type tokensList struct{}

// Run lists the tokens.
func (tokensList) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		rows, err := client.List[client.Token](r, api, "ListTokens", nil, 0)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{row.ID.String(), row.Name, row.Hint + "…", tokenReach(row), strings.ToLower(row.Status), moment(row.ExpiresAt), moment(row.LastUsedAt)})
			}
			r.console.Table([]string{"ID", "NAME", "TOKEN", "REACH", "STATE", "EXPIRES", "LAST USED"}, table, "There is no token yet.")
		})
	})
}

// tokenReach is the role and the groups of a token.
func tokenReach(t client.Token) string {
	role, groups := "its person", "everything"
	if t.Role != nil {
		role = strings.ToLower(*t.Role)
	}
	if t.Groups != nil {
		groups = strings.ToLower(strings.Join(t.Groups, " "))
	}
	return role + ": " + groups
}

type tokensCreate struct {
	Name    string        `required:"" help:"Name of the token."`
	Role    string        `required:"" enum:"viewer,editor,admin" help:"What the token may do: viewer, editor or admin."`
	Group   []string      `required:"" help:"Group of operations that it may be used for: search, collections, connectors, documents, databases, agents, automations, people, scim, keys, settings."`
	Expires time.Duration `help:"Time until the token ends, for example 2160h; never when left out."`
}

// Run makes the service token.
func (c tokensCreate) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		groups := make([]string, len(c.Group))
		for i, group := range c.Group {
			groups[i] = strings.ToUpper(group)
		}
		input := client.Variables{"name": c.Name, "role": strings.ToUpper(c.Role), "groups": groups}
		if c.Expires != 0 {
			input["expiresAt"] = after(c.Expires)
		}
		var answer struct {
			Created client.CreatedToken `json:"created"`
		}
		if err := api.Do(r, "CreateToken", client.Variables{"input": input}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Created, func() {
			r.console.Pairs([2]string{"id", answer.Created.Token.ID.String()}, [2]string{"token", answer.Created.Secret})
			r.console.Note("The token is shown this once.")
		})
	})
}

type tokensRevoke struct {
	Token string `arg:"" help:"Id or name of the token."`
}

// Run ends the token.
func (c tokensRevoke) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		id, err := tokenID(r, api, c.Token)
		if err != nil {
			return err
		}
		var answer struct {
			Token client.Token `json:"token"`
		}
		if err := api.Do(r, "RevokeToken", client.Variables{"id": id}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Token, func() { r.console.Note("Revoked %s.", answer.Token.Name) })
	})
}

// tokenID finds a token by its id or its name. Of several with a name, those that have
// not ended count.
func tokenID(ctx context.Context, api *client.Client, nameOrID string) (uuid.UUID, error) {
	if id, err := uuid.Parse(nameOrID); err == nil {
		return id, nil
	}
	rows, err := client.List[client.Token](ctx, api, "ListTokens", nil, 0)
	if err != nil {
		return uuid.Nil, err
	}
	rows = active(rows, nameOrID, func(t client.Token) (string, string) { return t.Name, t.Status })
	return byName("token", nameOrID, "tokens list", rows, func(t client.Token) (string, uuid.UUID) { return t.Name, t.ID })
}
