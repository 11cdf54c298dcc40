package command

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
)

type usersCommand struct {
	List          usersList     `cmd:"" default:"1" help:"List the members of the workspace."`
	Create        usersCreate   `cmd:"" help:"Make a person who may sign in."`
	Invite        usersInvite   `cmd:"" help:"Invite an email address; prints the link to send."`
	Invitations   usersInvited  `cmd:"" help:"List the invitations."`
	Uninvite      usersUninvite `cmd:"" help:"Revoke an invitation."`
	Role          usersRole     `cmd:"" help:"Change the role of a member."`
	Remove        usersRemove   `cmd:"" help:"Take a member out of the workspace."`
	ResetPassword usersReset    `cmd:"" help:"Make a link by which a member sets a new password."`
	SignOut       usersSignOut  `cmd:"" help:"End all sessions of a person."`
}

type usersCreate struct {
	Email         string `arg:"" help:"Email address to sign in with."`
	Name          string `help:"Name of the person."`
	Role          string `enum:"viewer,editor,admin,owner" default:"editor" help:"viewer, editor, admin or owner."`
	NewWorkspace  string `placeholder:"NAME" help:"Make a workspace of this name, with the person as its owner."`
	PasswordStdin bool   `help:"Read the password from the input; otherwise one is made and printed."`
}

// Run makes the person.
func (c usersCreate) Run(r *runtime) error {
	return r.open(func(app *wire.App) error {
		password := rand.Text()
		if c.PasswordStdin {
			line, err := bufio.NewReader(r.streams.In).ReadString('\n')
			if password = strings.TrimRight(line, "\r\n"); password == "" {
				return errors.Join(errors.New("no password was given"), err)
			}
		}
		person, err := c.create(r, app, password)
		if err != nil {
			return err
		}
		result := map[string]string{"id": person.ID.String(), "email": person.Email}
		if !c.PasswordStdin {
			result["password"] = password
		}
		return r.console.Result(result, func() {
			pairs := [][2]string{{"id", result["id"]}, {"email", result["email"]}}
			if !c.PasswordStdin {
				pairs = append(pairs, [2]string{"password", password})
			}
			r.console.Pairs(pairs...)
			if !c.PasswordStdin {
				r.console.Note("The password is shown this once.")
			}
		})
	})
}

func (c usersCreate) create(r *runtime, app *wire.App, password string) (*ent.User, error) {
	if c.NewWorkspace != "" {
		return app.Accounts.CreateOwner(r, c.NewWorkspace, c.Email, c.Name, password)
	}
	workspace, err := chooseWorkspace(r, app.DB.Ent, r.Workspace)
	if err != nil {
		return nil, err
	}
	role := membership.Role(strings.ToUpper(c.Role))
	if err := membership.RoleValidator(role); err != nil {
		return nil, fmt.Errorf("the role %q: %w", c.Role, err)
	}
	return app.Accounts.AddMember(r, workspace, c.Email, c.Name, password, role)
}
