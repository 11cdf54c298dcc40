package audit

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
)

// The operations.
const (
	opCreate = "create"
	opUpdate = "update"
	opDelete = "delete"
)

// maxRows is the number of rows of one change that get an entry each. One more
// entry has the number of further rows.
const maxRows = 1000

// Atomic runs do in one transaction and commits it if do returns nil. Every
// statement with the context of do is part of the transaction.
type Atomic func(ctx context.Context, do func(ctx context.Context) error) error

// Hook returns a hook that writes entries for changes of audited entities, in the
// transaction of the change or, outside of one, in a transaction by atomic. Changes
// by Magpie itself (viewer.Actor) have no entries and cost no statements.
func Hook(atomic Atomic) ent.Hook {
	audited, unaudited := Audited(), Unaudited()
	return func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			by, ok := actorOf(ctx)
			if _, skip := unaudited[m.Type()]; !ok || skip {
				return next.Mutate(ctx, m)
			}
			spec, known := audited[m.Type()]
			if known && !spec.records(m) {
				return next.Mutate(ctx, m)
			}
			change, ok := m.(mutation)
			if !ok {
				return nil, fmt.Errorf("audit %s: its mutations have no client", m.Type())
			}
			work := &record{spec: spec, known: known, by: by, m: change}
			if _, err := change.Tx(); err == nil {
				return work.mutate(ctx, next)
			}
			var made ent.Value
			err := atomic(ctx, func(ctx context.Context) (err error) {
				made, err = work.mutate(ctx, next)
				return err
			})
			return made, err
		})
	}
}

// mutation is implemented by the generated mutations of all entities.
type mutation interface {
	ent.Mutation
	Client() *ent.Client
	Tx() (*ent.Tx, error)
	IDs(ctx context.Context) ([]uuid.UUID, error)
	ID() (uuid.UUID, bool)
}

// tombstone is the field that marks a row as deleted.
const tombstone = "deleting_at"

// opOf returns the operation of a mutation. Setting the tombstone is a deletion.
func opOf(m ent.Mutation) string {
	_, ends := m.Field(tombstone)
	switch {
	case m.Op().Is(ent.OpCreate):
		return opCreate
	case m.Op().Is(ent.OpDelete | ent.OpDeleteOne), ends:
		return opDelete
	default:
		return opUpdate
	}
}

// records reports whether a mutation may need an entry, by the fields that it sets.
func (e Entity) records(m ent.Mutation) bool {
	op := opOf(m)
	if e.isExcluded(op) {
		return false
	}
	return op != opUpdate || slices.ContainsFunc(append(m.Fields(), m.ClearedFields()...), e.isRecorded)
}

// record writes one mutation down.
type record struct {
	spec  Entity
	known bool // the entity is in Audited
	by    actor
	m     mutation
}

func (r *record) mutate(ctx context.Context, next ent.Mutator) (ent.Value, error) {
	op := opOf(r.m)
	var before []row
	var excess int
	if op != opCreate && r.known {
		ids, err := r.m.IDs(ctx)
		if err != nil {
			return nil, err
		}
		if excess = len(ids) - maxRows; excess > 0 {
			ids = ids[:maxRows]
		}
		if before, err = r.load(ctx, ids, true); err != nil {
			return nil, err
		}
	}
	made, err := next.Mutate(ctx, r.m)
	if err != nil {
		return nil, err
	}
	events, err := r.events(ctx, op, before)
	if err != nil {
		return nil, err
	}
	if excess > 0 {
		events = append(events, r.summary(op, excess))
	}
	return made, r.write(ctx, events)
}

// An attributedEvent is an event with the person to whom it is attributed if the
// caller had no credentials.
type attributedEvent struct {
	Event
	maker uuid.UUID
	name  string // of the person
}

func (r *record) events(ctx context.Context, op string, before []row) ([]attributedEvent, error) {
	if !r.known {
		return []attributedEvent{r.unknown(op)}, nil
	}
	after := map[uuid.UUID]row{}
	if op != opDelete {
		ids := make([]uuid.UUID, 0, len(before)+1)
		for _, b := range before {
			ids = append(ids, b.id)
		}
		if id, ok := r.m.ID(); ok && op == opCreate {
			ids = append(ids, id)
		}
		rows, err := r.load(ctx, ids, false)
		if err != nil {
			return nil, err
		}
		for _, one := range rows {
			after[one.id] = one
		}
		if op == opCreate {
			before = rows
		}
	}
	events := make([]attributedEvent, 0, len(before))
	for _, b := range before {
		if op == opDelete && b.fields[tombstone] != nil {
			continue // the tombstone already has an entry
		}
		e, was, is := b, b.fields, map[string]any(nil)
		switch op {
		case opCreate:
			was, is = nil, b.fields
		case opUpdate:
			a, there := after[b.id]
			if !there {
				continue
			}
			e, is = a, a.fields
		}
		changes := slices.DeleteFunc(diff(was, is, r.spec.hides), func(c Change) bool {
			root, _, _ := strings.Cut(c.Field, ".")
			return !r.spec.isRecorded(root)
		})
		if op == opUpdate && len(changes) == 0 {
			continue // no value is different
		}
		one := attributedEvent{Event: Event{
			Workspace: e.workspace, Action: r.spec.action(op, changes), TargetKind: r.spec.Kind,
			TargetID: e.target, TargetName: e.name, Changes: changes,
		}}
		if op == opCreate && !r.spec.ActorUpdates || op == opUpdate && r.spec.ActorUpdates {
			one.maker, one.name = e.actor, e.name
		}
		events = append(events, one)
	}
	return events, nil
}

// unknown returns the event of an entity that is not in Audited.
func (r *record) unknown(op string) attributedEvent {
	kind := snake(r.m.Type())
	e := attributedEvent{Event: Event{Action: kind + "." + op, TargetKind: kind}}
	for _, field := range append(r.m.Fields(), r.m.ClearedFields()...) {
		if !isBookkeeping(field) {
			e.Changes = append(e.Changes, Change{Field: field, Hidden: true})
		}
	}
	if id, ok := r.m.ID(); ok {
		e.TargetID = id
	}
	if v, ok := r.m.Field("workspace_id"); ok {
		e.Workspace, _ = v.(uuid.UUID)
	}
	return e
}

// summary returns the event for the rows beyond maxRows.
func (r *record) summary(op string, rows int) attributedEvent {
	return attributedEvent{Event: Event{
		Action: r.spec.action(op, nil), TargetKind: r.spec.Kind, TargetName: "…", Changes: []Change{{Field: "further", New: rows}},
	}}
}

func (r *record) write(ctx context.Context, events []attributedEvent) error {
	entries := make([]entry, 0, len(events))
	for _, e := range events {
		by := r.by
		if by.kind == "NOBODY" && e.maker != uuid.Nil {
			by.kind, by.id, by.name = "PERSON", e.maker, e.name
		}
		workspaces := []uuid.UUID{e.Workspace}
		if e.Workspace == uuid.Nil {
			var err error
			if workspaces, err = r.workspacesOf(ctx, e.TargetID); err != nil {
				return err
			}
		}
		for _, workspace := range workspaces {
			e.Workspace = workspace
			entries = append(entries, by.entry(e.Event))
		}
	}
	return write(ctx, r.exec, entries)
}

// workspacesOf returns the workspaces that get the entry of a row without a
// workspace: the actor's or, without one, all workspaces of the person that the row
// is about.
func (r *record) workspacesOf(ctx context.Context, person uuid.UUID) ([]uuid.UUID, error) {
	if r.by.workspace != uuid.Nil {
		return []uuid.UUID{r.by.workspace}, nil
	}
	rows, err := r.m.Client().QueryContext(ctx, "select workspace_id::text from memberships where user_id = $1::text::uuid order by 1", person.String())
	if err != nil {
		return nil, fmt.Errorf("look up where a change belongs: %w", err)
	}
	return scan(rows, func(rows *sql.Rows) (uuid.UUID, error) {
		var id uuid.UUID
		return id, rows.Scan(&id)
	})
}

func (r *record) exec(ctx context.Context, query string, arguments ...any) error {
	_, err := r.m.Client().ExecContext(ctx, query, arguments...)
	return err
}

// A row is the state of a row with what its entry needs.
type row struct {
	id, workspace, target, actor uuid.UUID
	name                         string
	fields                       map[string]any
}

// load reads rows. lock locks them for a change.
func (r *record) load(ctx context.Context, ids []uuid.UUID, lock bool) ([]row, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	rows, err := r.m.Client().QueryContext(ctx, r.spec.query(lock), "{"+strings.Join(list, ",")+"}")
	if err != nil {
		return nil, fmt.Errorf("read what is changed: %w", err)
	}
	return scan(rows, func(rows *sql.Rows) (one row, err error) {
		var ids [4]string
		var fields string
		if err = rows.Scan(&ids[0], &ids[1], &ids[2], &one.name, &ids[3], &fields); err != nil {
			return row{}, err
		}
		for i, into := range []*uuid.UUID{&one.id, &one.workspace, &one.target, &one.actor} {
			if ids[i] == "" {
				continue
			}
			if *into, err = uuid.Parse(ids[i]); err != nil {
				return row{}, fmt.Errorf("read an id: %w", err)
			}
		}
		return one, json.Unmarshal([]byte(fields), &one.fields)
	})
}

// scan reads rows to the end and closes them.
func scan[T any](rows *sql.Rows, each func(*sql.Rows) (T, error)) (all []T, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		one, err := each(rows)
		if err != nil {
			return nil, fmt.Errorf("read what is changed: %w", err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read what is changed: %w", err)
	}
	return all, nil
}
