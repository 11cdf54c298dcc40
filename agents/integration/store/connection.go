package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/mcp"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/toolconnection"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/viewer"
)

// shares reports whether all calls use shared credentials.
func shares(row *ent.ToolIntegration) bool {
	return row.CredentialsOf == toolintegration.CredentialsOfShared
}

// ownConnection returns the connection that the calls of v use, or nil if there is none.
func ownConnection(ctx context.Context, client *ent.Client, row *ent.ToolIntegration, v viewer.Viewer) (*ent.ToolConnection, error) {
	q := client.ToolConnection.Query().Where(toolconnection.IntegrationID(row.ID))
	switch {
	case shares(row):
		q.Where(toolconnection.PersonIDIsNil())
	case v.Kind == viewer.KindSession:
		q.Where(toolconnection.PersonID(v.Subject))
	default:
		return nil, nil //nolint:nilnil // nobody's connection
	}
	found, err := q.Only(ctx)
	if ent.IsNotFound(err) {
		return nil, nil //nolint:nilnil // no connection
	}
	return found, apierr.Wrap("read the credentials", err)
}

// checkSharing returns an error if the viewer may not write the credentials of an integration.
func checkSharing(row *ent.ToolIntegration, v viewer.Viewer) error {
	switch {
	case shares(row) && v.HasRole() && !v.Role.AtLeast(viewer.RoleAdmin):
		return apierr.New(apierr.Forbidden, "The integration uses shared credentials, which administrators enter")
	case !shares(row) && v.Kind != viewer.KindSession:
		return apierr.New(apierr.Unauthorized, "Session required")
	}
	return nil
}

// Connect stores credentials: the viewer's own, or those that the integration shares.
func (s *Store) Connect(ctx context.Context, id uuid.UUID, credentials map[string]any) (*ent.ToolIntegration, error) {
	client := s.client(ctx)
	row, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	p, _, err := s.providerOf(row)
	if err != nil {
		return nil, err
	}
	return row, s.storeCredentials(ctx, client, row, p, credentials)
}

// storeCredentials merges credentials into the connection that the viewer's calls use.
func (s *Store) storeCredentials(ctx context.Context, client *ent.Client, row *ent.ToolIntegration, p Listed, given map[string]any) error {
	v, err := viewerOf(ctx)
	if err != nil {
		return err
	}
	if err := checkSharing(row, v); err != nil {
		return err
	}
	before, err := ownConnection(ctx, client, row, v)
	if err != nil {
		return err
	}
	old, err := s.open(before)
	if err != nil {
		s.opt.Log.WarnContext(ctx, "integration credentials do not open", "integration", row.ID)
		old = map[string]string{}
	}
	values := map[string]any{}
	for name, value := range old {
		values[name] = value
	}
	values = merge(values, given)
	form := p.Form()
	if err := connectors.CheckOptions("credentials", form.Credentials, values); err != nil {
		return optionError(err)
	}
	settings := connectors.Settings{ConnectorID: row.ID.String(), Config: row.Config, Credentials: map[string]string{}}
	for name, value := range values {
		settings.Credentials[name], _ = value.(string)
	}
	if form.CheckSettings != nil {
		if err := form.CheckSettings(settings); err != nil {
			return optionError(err)
		}
	}
	id := gid.New(gid.ToolConnection)
	if before != nil {
		id = before.ID
	}
	sealed, err := s.seal(id, settings.Credentials)
	if err != nil {
		return apierr.Wrap("store credentials", err)
	}
	if before != nil {
		return client.ToolConnection.UpdateOne(before).SetCredentials(sealed).SetStatus(toolconnection.StatusActive).ClearLastError().
			SetUpdatedAt(s.opt.Now()).Exec(ctx)
	}
	create := client.ToolConnection.Create().SetID(id).SetIntegrationID(row.ID).SetCredentials(sealed)
	if !shares(row) {
		create.SetPersonID(v.Subject)
	}
	return create.Exec(ctx)
}

// Disconnect deletes the credentials that the viewer may write.
func (s *Store) Disconnect(ctx context.Context, id uuid.UUID) (*ent.ToolIntegration, error) {
	v, err := viewerOf(ctx)
	if err != nil {
		return nil, err
	}
	row, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := checkSharing(row, v); err != nil {
		return nil, err
	}
	client := s.client(ctx)
	c, err := ownConnection(ctx, client, row, v)
	if err != nil || c == nil {
		return row, err
	}
	if err := client.ToolConnection.DeleteOne(c).Exec(ctx); err != nil {
		return nil, lookup.Error("Connection", err)
	}
	if c.GrantID != nil {
		return row, s.opt.Grants.Forget(ctx, client, *c.GrantID)
	}
	return row, nil
}

// Authorize begins a connection by OAuth whose grant the integration gets.
func (s *Store) Authorize(ctx context.Context, id uuid.UUID, returnTo string) (oauth.Authorization, error) {
	v, err := viewerOf(ctx)
	if err != nil {
		return oauth.Authorization{}, err
	}
	row, err := s.Get(ctx, id)
	if err != nil {
		return oauth.Authorization{}, err
	}
	return s.begin(ctx, row, v, returnTo, true)
}

// checkHosts returns an error if a config sends the tokens of a grant to a host of somebody
// else than the grant's provider.
func (s *Store) checkHosts(p Listed, config map[string]any) error {
	for option, origins := range p.Form().GrantOrigins(config) {
		for _, origin := range origins {
			if !s.opt.Grants.OwnsOrigin(p.OAuth.Provider, origin) {
				return apierr.Invalid("config."+option, fmt.Sprintf("leads to %s, which is not of %s; enter credentials in place of the OAuth grant", origin, p.Title))
			}
		}
	}
	return nil
}

// account opens the account that the calls of v use. Its errors are for people and models.
// again also opens one whose credentials were refused.
func (s *Store) account(ctx context.Context, row *ent.ToolIntegration, p Listed, v viewer.Viewer, again bool) (integration.Account, *ent.ToolConnection, error) {
	a := integration.Account{
		Settings: connectors.Settings{ConnectorID: row.ID.String(), Config: row.Config, Credentials: map[string]string{}}, Dial: s.opt.Dial, Now: s.opt.Now,
	}
	c, err := ownConnection(ctx, s.client(ctx), row, v)
	if err != nil {
		return a, nil, err
	}
	if missing := s.missing(row, p, c, again); missing != "" {
		return a, c, connectors.NeedsAuth(&apierr.Error{Code: apierr.Unauthorized, Message: missing})
	}
	if row.Kind == toolintegration.KindMCP && (shares(row) || v.Kind == viewer.KindSession) {
		access := s.accessOf(row, v)
		access.mayBegin, access.returnTo = inRun(ctx) && mayAuthorize(row, v), s.opt.Dashboard
		a.Access = access
	}
	if c == nil {
		return a, nil, nil
	}
	if a.Credentials, err = s.open(c); err != nil {
		return a, c, connectors.NeedsAuth(&apierr.Error{Code: apierr.Unauthorized, Message: err.Error()})
	}
	if c.GrantID != nil && p.OAuth != nil {
		if err := s.checkHosts(p, row.Config); err != nil {
			return a, c, err
		}
		a.Token = s.opt.Grants.TokenSourceFor(v, *c.GrantID)
	}
	return a, c, nil
}

// missing says what a connection lacks, "" if nothing. It does not look into credentials.
// again ignores that they were refused.
func (s *Store) missing(row *ent.ToolIntegration, p Listed, c *ent.ToolConnection, again bool) string {
	form := p.Form()
	has := c != nil && (len(c.Credentials) > 0 || c.GrantID != nil)
	asked := row.Kind == toolintegration.KindMCP && !again && c != nil && c.Status == toolconnection.StatusNeedsAuth // by a server that may need none
	empty := connectors.Settings{ConnectorID: row.ID.String(), Config: row.Config, Credentials: map[string]string{}}
	err := connectors.CheckOptions("credentials", form.Credentials, nil)
	if err == nil && form.CheckSettings != nil {
		err = form.CheckSettings(empty)
	}
	switch {
	case has && !again && c.Status == toolconnection.StatusNeedsAuth:
		return row.Name + " does not accept the credentials any more; connect to it again"
	case has, err == nil && !asked && (p.OAuth == nil || len(form.Credentials) > 0):
		return ""
	case shares(row):
		return row.Name + " has no credentials; an administrator enters them"
	default:
		return "You are not connected to " + row.Name + "; connect to it first"
	}
}

// State is the state of an integration for a viewer.
type State string

// The states of integrations.
const (
	Active    State = "ACTIVE"
	NeedsAuth State = "NEEDS_AUTH"
	Failing   State = "ERROR"
	Disabled  State = "DISABLED"
)

// States returns the states of integrations for the viewer in ctx.
func (s *Store) States(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]State, error) {
	v, err := viewerOf(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.client(ctx).ToolIntegration.Query().Where(toolintegration.IDIn(ids...)).WithConnections().All(ctx)
	if err != nil {
		return nil, apierr.Wrap("read the integrations", err)
	}
	out := map[uuid.UUID]State{}
	for _, row := range rows {
		out[row.ID] = s.state(row, v)
	}
	return out, nil
}

// state returns the state of a row with its connections.
func (s *Store) state(row *ent.ToolIntegration, v viewer.Viewer) State {
	p, _, err := s.providerOf(row)
	if err != nil {
		return Failing
	}
	c := own(row, v)
	switch {
	case !row.Enabled:
		return Disabled
	case s.missing(row, p, c, false) != "":
		return NeedsAuth
	case c != nil && c.Status == toolconnection.StatusError, row.LastError != nil:
		return Failing
	default:
		return Active
	}
}

// StoredCredentials returns the names of the credentials that the calls of the viewer in ctx
// use, in order, by integration. Those that do not open any more are left out.
func (s *Store) StoredCredentials(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID][]string, error) {
	v, err := viewerOf(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.client(ctx).ToolIntegration.Query().Where(toolintegration.IDIn(ids...)).WithConnections().All(ctx)
	if err != nil {
		return nil, apierr.Wrap("read the integrations", err)
	}
	out := map[uuid.UUID][]string{}
	for _, row := range rows {
		values, err := s.open(own(row, v))
		if err != nil {
			continue // the status says that they have to be entered again
		}
		maps.DeleteFunc(values, func(_, value string) bool { return value == "" })
		out[row.ID] = slices.Sorted(maps.Keys(values))
	}
	return out, nil
}

// A Check is the outcome of a test.
type Check struct {
	OK, NeedsAuth bool
	Message       string
}

// checkTimeout bounds the request of a test.
const checkTimeout = 25 * time.Second

// Test makes the cheapest request with the credentials that the viewer's runs use. The audit
// log records the test.
func (s *Store) Test(ctx context.Context, id uuid.UUID) (Check, error) {
	v, err := viewerOf(ctx)
	if err != nil {
		return Check{}, err
	}
	row, err := s.Get(ctx, id)
	if err != nil {
		return Check{}, err
	}
	p, _, err := s.providerOf(row)
	if err != nil {
		return Check{}, err
	}
	inside, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	a, c, err := s.account(inside, row, p, v, true)
	if err == nil {
		err = p.Check(inside, a)
	}
	out := Check{OK: err == nil, NeedsAuth: connectors.IsNeedsAuth(err), Message: "The connection works"}
	switch {
	case err == nil:
	case inside.Err() != nil && ctx.Err() == nil:
		out.Message = fmt.Sprintf("There was no answer within %d seconds", int(checkTimeout.Seconds()))
	default:
		out.Message = words(err)
	}
	s.note(ctx, v, row, c, err, true)
	err = audit.Record(ctx, audit.ClientExec(s.client(ctx)), audit.Event{
		Action: "tool_integration.test", TargetKind: "tool_integration", TargetID: id, TargetName: row.Name, Changes: []audit.Change{{Field: "ok", New: out.OK}},
	})
	return out, apierr.Wrap("record a test", err)
}

// words returns what people may see of an error.
func words(err error) string {
	var known *apierr.Error
	if errors.As(err, &known) && known.Code != apierr.Internal {
		return known.Message
	}
	if connectors.IsNeedsAuth(err) {
		return safetext.Truncate(safetext.Line(err.Error()), maxLastError)
	}
	return "The platform could not be asked"
}

const maxLastError = 500 // characters

// note keeps the outcome of a test or a call at its connection. Only a test is noted
// whenever it succeeds.
func (s *Store) note(ctx context.Context, v viewer.Viewer, row *ent.ToolIntegration, c *ent.ToolConnection, failure error, tested bool) {
	if needed, ok := errors.AsType[*mcp.NeedsAuthError](failure); ok && needed.More {
		return // the account works
	}
	if c == nil && row.Kind == toolintegration.KindMCP && connectors.IsNeedsAuth(failure) {
		s.noteNeed(ctx, v, row, failure)
		return
	}
	if c == nil || failure == nil && !tested && c.Status == toolconnection.StatusActive {
		return
	}
	if c.PersonID == nil {
		v = viewer.System(v.Workspace) // administrators write shared credentials, everybody's calls note their state
	}
	ctx = viewer.With(context.WithoutCancel(ctx), v)
	update := s.opt.Ent.ToolConnection.UpdateOneID(c.ID)
	if tested {
		update.SetLastCheckedAt(s.opt.Now())
	}
	switch {
	case failure == nil:
		update.SetStatus(toolconnection.StatusActive).ClearLastError()
	case connectors.IsNeedsAuth(failure):
		update.SetStatus(toolconnection.StatusNeedsAuth).SetLastError(safetext.Truncate(words(failure), maxLastError))
	case tested:
		update.SetStatus(toolconnection.StatusError).SetLastError(safetext.Truncate(words(failure), maxLastError))
	default:
		return // a call may fail for its arguments
	}
	if err := update.Exec(ctx); err != nil && !ent.IsNotFound(err) {
		s.opt.Log.WarnContext(ctx, "state of a tool connection not stored", "connection", c.ID, "error", err)
	}
}

// noteNeed keeps that a server, which was thought to need no account, needs one.
func (s *Store) noteNeed(ctx context.Context, v viewer.Viewer, row *ent.ToolIntegration, failure error) {
	create := s.opt.Ent.ToolConnection.Create().SetIntegrationID(row.ID).SetStatus(toolconnection.StatusNeedsAuth).
		SetLastError(safetext.Truncate(words(failure), maxLastError))
	switch {
	case shares(row):
		v = viewer.System(row.WorkspaceID)
	case v.Kind != viewer.KindSession:
		return
	default:
		create.SetPersonID(v.Subject)
	}
	err := create.Exec(viewer.With(context.WithoutCancel(ctx), v))
	if err != nil && !ent.IsConstraintError(err) { // the beginning of a connection made it
		s.opt.Log.WarnContext(ctx, "state of a tool connection not stored", "integration", row.ID, "error", err)
	}
}
