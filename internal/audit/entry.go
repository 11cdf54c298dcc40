package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Event is an action to record. A zero Workspace means the actor's.
type Event struct {
	Workspace  uuid.UUID
	Action     string // such as connector.test
	TargetKind string
	TargetID   uuid.UUID // zero for none
	TargetName string
	Changes    []Change
}

// Exec runs a statement, in the transaction of the change if there is one.
type Exec func(ctx context.Context, query string, arguments ...any) error

// ClientExec returns an Exec that runs statements on client.
func ClientExec(client *ent.Client) Exec {
	return func(ctx context.Context, query string, arguments ...any) error {
		_, err := client.ExecContext(ctx, query, arguments...)
		return err
	}
}

// Record writes events of the context's actor. It writes nothing for Magpie itself.
// An event without a workspace is an error.
func Record(ctx context.Context, exec Exec, events ...Event) error {
	by, ok := actorOf(ctx)
	if !ok {
		return nil
	}
	entries := make([]entry, len(events))
	for i, e := range events {
		entries[i] = by.entry(e)
		if entries[i].Workspace == uuid.Nil {
			return fmt.Errorf("audit %s: it belongs to no workspace", e.Action)
		}
	}
	return write(ctx, exec, entries)
}

// An entry is a row of audit_entries.
type entry struct {
	ID         uuid.UUID  `json:"id"`
	Workspace  uuid.UUID  `json:"workspace_id"`
	ActorKind  string     `json:"actor_kind"`
	ActorID    *uuid.UUID `json:"actor_id"`
	ActorName  string     `json:"actor_name"`
	Session    *uuid.UUID `json:"session_id"`
	Token      *uuid.UUID `json:"token_id"`
	TokenName  string     `json:"token_name"`
	IP         *string    `json:"ip"`
	Request    *string    `json:"request_id"`
	Action     string     `json:"action"`
	TargetKind string     `json:"target_kind"`
	TargetID   *uuid.UUID `json:"target_id"`
	TargetName string     `json:"target_name"`
	Changes    []Change   `json:"changes"`
}

// An actor is the originator of a change.
type actor struct {
	kind, name, ip, request, tokenName string
	workspace, id, session, token      uuid.UUID
}

// actorOf returns the actor of a context; false for Magpie itself.
func actorOf(ctx context.Context) (actor, bool) {
	v, ok := viewer.Actor(ctx)
	if !ok {
		return actor{}, false
	}
	a := actor{name: v.Email, workspace: v.Workspace, id: v.Subject, session: v.Session, token: v.Token, tokenName: v.TokenName, request: requestid.From(ctx)}
	if ip := ratelimit.ClientOf(ctx); ip != "unknown" {
		a.ip = ip
	}
	switch v.Kind {
	case viewer.KindSession:
		a.kind = "PERSON"
	case viewer.KindKey:
		a.kind = "KEY"
	case viewer.KindService:
		a.kind, a.name = "TOKEN", v.TokenName
	case viewer.KindCommand:
		a.kind = "COMMAND"
	default:
		a.kind = "NOBODY"
	}
	if a.workspace == uuid.Nil {
		if inside, ok := viewer.From(ctx); ok {
			a.workspace = inside.Workspace
		}
	}
	return a, true
}

func (a actor) entry(e Event) entry {
	out := entry{
		ID: gid.New(gid.AuditEntry), Workspace: e.Workspace, ActorKind: a.kind, ActorID: nilIfZero(a.id), ActorName: storable(a.name),
		Session: nilIfZero(a.session), Token: nilIfZero(a.token), TokenName: storable(a.tokenName), IP: nilIfEmpty(a.ip), Request: nilIfEmpty(a.request),
		Action: e.Action, TargetKind: e.TargetKind, TargetID: nilIfZero(e.TargetID), TargetName: storable(e.TargetName), Changes: e.Changes,
	}
	if out.Workspace == uuid.Nil {
		out.Workspace = a.workspace
	}
	if out.Changes == nil {
		out.Changes = []Change{}
	}
	return out
}

func nilIfZero(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

func nilIfEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// storable returns a text that the database accepts, truncated.
func storable(text string) string {
	return truncate(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "�"))
}

// insertEntries inserts entries from a JSON array. It reads the current name of an
// API key. It skips workspaces that have been deleted, whose entries have been
// deleted, too.
const insertEntries = `insert into audit_entries (id, workspace_id, created_at, actor_kind, actor_id, actor_name, session_id, token_id, token_name, ip, request_id,
    action, target_kind, target_id, target_name, changes)
select e.id, e.workspace_id, clock_timestamp(), e.actor_kind, e.actor_id,
    case when e.actor_kind = 'KEY' then coalesce((select k.name from api_keys k where k.workspace_id = e.workspace_id and k.id = e.actor_id), e.actor_name)
        else e.actor_name end,
    e.session_id, e.token_id, e.token_name, e.ip, e.request_id, e.action, e.target_kind, e.target_id, e.target_name, e.changes
from jsonb_to_recordset($1::text::jsonb) as e(id uuid, workspace_id uuid, actor_kind text, actor_id uuid, actor_name text, session_id uuid, token_id uuid, token_name text,
    ip text, request_id text, action text, target_kind text, target_id uuid, target_name text, changes jsonb)
where exists (select from workspaces w where w.id = e.workspace_id)`

func write(ctx context.Context, exec Exec, entries []entry) error {
	if len(entries) == 0 {
		return nil
	}
	rows, err := json.Marshal(entries)
	if err != nil {
		return fmt.Errorf("write audit entries as JSON: %w", err)
	}
	if err := exec(ctx, insertEntries, string(rows)); err != nil {
		return fmt.Errorf("store audit entries: %w", err)
	}
	return nil
}
