package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// maxCandidates is the maximum number of integrations whose secrets are tried.
	maxCandidates = 20
	// maxChallengeBytes is the maximum size of a test of the address that names no
	// integration.
	maxChallengeBytes = 4 << 10
	// maxEvents is the maximum number of events of a delivery.
	maxEvents = 1000
	// sweepAfter is how old an event is when the sweep enqueues it.
	sweepAfter = 30 * time.Second
	// enqueueTimeout bounds the wait for the queue. The sweep enqueues what it fails for.
	enqueueTimeout = 2 * time.Second
)

// candidate is an integration that a delivery may be for.
type candidate struct {
	workspace, id    uuid.UUID
	settings         connectors.Settings
	word             string // the secret that matched
	previous         map[string]string
	refusal          error // nil if the delivery is verified
	previousAccepted bool
	enabled          bool
}

// Serves reports whether there is a provider of a family with a name.
func (b *Inbox) Serves(family, provider string) bool {
	p, ok := b.provider(provider)
	return ok && string(p.Family) == family && p.Family != event.Slack
}

// Receive verifies and stores a delivery for one integration or, with uuid.Nil, for those
// that the delivery names. The errors are apierr: not_found for an unknown provider or
// integration, invalid_request for a malformed delivery, invalid_signature if no secret
// matches or the delivery is too old.
func (b *Inbox) Receive(ctx context.Context, provider string, id uuid.UUID, r *event.Request) (event.Answer, error) {
	p, ok := b.provider(provider)
	if !ok {
		return event.Answer{}, apierr.NotFound("Provider")
	}
	if p.Open != nil {
		if answer, ok := p.Open(r); ok {
			return answer, nil
		}
	}
	verified, err := b.verified(ctx, p, id, r)
	if err != nil {
		return event.Answer{}, err
	}
	var answer event.Answer
	for i, c := range verified {
		d, err := p.Receive(ctx, r, c.settings, c.word)
		switch refusal, refused := errors.AsType[*event.Refusal](err); {
		case errors.Is(err, event.ErrDelivery):
			return event.Answer{}, apierr.New(apierr.InvalidRequest, "body: "+event.ErrDelivery.Error())
		case refused:
			b.refuse(ctx, []*candidate{{workspace: c.workspace, id: c.id, refusal: refusal}})
			return event.Answer{}, refusalError(refusal)
		case err != nil:
			return event.Answer{}, &apierr.Error{Code: apierr.Unavailable, Message: "The platform could not be reached; send it again", RetryAfter: time.Minute, Cause: err}
		}
		if err := b.keep(ctx, p, c, r, d); err != nil {
			return event.Answer{}, apierr.Wrap("keep a delivery", err)
		}
		if i == 0 && d.Answer != nil {
			answer = *d.Answer
		}
	}
	return answer, nil
}

// verified returns the integrations whose secrets signed a delivery, at least one.
func (b *Inbox) verified(ctx context.Context, p event.Provider, id uuid.UUID, r *event.Request) ([]*candidate, error) {
	candidates, err := b.candidates(ctx, p, id, r)
	if err != nil {
		return nil, err
	}
	var matched []*candidate
	for _, c := range candidates {
		// All are tried, so that the duration does not reveal the matching one.
		if err := b.verify(ctx, p, c, r); err != nil {
			return nil, err
		}
		if c.refusal == nil {
			matched = append(matched, c)
		}
	}
	if id == uuid.Nil && ambiguous(p, matched) {
		for _, c := range matched {
			c.refusal = event.Refuse("integrations of several workspaces have these settings; use the address with the id of the integration")
		}
		b.refuse(ctx, matched)
		return nil, refusalError(nil)
	}
	matched = slices.DeleteFunc(matched, func(c *candidate) bool { return !c.enabled })
	if len(matched) > 0 {
		return matched, nil
	}
	b.refuse(ctx, candidates)
	for _, c := range candidates {
		if refusal, ok := errors.AsType[*event.Refusal](c.refusal); ok && (refusal.Stale || len(candidates) == 1) {
			return nil, refusalError(refusal)
		}
	}
	return nil, refusalError(nil)
}

// ambiguous reports whether a delivery that is verified with a published key is for several
// workspaces. One of them may have copied the settings of another.
func ambiguous(p event.Provider, matched []*candidate) bool {
	for _, c := range matched {
		published := p.Secret == ""
		if p.Published != nil {
			published = p.Published(c.settings)
		}
		if published && slices.ContainsFunc(matched, func(d *candidate) bool { return d.workspace != c.workspace }) {
			return true
		}
	}
	return false
}

// refusalError returns the error for a refused delivery. The reason is told only where it
// helps a sender who knows the secret.
func refusalError(r *event.Refusal) error {
	if r != nil && r.Stale {
		return apierr.New(apierr.InvalidSignature, r.Reason)
	}
	return apierr.New(apierr.InvalidSignature, "Invalid request signature")
}

// verify tries the secrets of a candidate. Its error is that of a platform whose key
// could not be read.
func (b *Inbox) verify(ctx context.Context, p event.Provider, c *candidate, r *event.Request) error {
	now := b.opt.Now()
	words := []string{c.settings.Credentials[p.Secret]}
	if c.previousAccepted && p.Secret != "" {
		words = append(words, c.previous[p.Secret])
	}
	c.refusal = event.Refuse("the secret is missing")
	matched := false
	for _, word := range words {
		if p.Secret != "" && word == "" {
			continue
		}
		err := p.Verify(ctx, r, c.settings, word, now)
		refusal, refused := errors.AsType[*event.Refusal](err)
		switch {
		case err != nil && !refused:
			return &apierr.Error{Code: apierr.Unavailable, Message: "The key of the platform could not be read; send it again", RetryAfter: time.Minute, Cause: err}
		case err == nil && !matched:
			matched, c.refusal, c.word = true, nil, word
		case err != nil && !matched && (c.word == "" || refusal.Stale):
			c.refusal = refusal
		}
	}
	return nil
}

const candidateColumns = `select workspace_id, id, config, coalesce(credentials, ''::bytea), coalesce(previous_credentials, ''::bytea),
	coalesce(previous_until > $2, false), enabled from inbound_integrations where provider = $1 and `

// candidates returns the integrations that a delivery may be for.
func (b *Inbox) candidates(ctx context.Context, p event.Provider, id uuid.UUID, r *event.Request) ([]*candidate, error) {
	now := b.opt.Now()
	if id != uuid.Nil {
		found, err := b.read(ctx, candidateColumns+"enabled and id = $3", p.Name, now, id)
		if err == nil && len(found) == 0 {
			return nil, apierr.NotFound("Integration")
		}
		return found, err
	}
	var keys []string
	if p.Route != nil {
		var err error
		if keys, err = p.Route(r); err != nil {
			return nil, apierr.New(apierr.InvalidRequest, "body: "+event.ErrDelivery.Error())
		}
	}
	if len(keys) == 0 {
		if p.IsChallenge == nil || len(r.Body) > maxChallengeBytes || !p.IsChallenge(r) {
			return nil, apierr.New(apierr.InvalidSignature, "The delivery names no account; use the address with the id of the integration")
		}
		return b.read(ctx, candidateColumns+"enabled order by created_at desc limit $3", p.Name, now, maxCandidates)
	}
	for i := range keys {
		keys[i] = strings.ToLower(safetext.Storable(keys[i]))
	}
	// Integrations that work come first, and older ones: nobody can crowd them out.
	return b.read(ctx, candidateColumns+"routing_keys ?| $3::text[] order by enabled desc, (status = 'OK') desc, created_at limit $4", p.Name, now, keys, maxCandidates)
}

func (b *Inbox) read(ctx context.Context, sql string, args ...any) ([]*candidate, error) {
	rows, err := b.opt.Pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, apierr.Wrap("look for an integration", err)
	}
	var out []*candidate
	var current, previous []byte
	var c candidate
	_, err = pgx.ForEachRow(rows, []any{&c.workspace, &c.id, &c.settings.Config, &current, &previous, &c.previousAccepted, &c.enabled}, func() error {
		one := c
		c.settings.Config = nil // decoded anew for each row
		one.settings.ConnectorID = one.id.String()
		var err error
		if one.settings.Credentials, err = b.open(current, currentAAD(one.id)); err != nil {
			b.opt.Log.WarnContext(ctx, "integration credentials do not open, deliveries refused", slog.Any("integration", one.id))
		}
		if one.previousAccepted {
			if one.previous, err = b.open(previous, previousAAD(one.id)); err != nil {
				one.previousAccepted = false
			}
		}
		out = append(out, &one)
		return nil
	})
	if err != nil {
		return nil, apierr.Wrap("look for an integration", err)
	}
	return out, nil
}

// keep stores the events of a delivery, marks the integration, and enqueues the events.
func (b *Inbox) keep(ctx context.Context, p event.Provider, c *candidate, r *event.Request, d event.Delivery) error {
	if len(d.Events) > maxEvents {
		return apierr.New(apierr.TooLarge, fmt.Sprintf("A delivery may have at most %d events", maxEvents))
	}
	for _, n := range d.Notices {
		failing, err := b.notice(ctx, c.id, n)
		if err != nil {
			return err
		}
		if failing != "" {
			d.Failing = failing
		}
	}
	now := b.opt.Now()
	batch := &pgx.Batch{}
	for _, e := range d.Events {
		id := gid.New(gid.InboundEvent)
		sealed, size, err := b.sealPayload(id, p, r, e)
		if err != nil {
			return err
		}
		var at *time.Time
		if !e.At.IsZero() {
			at = &e.At
		}
		batch.Queue(`insert into integration_events (id, created_at, updated_at, workspace_id, integration_id, provider_event_id, type, received_at,
				occurred_at, summary, size, payload, automation_ids, due_at)
			values ($1, $2, $2, $3, $4, $5, $6, $2, $7, $8, $9, $10, '[]', $11) on conflict (integration_id, provider_event_id) do nothing returning id`,
			id, now, c.workspace, c.id, eventID(e, r), eventType(e), at, safetext.TruncateBytes(safetext.Line(e.Summary), 500), size, sealed, now.Add(sweepAfter))
	}
	status, failing := "OK", any(nil)
	if d.Failing != "" {
		status, failing = "FAILING", safetext.TruncateBytes(safetext.Line(d.Failing), 500)
	}
	// One write a second is enough for many deliveries.
	batch.Queue(`update inbound_integrations set status = $2, last_error = $3, last_event_at = $4 where id = $1 and
		(status <> $2 or last_error is distinct from $3 or last_event_at is null or last_event_at < $5)`, c.id, status, failing, now, now.Add(-time.Second))
	results := b.opt.Pool.SendBatch(ctx, batch)
	var stored []uuid.UUID
	for range d.Events {
		var id uuid.UUID
		switch err := results.QueryRow().Scan(&id); {
		case errors.Is(err, pgx.ErrNoRows): // a repetition
		case err != nil:
			_ = results.Close()
			return fmt.Errorf("store an event: %w", err)
		default:
			stored = append(stored, id)
		}
	}
	if _, err := results.Exec(); err != nil {
		_ = results.Close()
		return fmt.Errorf("mark the integration: %w", err)
	}
	if err := results.Close(); err != nil {
		return fmt.Errorf("store events: %w", err)
	}
	b.enqueue(ctx, c.workspace, stored)
	return nil
}

// enqueue gives new events to workers. A failure is left to the sweep.
func (b *Inbox) enqueue(ctx context.Context, workspace uuid.UUID, events []uuid.UUID) {
	if b.opt.Queue == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, enqueueTimeout)
	defer cancel()
	for _, id := range events {
		if err := b.opt.Queue.Enqueue(ctx, queue.Event{Workspace: workspace, Event: id}); err != nil {
			b.opt.Log.WarnContext(ctx, "event not enqueued, the sweep will", slog.Any("event", id), slog.Any("error", err))
			return
		}
	}
}

// maxIDBytes is the maximum length of a platform's id; longer ones are hashed.
const maxIDBytes = 150

// eventID returns the id by which repetitions are recognized.
func eventID(e event.Event, r *event.Request) string {
	id := safetext.Storable(e.ID)
	if id != "" && len(id) <= maxIDBytes {
		return id
	}
	material := []byte(e.ID)
	if e.ID == "" {
		if material = e.Body; material == nil {
			material = r.Body
		}
	}
	sum := sha256.Sum256(material)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func eventType(e event.Event) string {
	if t := safetext.TruncateBytes(safetext.Line(e.Type), 200); t != "" {
		return t
	}
	return "event"
}

// contextOf returns a context of Magpie itself inside a workspace.
func contextOf(ctx context.Context, workspace uuid.UUID) context.Context {
	return viewer.With(ctx, viewer.System(workspace))
}

// Verified is an integration that a request is genuine for.
type Verified struct {
	Workspace, Integration uuid.UUID
	Settings               connectors.Settings
}

// Verify checks a request like Receive, marks the integrations that it is genuine for as
// working, and returns them, at least one. It keeps nothing of the request.
func (b *Inbox) Verify(ctx context.Context, provider string, id uuid.UUID, r *event.Request) ([]Verified, error) {
	p, ok := b.provider(provider)
	if !ok {
		return nil, apierr.NotFound("Provider")
	}
	found, err := b.verified(ctx, p, id, r)
	if err != nil {
		return nil, err
	}
	out := make([]Verified, len(found))
	for i, c := range found {
		if err := b.keep(ctx, p, c, r, event.Delivery{}); err != nil {
			return nil, apierr.Wrap("mark an integration", err)
		}
		out[i] = Verified{Workspace: c.workspace, Integration: c.id, Settings: c.settings}
	}
	return out, nil
}
