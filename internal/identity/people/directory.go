package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ErrTaken is wrapped by the error for a name or address that another one has.
var ErrTaken = errors.New("the name is taken")

// GroupDirectory is the group of operations that a token needs to manage people for a
// directory.
const GroupDirectory viewer.Group = "SCIM"

// maxDirectoryText is the maximum length of a text of a directory, in characters.
const maxDirectoryText = 320

// GroupRole is the role of the people in a group of the directory.
type GroupRole struct {
	Group string
	Role  membership.Role
}

// DirectoryOptions configure a Directory.
type DirectoryOptions struct {
	// Role is the role of new people. Default: viewer.
	Role membership.Role
	// GroupRoles are the roles of people in groups. The first that applies counts, and
	// Role without one. If there are none, groups change no role.
	GroupRoles []GroupRole
}

// Directory lets a directory, such as Microsoft Entra ID or Okta, manage the people and
// groups of a workspace. All methods need the viewer of a service token with the role
// admin and GroupDirectory, and are about its workspace.
type Directory struct {
	people *People
	o      DirectoryOptions
}

// NewDirectory returns the directory of people.
func NewDirectory(p *People, o DirectoryOptions) *Directory {
	if o.Role == "" {
		o.Role = membership.RoleViewer
	}
	return &Directory{people: p, o: o}
}

// DirectoryUser is a member of a workspace as a directory sees them.
type DirectoryUser struct {
	ID uuid.UUID // of the membership
	// UserName is the directory's; the email address for people whom it does not manage.
	UserName, ExternalID, Email        string
	DisplayName, GivenName, FamilyName string
	Active                             bool
	Role                               viewer.Role
	Groups                             []DirectoryGroupName
	CreatedAt, UpdatedAt               time.Time
	person                             uuid.UUID
	managed                            bool
}

// DirectoryGroupName is the name of a group.
type DirectoryGroupName struct {
	ID   uuid.UUID
	Name string
}

// DirectoryUserDraft is what a directory says of a person.
type DirectoryUserDraft struct {
	UserName, ExternalID               string
	Email                              string // of a new person; default: UserName
	DisplayName, GivenName, FamilyName string
	Active                             bool
}

// DirectoryUserFilter selects people. Empty fields select all.
type DirectoryUserFilter struct {
	ID                          *uuid.UUID
	UserName, ExternalID, Email string // equal; user names and addresses in any case
}

// CheckDirectory returns an error unless v is a service token of a directory.
func CheckDirectory(v viewer.Viewer) error {
	switch {
	case v.Kind != viewer.KindService || v.Workspace == uuid.Nil:
		return apierr.New(apierr.Forbidden, "Only a service token may manage people for a directory")
	case !slices.Contains(v.Groups, GroupDirectory):
		return apierr.New(apierr.Forbidden, "The token needs the group "+string(GroupDirectory))
	case !v.Role.AtLeast(viewer.RoleAdmin):
		return apierr.New(apierr.Forbidden, "The token needs the role admin")
	}
	return nil
}

// directoryOf returns the workspace of the viewer if it is a directory's token.
func directoryOf(ctx context.Context) (uuid.UUID, error) {
	v, ok := viewer.From(ctx)
	if !ok {
		return uuid.Nil, apierr.New(apierr.Unauthorized, "Session required")
	}
	return v.Workspace, CheckDirectory(v)
}

// change calls do in a transaction while the members of the workspace are locked.
func (d *Directory) change(ctx context.Context, op string, do func(ctx context.Context, client *ent.Client, workspace uuid.UUID) error) error {
	workspace, err := directoryOf(ctx)
	if err != nil {
		return err
	}
	return d.people.inTransaction(viewer.WithSuspended(ctx), op, func(ctx context.Context, client *ent.Client) error {
		if err := lockWorkspace(ctx, client, workspace); err != nil {
			return err
		}
		return do(ctx, client, workspace)
	})
}

// User returns a member, who may be suspended.
func (d *Directory) User(ctx context.Context, id uuid.UUID) (DirectoryUser, error) {
	workspace, err := directoryOf(ctx)
	if err != nil {
		return DirectoryUser{}, err
	}
	return d.user(ctx, d.people.ent, workspace, id)
}

func (d *Directory) user(ctx context.Context, client *ent.Client, workspace, id uuid.UUID) (DirectoryUser, error) {
	rows, _, err := selectUsers(ctx, client, workspace, DirectoryUserFilter{ID: &id}, 0, 1)
	if err != nil {
		return DirectoryUser{}, apierr.Wrap("read the person", err)
	}
	if len(rows) == 0 {
		return DirectoryUser{}, apierr.NotFound("User")
	}
	return rows[0], nil
}

// Users returns the members that a filter selects, without the first ones, at most
// limit, and the number of all.
func (d *Directory) Users(ctx context.Context, f DirectoryUserFilter, skip, limit int) ([]DirectoryUser, int, error) {
	workspace, err := directoryOf(ctx)
	if err != nil {
		return nil, 0, err
	}
	rows, total, err := selectUsers(ctx, d.people.ent, workspace, f, skip, limit)
	return rows, total, apierr.Wrap("list the people", err)
}

// CreateUser makes a person a member, and creates them if there is nobody with the
// address. A person with an account keeps it: password, identities and name stay. The
// error wraps ErrTaken if there is a member with the user name or the address. It is a
// conflict if the person has an account whose address nobody has verified, since its
// owner may be somebody else.
func (d *Directory) CreateUser(ctx context.Context, in DirectoryUserDraft) (DirectoryUser, error) {
	if in.Email == "" {
		in.Email = in.UserName
	}
	if err := in.clean(); err != nil {
		return DirectoryUser{}, err
	}
	email, err := authn.CleanEmail(in.Email)
	if err != nil {
		return DirectoryUser{}, apierr.Invalid("emails", "needs an email address, unless userName is one")
	}
	var out DirectoryUser
	err = d.change(ctx, "create the person", func(ctx context.Context, client *ent.Client, workspace uuid.UUID) error {
		for _, f := range []DirectoryUserFilter{{UserName: in.UserName}, {Email: email}} {
			if rows, _, err := selectUsers(ctx, client, workspace, f, 0, 1); err != nil || len(rows) > 0 {
				return errors.Join(err, taken("A user with this userName or email address exists already"))
			}
		}
		person, err := d.person(ctx, client, email, in)
		if err != nil {
			return err
		}
		row, err := d.people.accounts.Join(ctx, workspace, person, d.o.Role)
		if err != nil {
			return err
		}
		if err := d.keep(ctx, client, workspace, person, in); err != nil {
			return err
		}
		if !in.Active {
			if err := d.setActive(ctx, client, row, false); err != nil {
				return err
			}
		}
		out, err = d.user(ctx, client, workspace, row.ID)
		return err
	})
	return out, err
}

// person returns the person with an address, who may be new.
func (d *Directory) person(ctx context.Context, client *ent.Client, email string, in DirectoryUserDraft) (uuid.UUID, error) {
	found, exists, err := d.people.findMember(ctx, client, email)
	switch {
	case err != nil:
		return uuid.Nil, err
	case exists && !found.EmailVerified:
		return uuid.Nil, apierr.New(apierr.Conflict, "There is an account with this email address in another workspace, and no sign-in provider has verified the address; the person has to sign in by one first, or to be invited")
	case exists:
		return found.ID, nil
	}
	name, err := authn.CleanName("displayName", in.name(), true)
	if err != nil {
		name = ""
	}
	return d.people.createPerson(ctx, client, authn.PersonDraft{Email: email, Name: name})
}

// UpdateUser changes a member as change says. The address of the account stays.
func (d *Directory) UpdateUser(ctx context.Context, id uuid.UUID, change func(*DirectoryUserDraft) error) (DirectoryUser, error) {
	var out DirectoryUser
	err := d.change(ctx, "change the person", func(ctx context.Context, client *ent.Client, workspace uuid.UUID) error {
		before, err := d.user(ctx, client, workspace, id)
		if err != nil {
			return err
		}
		draft := before.draft()
		if err := change(&draft); err != nil {
			return err
		}
		if err := draft.clean(); err != nil {
			return err
		}
		if !strings.EqualFold(draft.UserName, before.UserName) {
			rows, _, err := selectUsers(ctx, client, workspace, DirectoryUserFilter{UserName: draft.UserName}, 0, 1)
			if err != nil || len(rows) > 0 {
				return errors.Join(err, taken("Another user has this userName"))
			}
		}
		if err := d.keep(ctx, client, workspace, before.person, draft); err != nil {
			return err
		}
		if err := d.rename(ctx, client, before, draft); err != nil {
			return err
		}
		row, err := client.Membership.Get(ctx, id)
		if err != nil {
			return err
		}
		if draft.Active != before.Active {
			if err := d.setActive(ctx, client, row, draft.Active); err != nil {
				return err
			}
		}
		if !before.managed {
			if err := d.applyRoles(ctx, client, workspace, before.person); err != nil {
				return err
			}
		}
		out, err = d.user(ctx, client, workspace, id)
		return err
	})
	return out, err
}

// DeleteUser removes a member, as People.Remove does.
func (d *Directory) DeleteUser(ctx context.Context, id uuid.UUID) error {
	return d.change(ctx, "remove the person", func(ctx context.Context, client *ent.Client, workspace uuid.UUID) error {
		row, err := client.Membership.Query().Where(membership.ID(id), membership.WorkspaceID(workspace)).Only(ctx)
		if ent.IsNotFound(err) {
			return apierr.NotFound("User")
		}
		if err != nil {
			return err
		}
		d.people.invalidateSessions(ctx, row.UserID)
		return d.people.remove(ctx, client, row)
	})
}

// setActive suspends a member, whose sessions and tokens in the workspace end, or ends
// the suspension.
func (d *Directory) setActive(ctx context.Context, client *ent.Client, row *ent.Membership, active bool) error {
	if active {
		return client.Membership.UpdateOne(row).ClearSuspendedAt().Exec(ctx)
	}
	if err := checkOtherOwner(ctx, client, row); err != nil {
		return err
	}
	if err := client.Membership.UpdateOne(row).SetSuspendedAt(d.people.timestamp()).Exec(ctx); err != nil {
		return err
	}
	d.people.invalidateSessions(ctx, row.UserID)
	return d.people.accounts.EndAccess(ctx, row.WorkspaceID, row.UserID)
}

// rename gives a person the name that the directory says, unless they are a member of
// another workspace, too.
func (d *Directory) rename(ctx context.Context, client *ent.Client, before DirectoryUser, in DirectoryUserDraft) error {
	if in.name() == before.draft().name() && before.managed {
		return nil
	}
	name, err := authn.CleanName("displayName", in.name(), true)
	if err != nil || name == "" {
		return nil //nolint:nilerr // a name that cannot be shown is not taken over
	}
	n, err := client.Membership.Query().Where(membership.UserID(before.person)).Count(ctx)
	if err != nil || n > 1 {
		return err
	}
	return client.User.Update().Where(user.ID(before.person), user.NameNEQ(name)).SetName(name).Exec(ctx)
}

// keep stores what the directory says of a person.
func (d *Directory) keep(ctx context.Context, client *ent.Client, workspace, person uuid.UUID, in DirectoryUserDraft) error {
	var external *string
	if in.ExternalID != "" {
		external = &in.ExternalID
		rows, err := client.QueryContext(ctx, "select 1 from directory_users where workspace_id = $1 and external_id = $2 and user_id <> $3", workspace, in.ExternalID, person)
		if err != nil {
			return fmt.Errorf("look an external id up: %w", err)
		}
		other := rows.Next()
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return fmt.Errorf("look an external id up: %w", err)
		}
		if other {
			return taken("Another user has this externalId")
		}
	}
	_, err := client.ExecContext(ctx, `insert into directory_users (workspace_id, user_id, user_name, user_name_key, external_id, display_name, given_name, family_name, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		on conflict (workspace_id, user_id) do update set user_name = excluded.user_name, user_name_key = excluded.user_name_key, external_id = excluded.external_id,
			display_name = excluded.display_name, given_name = excluded.given_name, family_name = excluded.family_name, updated_at = excluded.updated_at`,
		workspace, person, in.UserName, strings.ToLower(in.UserName), external, in.DisplayName, in.GivenName, in.FamilyName, d.people.timestamp())
	if err != nil {
		return fmt.Errorf("store a person of the directory: %w", err)
	}
	return nil
}

func taken(message string) error {
	return &apierr.Error{Code: apierr.Conflict, Message: message, Cause: ErrTaken}
}

func (u DirectoryUser) draft() DirectoryUserDraft {
	return DirectoryUserDraft{
		UserName: u.UserName, ExternalID: u.ExternalID, Email: u.Email, DisplayName: u.DisplayName, GivenName: u.GivenName, FamilyName: u.FamilyName, Active: u.Active,
	}
}

// name returns the name to show.
func (in DirectoryUserDraft) name() string {
	if in.DisplayName != "" {
		return in.DisplayName
	}
	return strings.TrimSpace(in.GivenName + " " + in.FamilyName)
}

// clean checks the texts of a draft.
func (in *DirectoryUserDraft) clean() error {
	in.UserName = strings.TrimSpace(in.UserName)
	if in.UserName == "" {
		return apierr.Invalid("userName", "is required")
	}
	for _, f := range []struct{ name, text string }{
		{"userName", in.UserName}, {"externalId", in.ExternalID}, {"displayName", in.DisplayName}, {"name.givenName", in.GivenName}, {"name.familyName", in.FamilyName},
	} {
		if err := checkDirectoryText(f.name, f.text); err != nil {
			return err
		}
	}
	return nil
}

func checkDirectoryText(name, text string) error {
	if utf8.RuneCountInString(text) > maxDirectoryText {
		return apierr.Invalid(name, fmt.Sprintf("must have at most %d characters", maxDirectoryText))
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return apierr.Invalid(name, "must be text")
	}
	return nil
}
