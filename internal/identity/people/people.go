package people

import (
	"context"
	"log/slog"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/workspace"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Who may sign up without an invitation.
const (
	SignUpFirst = "first" // the first owner, while there is nobody
	SignUpOpen  = "open"  // everybody, each into a workspace of their own
	SignUpOff   = "off"   // nobody; people are made on the command line
)

// DefaultInvitation is how long an invitation is open.
const DefaultInvitation = 7 * 24 * time.Hour

// Uploads deletes the contents of uploaded files (sourcefile.Files).
type Uploads interface {
	// WorkspaceBlobKeys returns the keys of all contents in a workspace.
	WorkspaceBlobKeys(ctx context.Context, workspace uuid.UUID) ([]string, error)
	DeleteBlobs(ctx context.Context, keys []string) error
}

// SignInLog records sign-ins that failed (audit.SignIns).
type SignInLog interface {
	Failed(ctx context.Context, email, reason string)
}

// Options of People. Attempts and Uploads are needed.
type Options struct {
	// SignUp is one of the constants; SignUpFirst when empty.
	SignUp string
	// Invitation is how long one is open; DefaultInvitation when zero.
	Invitation time.Duration
	// Dashboard is the address of the front end, without a slash at its end: links begin with it.
	Dashboard string
	// Attempts counts wrong passwords.
	Attempts authn.Attempts
	Uploads  Uploads
	SignIns  SignInLog        // nil records nothing
	Log      *slog.Logger     // nil: silent
	Now      func() time.Time // nil: the system's clock
}

// People are the members of the workspaces of a database.
type People struct {
	ent      *ent.Client
	accounts *authn.Accounts
	guesses  authn.Guesses
	o        Options
}

// New makes the people of a database over its accounts.
func New(client *ent.Client, accounts *authn.Accounts, o Options) *People {
	if o.SignUp == "" {
		o.SignUp = SignUpFirst
	}
	if o.Invitation <= 0 {
		o.Invitation = DefaultInvitation
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &People{ent: client, accounts: accounts, guesses: authn.Guesses{Attempts: o.Attempts}, o: o}
}

// stamp is the time as exact as the database keeps it.
func (p *People) stamp() time.Time { return p.o.Now().Truncate(time.Microsecond) }

func asSystem(ctx context.Context) context.Context {
	return viewer.With(ctx, viewer.System(uuid.Nil))
}

// in does something in ctx's transaction or one of its own, as Magpie itself:
// what the caller may do has to be checked, since the policies let everything pass.
func (p *People) in(ctx context.Context, what string, do func(ctx context.Context, client *ent.Client) error) error {
	return apierr.Wrap(what, transaction.In(asSystem(ctx), p.ent, do))
}

// actor is who acts on a workspace: a member, or the operator.
type actor struct {
	workspace uuid.UUID
	person    uuid.UUID // uuid.Nil for the operator
	session   uuid.UUID
	role      viewer.Role
}

// seat holds the members of the viewer's workspace still until the end of the
// transaction and says who acts. The role is read anew, since the one in the
// viewer may have been taken away a moment ago: of two owners who unmake each
// other only one succeeds.
func seat(ctx context.Context, client *ent.Client, v viewer.Viewer) (actor, error) {
	if v.Workspace == uuid.Nil || v.Kind != viewer.KindSession && v.Kind != viewer.KindSystem {
		return actor{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	// Weaker than FOR UPDATE, which would wait for everybody who writes anything into the workspace.
	_, err := client.Workspace.Query().Where(workspace.ID(v.Workspace)).ForUpdate(entsql.WithLockClause("FOR NO KEY UPDATE")).Only(ctx)
	if ent.IsNotFound(err) {
		return actor{}, apierr.NotFound("Workspace")
	}
	if err != nil {
		return actor{}, err
	}
	if v.Kind == viewer.KindSystem {
		return actor{workspace: v.Workspace, role: viewer.RoleOwner}, nil
	}
	row, err := client.Membership.Query().Where(membership.WorkspaceID(v.Workspace), membership.UserID(v.Subject)).Only(ctx)
	if ent.IsNotFound(err) {
		return actor{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	if err != nil {
		return actor{}, err
	}
	return actor{workspace: v.Workspace, person: v.Subject, session: v.Session, role: roleOf(row.Role)}, nil
}

// needs refuses an actor whose role is too low.
func (a actor) needs(role viewer.Role) error {
	if !a.role.AtLeast(role) {
		return apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role "+string(role))
	}
	return nil
}

// mayTouch refuses an actor who may not change or remove a member of a role, or
// make a link for one: owners may all, admins only those below them.
func (a actor) mayTouch(role viewer.Role) error {
	if a.role == viewer.RoleOwner || a.role == viewer.RoleAdmin && !role.AtLeast(viewer.RoleAdmin) {
		return nil
	}
	if role == viewer.RoleOwner || a.role != viewer.RoleAdmin {
		return a.needs(viewer.RoleOwner)
	}
	return apierr.New(apierr.Forbidden, "Your role does not allow this; admins change the roles below their own")
}

// mayGive refuses an actor who would give somebody more than they have.
func (a actor) mayGive(role viewer.Role) error {
	if err := a.needs(viewer.RoleAdmin); err != nil {
		return err
	}
	if !a.role.AtLeast(role) {
		return apierr.New(apierr.Forbidden, "Your role does not allow this; nobody gives a role above their own")
	}
	return nil
}

func roleOf[T ~string](role T) viewer.Role { return viewer.Role(strings.ToLower(string(role))) }

// own is the viewer, who must be a person.
func own(ctx context.Context) (viewer.Viewer, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return viewer.Viewer{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	return v, nil
}

// link is a page of the dashboard that a token opens. The token stands behind
// the #, which browsers keep for themselves: no log of a server has it.
func (p *People) link(page, token string) string {
	return p.o.Dashboard + "/" + page + "#token=" + token
}
