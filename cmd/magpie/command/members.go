package command

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/client"
)

// memberRow is a person in a workspace.
type memberRow struct {
	ID        uuid.UUID `json:"id"`
	Role      string    `json:"role"`
	CreatedAt time.Time `json:"createdAt"`
	User      struct {
		ID            uuid.UUID `json:"id"`
		Email         string    `json:"email"`
		Name          string    `json:"name"`
		EmailVerified bool      `json:"emailVerified"`
	} `json:"user"`
}

type invitationRow struct {
	ID        uuid.UUID `json:"id"`
	Email     string    `json:"email"`
	Role      string    `json:"role"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// memberOf finds a member by email address or id.
func memberOf(r *runtime, api *client.Client, email string) (memberRow, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	v := client.Variables{"text": email}
	if uuid.Validate(email) == nil {
		v = nil
	}
	rows, err := client.List[memberRow](r, api, "ListMembers", v, 0)
	if err != nil {
		return memberRow{}, err
	}
	for _, row := range rows {
		if row.User.Email == email || row.ID.String() == email || row.User.ID.String() == email {
			return row, nil
		}
	}
	return memberRow{}, fmt.Errorf("%s is no member of this workspace", email)
}

type usersList struct{}

// Run lists the members.
func (usersList) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		rows, err := client.List[memberRow](r, api, "ListMembers", nil, 0)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{row.ID.String(), row.User.Email, row.User.Name, strings.ToLower(row.Role), moment(&row.CreatedAt)})
			}
			r.console.Table([]string{"ID", "EMAIL", "NAME", "ROLE", "SINCE"}, table, "There is nobody yet.")
		})
	})
}

type usersInvite struct {
	Email string `arg:"" help:"Email address to invite."`
	Role  string `enum:"viewer,editor,admin,owner" default:"editor" help:"viewer, editor, admin or owner."`
}

// Run invites somebody.
func (c usersInvite) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		var answer struct {
			Invited struct {
				Invitation invitationRow `json:"invitation"`
				Token      string        `json:"token"`
				URL        string        `json:"url"`
			} `json:"invited"`
		}
		input := client.Variables{"email": c.Email, "role": strings.ToUpper(c.Role)}
		if err := api.Do(r, "InviteMember", client.Variables{"input": input}, &answer); err != nil {
			return err
		}
		made := answer.Invited
		return r.console.Result(made, func() {
			r.console.Pairs([2]string{"id", made.Invitation.ID.String()}, [2]string{"email", made.Invitation.Email},
				[2]string{"expires", moment(&made.Invitation.ExpiresAt)}, [2]string{"link", made.URL})
			r.console.Note("The link is shown this once.")
		})
	})
}

type usersInvited struct {
	Status string `enum:"pending,accepted,expired,revoked,all" default:"pending" help:"pending, accepted, expired, revoked or all."`
}

// Run lists invitations.
func (c usersInvited) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		v := client.Variables{}
		if c.Status != "all" {
			v["status"] = strings.ToUpper(c.Status)
		}
		rows, err := client.List[invitationRow](r, api, "ListInvitations", v, 0)
		if err != nil {
			return err
		}
		return r.console.Result(rows, func() {
			table := make([][]string, 0, len(rows))
			for _, row := range rows {
				table = append(table, []string{row.ID.String(), row.Email, strings.ToLower(row.Role), strings.ToLower(row.Status), moment(&row.ExpiresAt)})
			}
			r.console.Table([]string{"ID", "EMAIL", "ROLE", "STATUS", "EXPIRES"}, table, "There is no such invitation.")
		})
	})
}

type usersUninvite struct {
	Invitation string `arg:"" help:"Id of the invitation, or the email address."`
}

// Run revokes an invitation.
func (c usersUninvite) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		id, err := uuid.Parse(c.Invitation)
		if err != nil {
			rows, err := client.List[invitationRow](r, api, "ListInvitations", client.Variables{"status": "PENDING"}, 0)
			if err != nil {
				return err
			}
			email := strings.ToLower(strings.TrimSpace(c.Invitation))
			if id, err = byName("invitation", email, "users invitations", rows, func(i invitationRow) (string, uuid.UUID) { return i.Email, i.ID }); err != nil {
				return err
			}
		}
		var answer struct {
			Invitation invitationRow `json:"invitation"`
		}
		if err := api.Do(r, "RevokeInvitation", client.Variables{"id": id}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Invitation, func() { r.console.Printf("%s is not invited any more.\n", answer.Invitation.Email) })
	})
}

type usersRole struct {
	Email string `arg:"" help:"Email address or id of the member."`
	Role  string `arg:"" enum:"viewer,editor,admin,owner" help:"viewer, editor, admin or owner."`
}

// Run changes a role.
func (c usersRole) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		member, err := memberOf(r, api, c.Email)
		if err != nil {
			return err
		}
		var answer struct {
			Member memberRow `json:"member"`
		}
		if err := api.Do(r, "UpdateMember", client.Variables{"id": member.ID, "input": client.Variables{"role": strings.ToUpper(c.Role)}}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Member, func() {
			r.console.Printf("%s is %s now.\n", answer.Member.User.Email, strings.ToLower(answer.Member.Role))
		})
	})
}

type usersRemove struct {
	Email string `arg:"" help:"Email address or id of the member."`
	Yes   bool   `help:"Do not ask."`
}

// Run takes a member out.
func (c usersRemove) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		member, err := memberOf(r, api, c.Email)
		if err != nil {
			return err
		}
		if !c.Yes {
			return fmt.Errorf("this takes %s out of the workspace, with their conversations; give --yes to do it", member.User.Email)
		}
		if err := api.Do(r, "RemoveMember", client.Variables{"id": member.ID}, nil); err != nil {
			return err
		}
		return r.console.Result(member, func() { r.console.Printf("%s is no member any more.\n", member.User.Email) })
	})
}

type usersReset struct {
	Email string `arg:"" help:"Email address or id of the member."`
}

// Run makes a link.
func (c usersReset) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		member, err := memberOf(r, api, c.Email)
		if err != nil {
			return err
		}
		var answer struct {
			Reset struct {
				Token     string    `json:"token"`
				URL       string    `json:"url"`
				ExpiresAt time.Time `json:"expiresAt"`
			} `json:"reset"`
		}
		if err := api.Do(r, "CreatePasswordReset", client.Variables{"id": member.ID}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Reset, func() {
			r.console.Pairs([2]string{"expires", moment(&answer.Reset.ExpiresAt)}, [2]string{"link", answer.Reset.URL})
			r.console.Note("The link is shown this once.")
		})
	})
}

type usersSignOut struct {
	Email string `arg:"" help:"Email address of the person."`
}

// Run ends the sessions of a person, in all workspaces.
func (c usersSignOut) Run(r *runtime) error {
	return r.open(func(app *wire.App) error {
		person, err := app.Accounts.FindPerson(r, c.Email)
		if err != nil {
			return err
		}
		if err := app.Accounts.EndSessionsOf(r, person.ID, uuid.Nil); err != nil {
			return err
		}
		return r.console.Result(map[string]string{"id": person.ID.String(), "email": person.Email}, func() {
			r.console.Printf("%s is signed out everywhere.\n", person.Email)
		})
	})
}

type workspacesCommand struct {
	List   workspacesList   `cmd:"" default:"1" help:"List the workspaces."`
	Rename workspacesRename `cmd:"" help:"Rename the workspace."`
	Delete workspacesDelete `cmd:"" help:"Delete the workspace with everything in it."`
}

type workspacesList struct{}

// workspaceRow is a workspace as commands print it.
type workspaceRow struct {
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	Members   int       `json:"members"`
	CreatedAt time.Time `json:"createdAt"`
}

// Run lists the workspaces: all of an installation, or that of a token.
func (workspacesList) Run(r *runtime) error {
	to, err := r.remote()
	if err != nil {
		return err
	}
	var rows []workspaceRow
	if to != nil {
		rows, err = r.workspaceOf(*to)
	} else {
		rows, err = r.allWorkspaces()
	}
	if err != nil {
		return err
	}
	return r.console.Result(rows, func() {
		table := make([][]string, 0, len(rows))
		for _, row := range rows {
			table = append(table, []string{row.ID.String(), row.Name, fmt.Sprint(row.Members), moment(&row.CreatedAt)})
		}
		r.console.Table([]string{"ID", "NAME", "MEMBERS", "CREATED"}, table, "There is no workspace yet.")
	})
}

func (r *runtime) allWorkspaces() ([]workspaceRow, error) {
	rows := []workspaceRow{}
	err := r.open(func(app *wire.App) error {
		all, err := app.People.Workspaces(r)
		for _, row := range all {
			rows = append(rows, workspaceRow{row.ID, row.Name, len(row.Edges.Memberships), row.CreatedAt})
		}
		return err
	})
	return rows, err
}

// workspaceOf returns the workspace of a personal token.
func (r *runtime) workspaceOf(to destination) (rows []workspaceRow, err error) {
	err = r.over(to, func(api *client.Client, _ string) error {
		me, err := r.me(api)
		if err != nil {
			return err
		}
		if me == nil {
			return errors.New("a service token is no person, and may not ask about its workspace")
		}
		var got struct{ Members struct{ TotalCount int } }
		if err := api.Do(r, "CountMembers", nil, &got); err != nil {
			return err
		}
		rows = []workspaceRow{{me.Workspace.ID, me.Workspace.Name, got.Members.TotalCount, me.Workspace.CreatedAt}}
		return nil
	})
	return rows, err
}

type workspacesRename struct {
	Name string `arg:"" help:"The new name."`
}

// Run renames the chosen workspace.
func (c workspacesRename) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		return api.Do(r, "UpdateWorkspace", client.Variables{"input": client.Variables{"name": c.Name}}, nil)
	})
}

type workspacesDelete struct {
	Name string `arg:"" help:"Its name, exactly, as a confirmation."`
	Yes  bool   `help:"Do not ask."`
}

// Run deletes the chosen workspace.
func (c workspacesDelete) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		if !c.Yes {
			return errors.New("this deletes the workspace with all its collections, connectors and documents; give --yes to do it")
		}
		return api.Do(r, "DeleteWorkspace", client.Variables{"input": client.Variables{"name": c.Name}}, nil)
	})
}
