package people

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Who may sign up without an invitation.
const (
	// Who may sign up without an invitation.
	SignUpFirst = "first" // the first owner, while there are no people
	SignUpOpen  = "open"  // everybody, each into an own workspace
	SignUpOff   = "off"   // nobody; the command line creates people
)

// DefaultInvitationLifetime is how long an invitation is open.
const DefaultInvitationLifetime = 7 * 24 * time.Hour

// Uploads deletes the contents of uploaded files. sourcefile.Files implements it.
type Uploads interface {
	// WorkspaceBlobKeys returns the keys of all contents in a workspace.
	WorkspaceBlobKeys(ctx context.Context, workspace uuid.UUID) ([]string, error)
	DeleteBlobs(ctx context.Context, keys []string) error
}

// SignInLog records failed sign-ins. audit.SignIns implements it.
type SignInLog interface {
	Failed(ctx context.Context, email, reason string)
}

// Options configure People. Attempts and Uploads are required.
type Options struct {
	// SignUp is one of the constants. Default: SignUpFirst.
	SignUp string
	// InvitationLifetime is how long an invitation is open. Default:
	// DefaultInvitationLifetime.
	InvitationLifetime time.Duration
	// Dashboard is the address of the dashboard, without a slash at the end. Links
	// begin with it.
	Dashboard string
	// Attempts counts wrong passwords.
	Attempts authn.Attempts
	Uploads  Uploads
	SignIns  SignInLog        // default: discard
	Log      *slog.Logger     // default: discard
	Now      func() time.Time // default: time.Now
}

// People are the members of the workspaces of a database.
type People struct {
	ent      *ent.Client
	accounts *authn.Accounts
	limiter  authn.SignInLimiter
	o        Options
}

// New returns the people of a database.
func New(client *ent.Client, accounts *authn.Accounts, o Options) *People {
	if o.SignUp == "" {
		o.SignUp = SignUpFirst
	}
	if o.InvitationLifetime <= 0 {
		o.InvitationLifetime = DefaultInvitationLifetime
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &People{ent: client, accounts: accounts, limiter: authn.SignInLimiter{Attempts: o.Attempts}, o: o}
}

// timestamp returns the time with the precision of the database.
func (p *People) timestamp() time.Time { return p.o.Now().Truncate(time.Microsecond) }

func asSystem(ctx context.Context) context.Context {
	return viewer.With(ctx, viewer.System(uuid.Nil))
}

// inTransaction calls do as Magpie itself, in the transaction of ctx or in a new
// one. The policies allow everything in it: the caller must check what the viewer
// may do.
func (p *People) inTransaction(ctx context.Context, op string, do func(ctx context.Context, client *ent.Client) error) error {
	return apierr.Wrap(op, transaction.In(asSystem(ctx), p.ent, do))
}

// actor is the member who acts on a workspace, or the operator.
type actor struct {
	workspace uuid.UUID
	person    uuid.UUID // uuid.Nil for the operator
	session   uuid.UUID
	role      viewer.Role
}

// lockMembers locks the members of the viewer's workspace until the end of the
// transaction and returns the actor. It reads the role again, since it may have
// changed: of two owners who remove each other, one succeeds.
func lockMembers(ctx context.Context, client *ent.Client, v viewer.Viewer) (actor, error) {
	if v.Workspace == uuid.Nil || v.Kind != viewer.KindSession && v.Kind != viewer.KindSystem {
		return actor{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	if err := lockWorkspace(ctx, client, v.Workspace); err != nil {
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
	role := roleOf(row.Role)
	if v.Token != uuid.Nil {
		role = viewer.Min(role, v.Role) // a token may have a lower one
	}
	return actor{workspace: v.Workspace, person: v.Subject, session: v.Session, role: role}, nil
}

// requireRole returns an error if the actor's role is too low.
func (a actor) requireRole(role viewer.Role) error {
	if !a.role.AtLeast(role) {
		return apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role "+string(role))
	}
	return nil
}

// checkCanManage returns an error if the actor may not change, remove or reset a
// member with the role: owners may manage all, admins only lower roles.
func (a actor) checkCanManage(role viewer.Role) error {
	if a.role == viewer.RoleOwner || a.role == viewer.RoleAdmin && !role.AtLeast(viewer.RoleAdmin) {
		return nil
	}
	if role == viewer.RoleOwner || a.role != viewer.RoleAdmin {
		return a.requireRole(viewer.RoleOwner)
	}
	return apierr.New(apierr.Forbidden, "Your role does not allow this; admins change the roles below their own")
}

// checkCanGrant returns an error if the role is above the actor's.
func (a actor) checkCanGrant(role viewer.Role) error {
	if err := a.requireRole(viewer.RoleAdmin); err != nil {
		return err
	}
	if !a.role.AtLeast(role) {
		return apierr.New(apierr.Forbidden, "Your role does not allow this; nobody gives a role above their own")
	}
	return nil
}

func roleOf[T ~string](role T) viewer.Role { return viewer.Role(strings.ToLower(string(role))) }

// requirePerson returns the viewer if it is a signed-in person.
func requirePerson(ctx context.Context) (viewer.Viewer, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return viewer.Viewer{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	return v, nil
}

// link returns the address of a dashboard page with a token. The token is in the
// fragment, which browsers do not send to servers.
func (p *People) link(page, token string) string {
	return p.o.Dashboard + "/" + page + "#token=" + token
}
