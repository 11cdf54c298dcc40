package authn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/session"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxApplicationName is the maximum length of an application's name in characters.
const maxApplicationName = 200

// An Application is a program that a person connects: a client of OAuth. Its access
// is a session of that person, which the person can end. Its access tokens are for
// one audience and not for the dashboard.
type Application struct {
	ClientID string
	Name     string
	Audience string // URL of the resource that its access tokens are for
}

// hash returns what a session stores of the client id; "" for the zero value.
func (app Application) hash() string {
	if app.ClientID == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(app.ClientID))
	return hex.EncodeToString(sum[:])
}

// ConnectApplication opens a session of an application for a person, who has agreed
// to that, in a workspace. The error is not_found if the person is no member.
func (a *Accounts) ConnectApplication(ctx context.Context, person, workspace uuid.UUID, app Application) (Tokens, error) {
	if app.ClientID == "" || app.Audience == "" || workspace == uuid.Nil {
		return Tokens{}, apierr.New(apierr.Internal, "an application needs a client id, an audience and a workspace")
	}
	app.Name = safetext.Truncate(safetext.Line(app.Name), maxApplicationName)
	return a.openSession(ctx, person, workspace, app)
}

// RefreshApplication exchanges a refresh token of an application, as Refresh does.
// A token of another application is refused.
func (a *Accounts) RefreshApplication(ctx context.Context, token string, app Application) (Tokens, error) {
	if app.ClientID == "" {
		return Tokens{}, errSessionRequired()
	}
	return a.refresh(ctx, token, app)
}

// AuthenticateApplication returns the viewer of an access token for an audience, as
// Authenticate does.
func (a *Accounts) AuthenticateApplication(ctx context.Context, token, audience string) (viewer.Viewer, error) {
	id, ok := a.parseAccess(token, audience)
	if !ok || audience == "" {
		return viewer.Viewer{}, errSessionRequired()
	}
	return a.SessionViewer(ctx, id)
}

// DisconnectApplication ends the session of a refresh token of an application. A
// token that is not valid is ignored.
func (a *Accounts) DisconnectApplication(ctx context.Context, token string, app Application) error {
	id, _, ok := a.parseRefresh(token)
	if !ok || app.ClientID == "" {
		return nil
	}
	_, err := a.endWhere(ctx, func(v viewer.Viewer) bool { return v.Session == id }, session.ID(id), session.ApplicationHash(app.hash()))
	return err
}
