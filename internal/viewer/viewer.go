package viewer

import (
	"context"

	"github.com/google/uuid"
)

// Kind says how a viewer has authenticated.
type Kind string

// The kinds of viewers.
const (
	KindAnonymous Kind = "anonymous" // a caller without credentials, such as one who signs in
	KindSession   Kind = "session"   // a person, signed in to the dashboard or by a personal token
	KindService   Kind = "service"   // a service token of a workspace, which is no person
	KindKey       Kind = "key"       // an API key
	KindSystem    Kind = "system"    // Magpie itself: workers, the command line
	KindCommand   Kind = "command"   // a person at the command line, as an actor only
)

// Surface is the API that a request came through.
type Surface string

// The surfaces, with the names of the schema's @surface directive.
const (
	SurfacePublic    Surface = "PUBLIC"    // /v1, by API key
	SurfaceDashboard Surface = "DASHBOARD" // /graphql and /api/v1, by session or token
	SurfaceInternal  Surface = "INTERNAL"  // calls inside the process
	SurfaceMCP       Surface = "MCP"       // /mcp, by API key or access token
)

// Role is what a member of a workspace may do.
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

// A Viewer is the caller of a request, or Magpie itself. The zero value may do
// nothing.
type Viewer struct {
	Workspace uuid.UUID // zero only for anonymous viewers and the system viewer of all workspaces
	Subject   uuid.UUID // id of the user, key or service token
	Session   uuid.UUID // of a signed-in person
	Token     uuid.UUID // of a caller by a personal or service token
	Kind      Kind
	Surface   Surface
	Role      Role

	AllCollections    bool        // every collection of the workspace is in scope
	Collections       []uuid.UUID // the collections in scope without AllCollections
	DefaultCollection uuid.UUID   // zero for none

	AllGroups bool    // of a token: it may use every group of operations
	Groups    []Group // of a token without AllGroups
	TokenName string

	Secret        bool   // a secret key, not a publishable one
	DatabaseTools bool   // a secret key that may query attached databases
	Email         string // of a signed-in person; the login of an actor at the command line
	Verified      bool   // the signed-in person is known to own Email
	EndUser       string // email address of the end user that a request with a secret key names
	ChatModel     string // widget_model_id of the key
	ChatContext   string // widget_context of the key
}

// HasRole reports whether the rights of v follow from its role: of people and of service
// tokens. API keys have none, and Magpie itself needs none.
func (v Viewer) HasRole() bool { return v.Kind == KindSession || v.Kind == KindService }

// Credential returns the id of the session or token of v, uuid.Nil without one.
func (v Viewer) Credential() uuid.UUID {
	if v.Token != uuid.Nil {
		return v.Token
	}
	return v.Session
}

type contextKey struct{}

type actorKey struct{}

// With returns a context with the viewer v. A system viewer does not become the
// actor: what Magpie does on behalf of a caller is attributed to the caller.
func With(ctx context.Context, v Viewer) context.Context {
	if v.Kind != KindSystem {
		ctx = context.WithValue(ctx, actorKey{}, v)
	}
	return context.WithValue(ctx, contextKey{}, v)
}

// WithCommandActor returns a context in which Actor returns a person at the command
// line. It grants no rights.
func WithCommandActor(ctx context.Context, login string) context.Context {
	return context.WithValue(ctx, actorKey{}, Viewer{Kind: KindCommand, Email: login})
}

// Actor returns the viewer to whom changes in ctx are attributed: the last one
// passed to With that is not a system viewer. It is false if Magpie acts by itself.
// Rights depend on From alone.
func Actor(ctx context.Context) (Viewer, bool) {
	v, ok := ctx.Value(actorKey{}).(Viewer)
	return v, ok
}

// From returns the viewer in ctx; false without one, which every policy refuses.
func From(ctx context.Context) (Viewer, bool) {
	v, ok := ctx.Value(contextKey{}).(Viewer)
	return v, ok
}

// System returns the viewer of Magpie itself inside one workspace or, with
// uuid.Nil, across all.
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
