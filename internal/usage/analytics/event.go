package analytics

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/viewer"
)

// MaxEvents is the largest number of events in one call.
const MaxEvents = 100

const (
	maxEventID   = 100 // characters
	maxClockSkew = 5 * time.Minute
)

// An Event is a click on a result or feedback on an answer, as a client sends it.
type Event struct {
	Type       string // click or feedback
	Request    string // X-Request-Id of the search or chat response
	Result     uuid.UUID
	Document   uuid.UUID
	Position   *int // of the result, from 0, with the offset
	Rating     string
	Reason     string
	Comment    string
	OccurredAt time.Time // zero: now
	ID         string    // chosen by the client; of events of a key with the same ID, only one counts
}

// A Recorded is the result of recording events.
type Recorded struct {
	Accepted   int // stored
	Duplicates int // stored before, or repeated in the call
	// Unknown is the number of accepted events whose request is not in the log. They count
	// when it is, which may be a second later.
	Unknown int
}

// check returns the GraphQL name of the first invalid field and a message; both are empty
// for a valid event.
func (e *Event) check(now time.Time, retention time.Duration) (field, message string) {
	switch {
	case e.Type != "click" && e.Type != "feedback":
		return "type", "must be click or feedback"
	case !requestid.Acceptable(e.Request):
		return "requestId", "must be the X-Request-Id of a search or chat response"
	case e.Type == "click" && e.Result == uuid.Nil && e.Document == uuid.Nil:
		return "resultId", "is required for a click, or document_id"
	case e.Position != nil && *e.Position < 0:
		return "position", "must be 0 or more"
	case e.Type == "feedback" && e.Rating == "":
		return "rating", "is required for feedback"
	case e.Type == "click" && e.Rating != "":
		return "rating", "belongs to feedback"
	case !slices.Contains([]string{"", "positive", "negative"}, e.Rating):
		return "rating", "must be positive or negative"
	case !slices.Contains([]string{"", "irrelevant", "outdated", "incorrect", "incomplete", "other"}, e.Reason):
		return "reason", "must be one of irrelevant, outdated, incorrect, incomplete, other"
	case utf8.RuneCountInString(e.Comment) > maxComment:
		return "comment", "must have at most " + strconv.Itoa(maxComment) + " characters"
	case utf8.RuneCountInString(e.ID) > maxEventID:
		return "eventId", "must have at most " + strconv.Itoa(maxEventID) + " characters"
	case e.OccurredAt.After(now.Add(maxClockSkew)):
		return "occurredAt", "must not be in the future"
	case !e.OccurredAt.IsZero() && retention > 0 && e.OccurredAt.Before(now.Add(-retention)):
		return "occurredAt", "is longer ago than events are kept"
	}
	return "", ""
}

const insertEvents = `insert into query_events (id, workspace_id, api_key_id, event_hash, request_id, type,
		passage_id, document_id, position, rating, reason, comment, occurred_at)
	select id, $2, $3, hash, request_id, type, passage_id, document_id, position, rating, reason, comment, occurred_at
	from unnest($1::uuid[], $4::bytea[], $5::text[], $6::text[], $7::uuid[], $8::uuid[], $9::integer[], $10::text[], $11::text[],
		$12::text[], $13::timestamptz[])
	as e(id, hash, request_id, type, passage_id, document_id, position, rating, reason, comment, occurred_at)
	on conflict (workspace_id, api_key_id, event_hash) where event_hash is not null do nothing
	returning request_id`

// Record stores 1 to MaxEvents events of a key of the scope's workspace, all or none.
// place returns the prefix of a field in an error for the index of an event, such as
// "events[3].". In the mode Off it stores nothing, and every event is unknown. Only the
// mode Full stores comments, scrubbed.
func (s *Store) Record(ctx context.Context, scope viewer.Scope, key uuid.UUID, events []Event, place func(int) string) (Recorded, error) {
	args, err := argsOf(scope)
	if err != nil {
		return Recorded{}, err
	}
	if len(events) < 1 || len(events) > MaxEvents {
		return Recorded{}, apierr.Invalid("events", fmt.Sprintf("must have 1 to %d events", MaxEvents))
	}
	now := s.opt.Now()
	for i := range events {
		if field, message := events[i].check(now, s.opt.Retention); message != "" {
			return Recorded{}, apierr.Invalid(place(i)+field, message)
		}
	}
	if s.opt.Mode == Off {
		return Recorded{Unknown: len(events)}, nil
	}
	inserted, err := s.insert(ctx, args.workspace, key, events, now)
	if err != nil {
		return Recorded{}, fmt.Errorf("store events: %w", clientError(err))
	}
	out := Recorded{Accepted: len(inserted), Duplicates: len(events) - len(inserted)}
	if len(inserted) == 0 {
		return out, nil
	}
	workspaces := make([]uuid.UUID, len(inserted))
	for i := range workspaces {
		workspaces[i] = args.workspace
	}
	if err := count(ctx, s.pool, workspaces, inserted); err != nil {
		return Recorded{}, clientError(err)
	}
	err = s.pool.QueryRow(ctx, `select count(*) from unnest($2::text[]) as e(request_id)
		where not exists (select from query_log l where l.workspace_id = $1 and l.request_id = e.request_id)`,
		args.workspace, inserted).Scan(&out.Unknown)
	if err != nil {
		return Recorded{}, fmt.Errorf("look up requests of events: %w", clientError(err))
	}
	return out, nil
}

// RecordByKey records one event or a list of events of the viewer, which must be a secret
// key.
func (s *Store) RecordByKey(ctx context.Context, one *Event, many []Event) (*Recorded, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindKey || !v.Secret {
		return nil, apierr.New(apierr.Forbidden, "Secret key required")
	}
	place := func(i int) string { return fmt.Sprintf("events[%d].", i) }
	switch {
	case one != nil && many != nil:
		return nil, apierr.Invalid("events", "must not be given together with one event")
	case one != nil:
		many, place = []Event{*one}, func(int) string { return "" }
	}
	scope, err := v.Scope()
	if err != nil {
		return nil, apierr.Wrap("record events", err)
	}
	recorded, err := s.Record(ctx, scope, v.Subject, many, place)
	return &recorded, err
}

// RecordByVisitor records a click or a thumb of a visitor, which a page sends with either
// key. Anyone may read a publishable key, so that the request must have an id that only
// the page knows: one that the server chose, or a random UUID of the page. A result of a request counts once, and so
// does a thumb. Requests that the log has of other keys are unknown, and events of them are
// not stored.
func (s *Store) RecordByVisitor(ctx context.Context, e Event) (*Recorded, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindKey {
		return nil, apierr.New(apierr.Unauthorized, "API key required")
	}
	if !requestid.IsRandom(e.Request) {
		return nil, apierr.Invalid("requestId", "must be the X-Request-Id of a search or chat response, as the server chose it")
	}
	scope, err := v.Scope()
	if err != nil {
		return nil, apierr.Wrap("record an event", err)
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, apierr.Wrap("record an event", err)
	}
	var foreign bool
	err = s.pool.QueryRow(ctx, "select exists (select from query_log where workspace_id = $1 and request_id = $2 and api_key_id is distinct from $3)",
		workspace, e.Request, v.Subject).Scan(&foreign)
	if err != nil {
		return nil, fmt.Errorf("look up the request of an event: %w", clientError(err))
	}
	if foreign {
		return &Recorded{Unknown: 1}, nil
	}
	e.ID = "visitor:" + e.Type + ":" + e.Request
	switch {
	case e.Type != "click":
	case e.Result != uuid.Nil:
		e.ID += ":" + e.Result.String()
	default:
		e.ID += ":" + e.Document.String()
	}
	recorded, err := s.Record(ctx, scope, v.Subject, []Event{e}, func(int) string { return "" })
	return &recorded, err
}

// insert stores events and returns the requests of those that are not duplicates.
func (s *Store) insert(ctx context.Context, workspace, key uuid.UUID, events []Event, now time.Time) (inserted []string, err error) {
	n := len(events)
	ids, hashes, requests, types := make([]uuid.UUID, n), make([][]byte, n), make([]string, n), make([]string, n)
	passages, documents, positions := make([]*uuid.UUID, n), make([]*uuid.UUID, n), make([]*int32, n)
	ratings, reasons, comments, at := make([]*string, n), make([]*string, n), make([]*string, n), make([]time.Time, n)
	for i := range events {
		e := &events[i]
		ids[i], requests[i], types[i], at[i] = NewID(now), e.Request, e.Type, e.OccurredAt
		passages[i], documents[i] = orNull(e.Result), orNull(e.Document)
		ratings[i], reasons[i] = textOrNull(e.Rating), textOrNull(e.Reason)
		if e.ID != "" { // it may contain personal data; the hash is enough to find duplicates
			sum := sha256.Sum256([]byte(e.ID))
			hashes[i] = sum[:16]
		}
		if e.Position != nil {
			position := int32(min(*e.Position, 1<<30)) //nolint:gosec // bounded
			positions[i] = &position
		}
		if s.opt.Mode == Full {
			comments[i] = textOrNull(Scrub(strings.TrimSpace(e.Comment), maxComment))
		}
		if at[i].IsZero() {
			at[i] = now
		}
	}
	err = retry(ctx, func() error {
		rows, err := s.pool.Query(ctx, insertEvents, ids, workspace, key, hashes, requests, types, passages, documents, positions,
			ratings, reasons, comments, at)
		if err != nil {
			return err
		}
		defer rows.Close()
		inserted = inserted[:0]
		for rows.Next() {
			var request string
			if err := rows.Scan(&request); err != nil {
				return err
			}
			inserted = append(inserted, request)
		}
		return rows.Err()
	})
	return inserted, err
}
