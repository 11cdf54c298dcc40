package viewer

import (
	"context"

	"github.com/google/uuid"
)

// Kind says how the viewer proved who it is.
type Kind string

// The kinds of viewers.
const (
	KindAnonymous Kind = "anonymous" // a caller without credentials, e.g. one who signs in
	KindSession   Kind = "session"   // a person signed in to the dashboard
	KindKey       Kind = "key"       // an API key
	KindSystem    Kind = "system"    // Magpie itself: workers, the command line
	KindCommand   Kind = "command"   // somebody at the command line, as an actor only
)

// Surface is the API through which a request came.
type Surface string

// The surfaces; the same names stand in the schema's @surface directive.
const (
	SurfacePublic    Surface = "PUBLIC"    // /v1, by API key
	SurfaceDashboard Surface = "DASHBOARD" // /graphql and /api/v1, by session
	SurfaceInternal  Surface = "INTERNAL"  // calls from inside the process
)

// Role is what a member may do in a workspace.
type Role string

// The roles, from least to most.
const (
	RoleViewer Role = "viewer"
	RoleEditor Role = "editor"
	RoleAdmin  Role = "admin"
	RoleOwner  Role = "owner"
)

func (r Role) rank() int {
	switch r {
	case RoleViewer:
		return 1
	case RoleEditor:
		return 2
	case RoleAdmin:
		return 3
	case RoleOwner:
		return 4
	default:
		return 0
	}
}

// AtLeast reports whether r allows everything that min allows. An unknown role
// allows nothing.
func (r Role) AtLeast(min Role) bool { return r.rank() > 0 && r.rank() >= min.rank() }

// Viewer is the one who asks. The zero value may do nothing.
type Viewer struct {
	Workspace uuid.UUID // zero only for the system viewer that spans workspaces and for anonymous ones
	Subject   uuid.UUID // the user's or key's id
	Session   uuid.UUID // the sign-in a session viewer came with
	Kind      Kind
	Surface   Surface
	Role      Role

	AllCollections    bool        // every collection of the workspace may be reached
	Collections       []uuid.UUID // otherwise these
	DefaultCollection uuid.UUID   // zero: none set

	Secret      bool   // a secret key, not a publishable one
	Email       string // of a signed-in person; the login of an actor at the command line
	Verified    bool   // the signed-in person is known to own Email
	Named       string // the address whom a request by a secret key named as the one who asks
	ChatModel   string // the key's widget_model_id
	ChatContext string // the key's widget_context
}

type contextKey struct{}

type actorKey struct{}

// With returns a context that carries v. What Magpie then does as itself on
// somebody's behalf stays that one's doing: Actor goes on naming them.
func With(ctx context.Context, v Viewer) context.Context {
	if v.Kind != KindSystem {
		ctx = context.WithValue(ctx, actorKey{}, v)
	}
	return context.WithValue(ctx, contextKey{}, v)
}

// ByCommand returns a context in which Actor names somebody at the command
// line. It gives no rights.
func ByCommand(ctx context.Context, login string) context.Context {
	return context.WithValue(ctx, actorKey{}, Viewer{Kind: KindCommand, Email: login})
}

// Actor returns who began what happens in ctx: the caller whom With named
// last, whatever system viewers came after; false where Magpie acts by itself.
// Rights go by From alone.
func Actor(ctx context.Context) (Viewer, bool) {
	v, ok := ctx.Value(actorKey{}).(Viewer)
	return v, ok
}

// From returns the viewer in ctx; false when nobody was named, which every
// policy takes as a refusal.
func From(ctx context.Context) (Viewer, bool) {
	v, ok := ctx.Value(contextKey{}).(Viewer)
	return v, ok
}

// System is Magpie itself inside one workspace, or with uuid.Nil across all.
func System(workspace uuid.UUID) Viewer {
	return Viewer{
		Workspace: workspace, Kind: KindSystem, Surface: SurfaceInternal,
		Role: RoleOwner, AllCollections: true,
	}
}

// SpansWorkspaces reports whether v is the system viewer of all workspaces.
func (v Viewer) SpansWorkspaces() bool {
	return v.Kind == KindSystem && v.Workspace == uuid.Nil
}
