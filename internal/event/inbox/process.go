package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/lease"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/safetext"
)

// A Received is an event that a worker has taken.
type Received struct {
	ID          uuid.UUID
	Integration *ent.InboundIntegration
	Type        string
	ReceivedAt  time.Time
	Summary     string
	Content     event.Content
	// Document is the stored transcript of a meeting; nil without one.
	Document *uuid.UUID
}

// An Outcome says what a Handler did with an event.
type Outcome struct {
	// Automations are those that the event started.
	Automations []uuid.UUID
	// Reason says why it started none.
	Reason string
}

// A Handler finds the automations that an event starts. The context is Magpie's own in
// the workspace. After a crash it is called again with the same event, so that it
// recognizes an event by its id.
type Handler interface {
	HandleEvent(ctx context.Context, e Received) (Outcome, error)
}

// NoAutomation is the reason of events that start nothing.
const NoAutomation = "no automation matches"

// Nobody is the Handler of a service without automations.
type Nobody struct{}

// HandleEvent returns [NoAutomation].
func (Nobody) HandleEvent(context.Context, Received) (Outcome, error) {
	return Outcome{Reason: NoAutomation}, nil
}

const (
	// maxHandlerAttempts is the number of attempts after which a failing event is given up.
	maxHandlerAttempts = 10
	// patience is how long a transcript is waited for.
	patience = 6 * time.Hour
	// sweepBatch is the maximum number of events that one sweep enqueues.
	sweepBatch = 2000
)

// A Processor processes stored events. Any number of processes may run one.
type Processor struct {
	inbox   *Inbox
	handler Handler
	texts   Transcripts
}

// Transcripts stores the transcripts of meetings.
type Transcripts interface {
	// Store stores a transcript in the collection of an integration. It replaces the
	// one of the same meeting.
	Store(ctx context.Context, row *ent.InboundIntegration, m *event.Meeting, t event.Transcript) (document uuid.UUID, err error)
}

// NewProcessor returns a Processor. Without transcripts it fetches none.
func NewProcessor(b *Inbox, h Handler, t Transcripts) *Processor {
	if h == nil {
		h = Nobody{}
	}
	return &Processor{inbox: b, handler: h, texts: t}
}

// Pending returns a task for each event that nobody has taken in time.
func (p *Processor) Pending(ctx context.Context) ([]queue.Event, error) {
	now := p.inbox.opt.Now()
	rows, err := p.inbox.opt.Pool.Query(ctx, `update integration_events set due_at = $2 where id in
			(select id from integration_events where due_at <= $1 order by due_at limit $3 for update skip locked)
		returning workspace_id, id, attempts`, now, now.Add(sweepAfter), sweepBatch)
	if err != nil {
		return nil, fmt.Errorf("look for events: %w", err)
	}
	tasks, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t queue.Event, err error) {
		return t, row.Scan(&t.Workspace, &t.Event, &t.Attempt)
	})
	if err != nil {
		return nil, fmt.Errorf("look for events: %w", err)
	}
	return tasks, nil
}

// claimed is an event that this process has taken.
type claimed struct {
	Received
	integration uuid.UUID
	workspace   uuid.UUID
	payload     []byte
	attempt     int
	until       time.Time // end of the claim
}

// Process processes an event, unless another worker has taken it.
func (p *Processor) Process(ctx context.Context, t queue.Event) error {
	c, err := p.claim(ctx, t)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take an event: %w", err)
	}
	ctx, stop := lease.Keep(ctx, p.inbox.opt.LostAfter, func(ctx context.Context) (bool, error) { return p.renew(ctx, c) })
	defer stop()
	inside := contextOf(ctx, c.workspace)
	if c.Integration, err = p.inbox.opt.Ent.InboundIntegration.Get(inside, c.integration); err != nil {
		if ent.IsNotFound(err) {
			return nil // deleted with its events
		}
		return p.retry(ctx, c, err)
	}
	provider, ok := p.inbox.provider(c.Integration.Provider)
	if !ok {
		return p.finish(ctx, c, "FAILED", "this version of Magpie has no provider "+c.Integration.Provider, nil)
	}
	if c.payload == nil {
		return p.finish(ctx, c, "FAILED", "its payload was deleted", nil)
	}
	payload, err := p.inbox.openPayload(c.ID, c.payload)
	if err != nil {
		p.inbox.opt.Log.WarnContext(ctx, "payload of an event does not open", slog.Any("event", c.ID), slog.Any("error", err))
		return p.finish(ctx, c, "FAILED", "its payload does not open with the configured keys", nil)
	}
	if c.Content, err = provider.Read(payload); err != nil {
		return p.finish(ctx, c, "FAILED", "its payload cannot be read: "+err.Error(), nil)
	}
	if reason := refusedSender(c.Content.Mail, c.Integration.Config); reason != "" {
		return p.finish(ctx, c, "REJECTED", reason, nil)
	}
	if done, err := p.complete(inside, c, provider); done || err != nil {
		return err
	}
	if done, err := p.fetch(inside, c, provider); done || err != nil {
		return err
	}
	outcome, err := p.handler.HandleEvent(inside, c.Received)
	switch {
	case err != nil:
		return p.retry(ctx, c, err)
	case len(outcome.Automations) > 0:
		return p.finish(ctx, c, "MATCHED", "", outcome.Automations)
	default:
		return p.finish(ctx, c, "IGNORED", outcome.Reason, nil)
	}
}

func (p *Processor) claim(ctx context.Context, t queue.Event) (*claimed, error) {
	c := &claimed{}
	c.ID, c.workspace = t.Event, t.Workspace
	c.until = p.claimEnd()
	err := p.inbox.opt.Pool.QueryRow(ctx, `update integration_events set attempts = attempts + 1, due_at = $4
		where id = $1 and workspace_id = $2 and attempts = $3 and status = 'RECEIVED'
		returning integration_id, type, received_at, summary, payload, attempts, document_id`, t.Event, t.Workspace, t.Attempt, c.until).
		Scan(&c.integration, &c.Type, &c.ReceivedAt, &c.Summary, &c.payload, &c.attempt, &c.Document)
	if err != nil {
		return nil, fmt.Errorf("claim an event: %w", err)
	}
	return c, nil
}

// claimEnd returns the end of a claim that begins or is renewed now.
func (p *Processor) claimEnd() time.Time {
	return p.inbox.opt.Now().Add(p.inbox.opt.LostAfter).Truncate(time.Microsecond) // as PostgreSQL keeps it
}

// renew extends a claim, unless it ended or another worker has taken the event.
func (p *Processor) renew(ctx context.Context, c *claimed) (held bool, err error) {
	until := p.claimEnd()
	tag, err := p.inbox.opt.Pool.Exec(ctx, "update integration_events set due_at = $4 where id = $1 and attempts = $2 and due_at = $3 and status = 'RECEIVED'", c.ID, c.attempt, c.until, until)
	if err != nil {
		return false, fmt.Errorf("renew the claim of an event: %w", err)
	}
	c.until = until
	return tag.RowsAffected() > 0, nil
}

// finish ends the processing of an event, unless another worker has taken it since.
func (p *Processor) finish(ctx context.Context, c *claimed, status, reason string, automations []uuid.UUID) error {
	if automations == nil {
		automations = []uuid.UUID{}
	}
	_, err := p.inbox.opt.Pool.Exec(ctx, `update integration_events set status = $3, reason = nullif($4, ''), automation_ids = $5, document_id = $6,
			due_at = null, processed_at = $7, updated_at = $7
		where id = $1 and attempts = $2 and status = 'RECEIVED'`,
		c.ID, c.attempt, status, safetext.TruncateBytes(safetext.Line(reason), 500), automations, c.Document, p.inbox.opt.Now())
	if err != nil {
		return fmt.Errorf("finish an event: %w", err)
	}
	return nil
}

// retry lets the sweep enqueue an event again, with a growing delay.
func (p *Processor) retry(ctx context.Context, c *claimed, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err() // the claim ends, and another worker takes it
	}
	p.inbox.opt.Log.WarnContext(ctx, "event failed", slog.Any("event", c.ID), slog.Int("attempt", c.attempt), slog.Any("error", cause))
	if c.attempt >= maxHandlerAttempts {
		return p.finish(ctx, c, "FAILED", "it failed too often; the log has the reasons", nil)
	}
	return p.postpone(ctx, c, "it failed and will be tried again")
}

// postpone makes an event due later.
func (p *Processor) postpone(ctx context.Context, c *claimed, reason string) error {
	now := p.inbox.opt.Now()
	delay := min(30*time.Second<<min(c.attempt, 10), time.Hour)
	_, err := p.inbox.opt.Pool.Exec(ctx, `update integration_events set reason = $3, due_at = $4, document_id = $5, updated_at = $6
		where id = $1 and attempts = $2 and status = 'RECEIVED'`, c.ID, c.attempt, safetext.TruncateBytes(safetext.Line(reason), 500), now.Add(delay), c.Document, now)
	if err != nil {
		return fmt.Errorf("postpone an event: %w", err)
	}
	return nil
}

// complete reads what a delivery only names. done says that the event failed or waits.
func (p *Processor) complete(ctx context.Context, c *claimed, provider event.Provider) (done bool, err error) {
	if provider.Complete == nil {
		return false, nil
	}
	s, err := p.inbox.Settings(c.Integration)
	if err != nil {
		return true, p.finish(ctx, c, "FAILED", err.Error(), nil)
	}
	err = provider.Complete(ctx, &c.Content, s)
	if refusal, final := errors.AsType[*event.Refusal](err); final {
		return true, p.finish(ctx, c, "FAILED", refusal.Reason, nil)
	}
	if err != nil {
		return true, p.retry(ctx, c, err)
	}
	return false, nil
}

// refusedSender says why the mail of a sender is not processed; empty if it is.
func refusedSender(m *event.Mail, config map[string]any) string {
	allowed := connectors.Settings{Config: config}.Strings(event.SendersOption)
	if m == nil || len(allowed) == 0 {
		return ""
	}
	from := strings.ToLower(m.From.Email)
	for _, entry := range allowed {
		if entry = strings.ToLower(strings.TrimPrefix(strings.TrimSpace(entry), "@")); entry == from || strings.HasSuffix(from, "@"+entry) {
			return ""
		}
	}
	return "the sender is not one of the allowed senders"
}

// fetch stores the transcript of a meeting. done says that the event waits for it, or failed.
func (p *Processor) fetch(ctx context.Context, c *claimed, provider event.Provider) (done bool, err error) {
	m := c.Content.Meeting
	if m == nil || m.Transcript == nil || provider.Transcript == nil || p.texts == nil || c.Document != nil {
		return false, nil
	}
	if id, _ := c.Integration.Config[event.CollectionOption].(string); id == "" {
		return false, nil
	}
	s, err := p.inbox.Settings(c.Integration)
	if err != nil {
		return true, p.finish(ctx, c, "FAILED", err.Error(), nil)
	}
	t, err := provider.Transcript(ctx, m, s)
	if err == nil {
		var id uuid.UUID
		if id, err = p.texts.Store(ctx, c.Integration, m, t); err == nil {
			c.Document = &id
			return false, nil
		}
	}
	if ctx.Err() != nil {
		return true, ctx.Err()
	}
	p.inbox.opt.Log.WarnContext(ctx, "transcript not fetched", slog.Any("event", c.ID), slog.Int("attempt", c.attempt), slog.Any("error", err))
	reason := "the platform or the index could not be reached"
	refusal, final := errors.AsType[*event.Refusal](err)
	switch {
	case final:
		return true, p.finish(ctx, c, "FAILED", "transcript: "+refusal.Reason, nil)
	case errors.Is(err, event.ErrNotReady):
		reason = event.ErrNotReady.Error()
	}
	if p.inbox.opt.Now().Sub(c.ReceivedAt) >= patience {
		return true, p.finish(ctx, c, "FAILED", "transcript never came: "+reason, nil)
	}
	return true, p.postpone(ctx, c, "waits for the transcript: "+reason)
}
