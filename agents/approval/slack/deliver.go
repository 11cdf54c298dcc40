package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/slackapi"
	"github.com/magpie-search/magpie/ent"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// maxDelivered bounds the messages of one call of Deliver.
	maxDelivered = 50
	// lease is the time of a process for a message. Then another process sends it.
	lease = 20 * time.Second
	// maxTS is the maximum length of the name of a message.
	maxTS = 100
	// maxAttempts bounds the attempts to send a message.
	maxAttempts = 12
)

// permanent reports whether another attempt is useless, by Slack's error code.
func permanent(code string) bool {
	return slices.Contains([]string{
		"account_inactive", "channel_not_found", "ekm_access_denied", "invalid_auth", "invalid_blocks", "is_archived", "message_not_found", "cant_update_message",
		"missing_scope", "msg_too_long", "no_permission", "not_authed", "not_in_channel", "restricted_action", "token_expired", "token_revoked",
	}, code)
}

// Deliver posts the approvals that are due, and replaces the messages of those that
// were decided. Any number of processes may call it at once; each message belongs to one
// of them. A message is posted twice only if Slack took it and this was not recorded,
// because a process stopped or Slack's answer was lost. The buttons of both work once.
func (a *App) Deliver(ctx context.Context) error {
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	for range maxDelivered {
		id, attempts, err := a.claim(ctx)
		if err != nil || id == uuid.Nil {
			return err
		}
		if err := a.deliver(ctx, id, attempts); err != nil {
			return err
		}
	}
	return nil
}

// claim takes the message that has been due for longest; uuid.Nil for none.
func (a *App) claim(ctx context.Context) (id uuid.UUID, attempts int, err error) {
	now := a.opt.Now()
	rows, err := a.opt.Ent.QueryContext(ctx, `update approvals set slack_due_at = $2::timestamptz, slack_attempts = slack_attempts + 1
		where id = (select id from approvals where slack_due_at <= $1::timestamptz order by slack_due_at limit 1 for update skip locked)
		returning id::text, slack_attempts`, now, now.Add(lease))
	if err != nil {
		return uuid.Nil, 0, fmt.Errorf("look for approvals to post: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text, &attempts); err != nil {
			return uuid.Nil, 0, fmt.Errorf("look for approvals to post: %w", err)
		}
		if id, err = uuid.Parse(text); err != nil {
			return uuid.Nil, 0, fmt.Errorf("look for approvals to post: %w", err)
		}
	}
	return id, attempts, rows.Err()
}

// deliver sends one message and records the outcome.
func (a *App) deliver(ctx context.Context, id uuid.UUID, attempts int) error {
	row, err := a.opt.Ent.Approval.Get(ctx, id)
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read an approval to post: %w", err)
	}
	if (row.SlackTs == nil) != (row.Status == entapproval.StatusPending) {
		return a.done(ctx, row, row.SlackTs, "") // nothing to say
	}
	ts, err := a.post(ctx, row)
	refused, isRefused := errors.AsType[*slackapi.Refused](err)
	switch {
	case err == nil:
		return a.done(ctx, row, &ts, "")
	case isRefused && refused.After > 0:
		return a.again(ctx, row, attempts-1, refused.After, err)
	case errors.Is(err, errNoIntegration), isRefused && permanent(refused.Code), attempts >= maxAttempts:
		a.opt.Log.WarnContext(ctx, "approval not posted", slog.Any("approval", row.ID), slog.Any("error", err))
		return a.done(ctx, row, row.SlackTs, err.Error())
	default:
		return a.again(ctx, row, attempts, min(5*time.Second<<attempts, 10*time.Minute), err)
	}
}

// errNoIntegration says that an approval has no place any more.
var errNoIntegration = errors.New("the Slack integration was deleted or disabled")

// post posts or replaces the message of an approval and returns its name.
func (a *App) post(ctx context.Context, row *ent.Approval) (ts string, err error) {
	inside := system(ctx, row.WorkspaceID)
	if row.SlackIntegrationID == nil || row.SlackChannel == nil {
		return "", errNoIntegration
	}
	integration, err := a.opt.Ent.InboundIntegration.Get(inside, *row.SlackIntegrationID)
	if ent.IsNotFound(err) || err == nil && !integration.Enabled {
		return "", errNoIntegration
	}
	if err != nil {
		return "", fmt.Errorf("read the integration: %w", err)
	}
	settings, err := a.inbox.Settings(integration)
	if err != nil {
		return "", err
	}
	agent, err := a.opt.Ent.Agent.Get(inside, row.AgentID)
	if err != nil {
		return "", fmt.Errorf("read the agent: %w", err)
	}
	decider, err := a.decider(inside, row)
	if err != nil {
		return "", err
	}
	body := a.message(row, agent.Name, decider, cmp.Or(settings.String(detailOption), detailFull))
	body["channel"] = *row.SlackChannel
	method := "chat.postMessage"
	if row.SlackTs != nil {
		method, body["ts"] = "chat.update", *row.SlackTs
	}
	var made struct {
		TS      string `json:"ts"`
		Channel string `json:"channel"`
	}
	if err := a.api.At(settings.String(slackapi.AddressOption)).Call(ctx, settings.Credentials[slackapi.TokenCredential], method, body, &made); err != nil {
		return "", err
	}
	if row.SlackTs != nil {
		return *row.SlackTs, nil
	}
	if made.TS == "" || len(made.TS) > maxTS {
		return "", errors.New("chat.postMessage: Slack's answer has no ts")
	}
	return made.TS, nil
}

// decider returns the name of the person who decided, for people.
func (a *App) decider(ctx context.Context, row *ent.Approval) (string, error) {
	if row.DecidedBy == nil {
		return "Magpie", nil
	}
	person, err := a.opt.Ent.User.Query().Where(user.ID(*row.DecidedBy)).Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return "a former member", nil
	case err != nil:
		return "", fmt.Errorf("read who decided: %w", err)
	default:
		return cmp.Or(person.Name, person.Email), nil
	}
}

// done records the end of a delivery. If the approval was decided meanwhile, its message
// is due again.
func (a *App) done(ctx context.Context, row *ent.Approval, ts *string, problem string) error {
	now := a.opt.Now()
	_, err := a.opt.Ent.ExecContext(ctx, `update approvals set slack_ts = $2::text, slack_error = nullif($3::text, ''), slack_attempts = 0,
		notified_at = case when $2::text is not null then coalesce(notified_at, $4::timestamptz) end,
		slack_due_at = case when status <> $5::text and $2::text is not null and $3::text = '' then $4::timestamptz end where id = $1::text::uuid`,
		row.ID.String(), ts, safetext.TruncateBytes(safetext.Line(problem), 500), now, string(row.Status))
	if err != nil {
		return fmt.Errorf("record a posted approval: %w", err)
	}
	return nil
}

// again makes a message due later.
func (a *App) again(ctx context.Context, row *ent.Approval, attempts int, after time.Duration, cause error) error {
	a.opt.Log.DebugContext(ctx, "approval not posted, will retry", slog.Any("approval", row.ID), slog.Any("error", cause))
	_, err := a.opt.Ent.ExecContext(ctx, "update approvals set slack_due_at = $2::timestamptz, slack_attempts = $3::bigint, slack_error = $4::text where id = $1::text::uuid",
		row.ID.String(), a.opt.Now().Add(after), attempts, safetext.TruncateBytes(safetext.Line(cause.Error()), 500))
	if err != nil {
		return fmt.Errorf("record an approval to post: %w", err)
	}
	return nil
}
