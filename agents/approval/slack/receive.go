package slack

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/slackapi"
	"github.com/magpie-search/magpie/ent"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// mailFor is the lifetime of a remembered mail address of a Slack user.
	mailFor  = 10 * time.Minute
	maxMails = 10_000
)

type mailKey struct {
	integration uuid.UUID
	user        string
}

type mail struct {
	address string // empty for none that Slack has verified
	until   time.Time
}

// empty is the answer to a use of a button.
func empty() event.Answer { return event.Answer{Body: []byte{}} }

// Receive handles what Slack sends when a person uses a button or a form. The errors are
// apierr: invalid_signature, not_found for an unknown integration, invalid_request. What
// the person did wrong is told to the person, in Slack.
func (a *App) Receive(ctx context.Context, integration uuid.UUID, r *event.Request) (event.Answer, error) {
	if _, ok := a.Provider().Open(r); ok {
		return empty(), nil
	}
	verified, err := a.inbox.Verify(ctx, ProviderName, integration, r)
	if err != nil {
		return event.Answer{}, err
	}
	p, err := parseInteraction(r.Body)
	if err != nil {
		return event.Answer{}, apierr.New(apierr.InvalidRequest, "body: "+err.Error())
	}
	action, value := p.action()
	if action == "" || action == actionOpen {
		return empty(), nil
	}
	row, found, err := a.find(ctx, verified, value)
	if err != nil {
		return event.Answer{}, err
	}
	if row == nil {
		a.respond(ctx, p.ResponseURL, "This approval does not exist any more.")
		return p.failure("This approval does not exist any more."), nil
	}
	person, ok, err := a.person(ctx, found, p)
	if err != nil {
		return event.Answer{}, err
	}
	if !ok || !approval.MayDecide(person, row) {
		const refusal = "You are not an approver of this. The decision is open for others."
		if err := a.noteRefusal(ctx, found.Workspace, person, ok, row, p.User.ID); err != nil {
			return event.Answer{}, err
		}
		a.respond(ctx, p.ResponseURL, refusal)
		return p.failure(refusal), nil
	}
	if err := a.adopt(ctx, row, p); err != nil {
		return event.Answer{}, err
	}
	return a.act(viewer.With(ctx, person), found, p, action, row)
}

// adopt records the message whose button was used, if none is known: a process may have
// stopped after Slack took the message and before that was recorded. So the message can be
// replaced by the outcome.
func (a *App) adopt(ctx context.Context, row *ent.Approval, p *interaction) error {
	ts := p.Message.TS
	if row.SlackTs != nil || row.SlackChannel == nil || p.Channel.ID != *row.SlackChannel || ts == "" || len(ts) > maxTS {
		return nil
	}
	_, err := a.opt.Ent.ExecContext(ctx, "update approvals set slack_ts = $2::text, slack_due_at = null where id = $1::text::uuid and slack_ts is null", row.ID.String(), ts)
	return apierr.Wrap("record the message of an approval", err)
}

// action returns what a person did and the value of the button or form.
func (i *interaction) action() (action, value string) {
	switch {
	case i.Type == "block_actions" && len(i.Actions) > 0:
		return i.Actions[0].ID, i.Actions[0].Value
	case i.Type == "view_submission":
		return i.View.Callback, i.View.Metadata
	default:
		return "", ""
	}
}

// failure is the answer to a form that shows a text at its comment; the answer to a
// button is empty.
func (i *interaction) failure(text string) event.Answer { return i.failureAt(fieldComment, text) }

func (i *interaction) failureAt(field, text string) event.Answer {
	if i.Type != "view_submission" {
		return empty()
	}
	body, err := json.Marshal(object{"response_action": "errors", "errors": object{field: text}})
	if err != nil {
		return empty()
	}
	return event.Answer{ContentType: "application/json; charset=utf-8", Body: body}
}

// find returns the approval of a button and the integration that posted it; nil for none.
func (a *App) find(ctx context.Context, verified []inbox.Verified, value string) (*ent.Approval, inbox.Verified, error) {
	text, nonce, _ := strings.Cut(value, ".")
	id, err := uuid.Parse(text)
	if err != nil {
		return nil, inbox.Verified{}, nil
	}
	for _, v := range verified {
		row, err := a.opt.Ent.Approval.Query().Where(entapproval.ID(id), entapproval.SlackIntegrationID(v.Integration)).Only(system(ctx, v.Workspace))
		switch {
		case ent.IsNotFound(err):
		case err != nil:
			return nil, v, apierr.Wrap("read an approval", err)
		case subtle.ConstantTimeCompare([]byte(nonce), []byte(row.Nonce)) == 1:
			return row, v, nil
		}
	}
	return nil, inbox.Verified{}, nil
}

// person returns the member of the workspace who used a button: the one with the mail
// address that Slack has verified. ok is false for anybody else.
func (a *App) person(ctx context.Context, v inbox.Verified, p *interaction) (member viewer.Viewer, ok bool, err error) {
	address, err := a.mailOf(ctx, v, p)
	if err != nil || address == "" {
		return viewer.Viewer{}, false, err
	}
	row, err := a.opt.Ent.Membership.Query().Where(membership.WorkspaceID(v.Workspace), membership.HasUserWith(user.EmailEqualFold(address))).
		WithUser().Only(system(ctx, v.Workspace))
	if ent.IsNotFound(err) || ent.IsNotSingular(err) {
		return viewer.Viewer{}, false, nil
	}
	if err != nil {
		return viewer.Viewer{}, false, apierr.Wrap("read a member", err)
	}
	return viewer.Viewer{
		Workspace: v.Workspace, Subject: row.UserID, Kind: viewer.KindSession, Surface: viewer.SurfaceInternal,
		Role: viewer.Role(strings.ToLower(string(row.Role))), AllCollections: true, Email: row.Edges.User.Email,
	}, true, nil
}

// mailOf returns the mail address of a Slack user, empty if Slack has not verified it or
// the user is a bot, deactivated, or of another Slack workspace.
func (a *App) mailOf(ctx context.Context, v inbox.Verified, p *interaction) (string, error) {
	key, now := mailKey{v.Integration, p.User.ID}, a.opt.Now()
	a.mu.Lock()
	known, ok := a.mails[key]
	a.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.address, nil
	}
	var info struct {
		User struct {
			Team      string `json:"team_id"`
			Deleted   bool   `json:"deleted"`
			Bot       bool   `json:"is_bot"`
			Confirmed bool   `json:"is_email_confirmed"`
			Profile   struct {
				Email string `json:"email"`
			} `json:"profile"`
		} `json:"user"`
	}
	err := a.api.At(v.Settings.String(slackapi.AddressOption)).Call(ctx, v.Settings.Credentials[slackapi.TokenCredential], "users.info", url.Values{"user": {p.User.ID}}, &info)
	if refused, ok := errors.AsType[*slackapi.Refused](err); ok && !refused.Later {
		a.opt.Log.WarnContext(ctx, "slack user not read", slog.Any("integration", v.Integration), slog.String("code", refused.Code))
		return "", nil
	}
	if err != nil {
		return "", &apierr.Error{Code: apierr.Unavailable, Message: "Slack could not be asked who you are; try again", RetryAfter: time.Minute, Cause: err}
	}
	u, address := info.User, ""
	if u.Confirmed && !u.Deleted && !u.Bot && u.Team == p.Team.ID && u.Team != "" {
		address = u.Profile.Email
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.mails) >= maxMails {
		clear(a.mails)
	}
	a.mails[key] = mail{address, now.Add(mailFor)}
	return address, nil
}

// noteRefusal records in the audit log that somebody else tried to decide.
func (a *App) noteRefusal(ctx context.Context, workspace uuid.UUID, person viewer.Viewer, isMember bool, row *ent.Approval, slackUser string) error {
	if !isMember {
		person = viewer.Viewer{Workspace: workspace, Kind: viewer.KindAnonymous, Surface: viewer.SurfaceInternal}
	}
	err := audit.Record(viewer.With(ctx, person), audit.ClientExec(a.opt.Ent), audit.Event{
		Workspace: workspace, Action: "approval.refuse", TargetKind: "approval", TargetID: row.ID, TargetName: row.Tool,
		Changes: []audit.Change{{Field: "slack_user", New: slackUser}},
	})
	return apierr.Wrap("record a refusal", err)
}

// act does what a person who may decide did.
func (a *App) act(ctx context.Context, v inbox.Verified, p *interaction, action string, row *ent.Approval) (event.Answer, error) {
	button := p.Type == "block_actions"
	d := approval.Decision{Comment: p.value(fieldComment)}
	switch {
	case button && (action == actionEdit || action == actionConfirm || action == actionAnswer || action == actionReject):
		body := object{"trigger_id": p.TriggerID, "view": form(action, row)}
		if err := a.api.At(v.Settings.String(slackapi.AddressOption)).Call(ctx, v.Settings.Credentials[slackapi.TokenCredential], "views.open", body, nil); err != nil {
			a.opt.Log.WarnContext(ctx, "form not opened in Slack", slog.Any("integration", v.Integration), slog.Any("error", err))
			a.respond(ctx, p.ResponseURL, "Slack did not open the form. Try again, or decide here: "+a.link(row))
		}
		return empty(), nil
	case button && action == actionApprove:
		d.Action = approval.Approve
	case button && strings.HasPrefix(action, optionPrefix):
		i, err := strconv.Atoi(strings.TrimPrefix(action, optionPrefix))
		if err != nil || i < 0 || i >= len(row.Options) {
			return empty(), nil
		}
		d.Action, d.Answer = approval.Answer, row.Options[i]
	case !button && action == actionReject:
		d.Action = approval.Reject
	case !button && action == actionEdit:
		d.Action = approval.Approve
		if text := strings.TrimSpace(p.value(fieldArguments)); text != strings.TrimSpace(row.Arguments) {
			d.Action, d.Arguments = approval.Edit, json.RawMessage(text)
		}
	case !button && action == actionAnswer:
		d.Action, d.Answer = approval.Answer, p.value(fieldAnswer)
	case !button && action == actionConfirm:
		d.Action, d.Confirm = approval.Approve, strings.TrimSpace(p.value(fieldConfirm))
	default:
		return empty(), nil
	}
	_, err := a.opt.Store.Decide(ctx, row.ID, d, entapproval.DecidedViaSlack)
	if err == nil {
		return empty(), nil
	}
	e := apierr.From(err)
	switch e.Code {
	case apierr.Conflict, apierr.Forbidden, apierr.CodeNotFound, apierr.InvalidRequest:
		a.respond(ctx, p.ResponseURL, e.Message)
		field, _, _ := strings.Cut(e.Field, ".")
		if field != fieldArguments && field != fieldAnswer && field != fieldConfirm || p.View.State.Values[field] == nil {
			field = fieldComment
		}
		return p.failureAt(field, e.Message), nil
	default:
		return event.Answer{}, fmt.Errorf("decide in Slack: %w", err)
	}
}
