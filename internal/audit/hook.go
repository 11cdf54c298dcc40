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

// The kinds of changes.
const (
	opCreate = "create"
	opUpdate = "update"
	opDelete = "delete"
)

// maxRows is of how many rows one change is written down row by row; what it did
// to further ones is one entry with their number.
const maxRows = 1000

// Atomic runs do inside one transaction, of which every statement that is given
// do's context is a part, and commits it when do returns nil.
type Atomic func(ctx context.Context, do func(ctx context.Context) error) error

// Hook writes down what is done to audited entities, in the transaction of the
// change; for changes outside one atomic makes it. Where Magpie acts by itself
// (viewer.Actor) nothing is written and nothing more is asked of the database.
func Hook(atomic Atomic) ent.Hook {
	audited, excused := Audited(), Excused()
	return func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			who, ok := actorOf(ctx)
			if _, not := excused[m.Type()]; !ok || not {
				return next.Mutate(ctx, m)
			}
			spec, known := audited[m.Type()]
			if known && !spec.concerns(m) {
				return next.Mutate(ctx, m)
			}
			change, ok := m.(mutation)
			if !ok {
				return nil, fmt.Errorf("audit %s: its mutations have no client", m.Type())
			}
			work := &record{spec: spec, known: known, who: who, m: change}
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

// mutation is what ent generates for every entity.
type mutation interface {
	ent.Mutation
	Client() *ent.Client
	Tx() (*ent.Tx, error)
	IDs(ctx context.Context) ([]uuid.UUID, error)
	ID() (uuid.UUID, bool)
}

// tombstone is the field that ends a row for everybody, before the row goes.
const tombstone = "deleting_at"

// opOf is the kind of a mutation. Whatever sets a tombstone is a delete.
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

// concerns says that a mutation may be worth an entry, by what it sets.
func (e Entity) concerns(m ent.Mutation) bool {
	op := opOf(m)
	if e.leftOut(op) {
		return false
	}
	return op != opUpdate || slices.ContainsFunc(append(m.Fields(), m.ClearedFields()...), e.counts)
}

// record writes one mutation down.
type record struct {
	spec  Entity
	known bool // the entity has a spec
	who   actor
	m     mutation
}

func (r *record) mutate(ctx context.Context, next ent.Mutator) (ent.Value, error) {
	op := opOf(r.m)
	var before []row
	var more int
	if op != opCreate && r.known {
		ids, err := r.m.IDs(ctx)
		if err != nil {
			return nil, err
		}
		if more = len(ids) - maxRows; more > 0 {
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
	if more > 0 {
		events = append(events, r.summary(op, more))
	}
	return made, r.write(ctx, events)
}

// done is an event and the person who its maker turned out to be.
type done struct {
	Event
	maker uuid.UUID
	name  string // of the maker
}

func (r *record) events(ctx context.Context, op string, before []row) ([]done, error) {
	if !r.known {
		return []done{r.unknown(op)}, nil
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
	events := make([]done, 0, len(before))
	for _, b := range before {
		if op == opDelete && b.fields[tombstone] != nil {
			continue // its delete was written down when it got the tombstone
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
		changes := slices.DeleteFunc(differences(was, is, r.spec.hides), func(c Change) bool {
			root, _, _ := strings.Cut(c.Field, ".")
			return !r.spec.counts(root)
		})
		if op == opUpdate && len(changes) == 0 {
			continue // what was set is what it was
		}
		one := done{Event: Event{
			Workspace: e.workspace, Action: r.spec.action(op, changes), TargetKind: r.spec.Kind,
			TargetID: e.target, TargetName: e.name, Changes: changes,
		}}
		if op == opCreate && !r.spec.Taken || op == opUpdate && r.spec.Taken {
			one.maker, one.name = e.actor, e.name
		}
		events = append(events, one)
	}
	return events, nil
}

// unknown is what can be said of an entity without a spec.
func (r *record) unknown(op string) done {
	kind := snake(r.m.Type())
	e := done{Event: Event{Action: kind + "." + op, TargetKind: kind}}
	for _, field := range append(r.m.Fields(), r.m.ClearedFields()...) {
		if !bookkeeping(field) {
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

// summary stands for the rows that are too many.
func (r *record) summary(op string, rows int) done {
	return done{Event: Event{
		Action: r.spec.action(op, nil), TargetKind: r.spec.Kind, TargetName: "…", Changes: []Change{{Field: "further", New: rows}},
	}}
}

func (r *record) write(ctx context.Context, events []done) error {
	entries := make([]entry, 0, len(events))
	for _, e := range events {
		who := r.who
		if who.kind == "NOBODY" && e.maker != uuid.Nil {
			who.kind, who.id, who.name = "PERSON", e.maker, e.name
		}
		places := []uuid.UUID{e.Workspace}
		if e.Workspace == uuid.Nil {
			var err error
			if places, err = r.places(ctx, e.TargetID); err != nil {
				return err
			}
		}
		for _, workspace := range places {
			e.Workspace = workspace
			entries = append(entries, who.entry(e.Event))
		}
	}
	return write(ctx, r.exec, entries)
}

// places are the workspaces that a row of none concerns: the actor's, else
// those of the person that the row is.
func (r *record) places(ctx context.Context, person uuid.UUID) ([]uuid.UUID, error) {
	if r.who.workspace != uuid.Nil {
		return []uuid.UUID{r.who.workspace}, nil
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

// row is a row with all that an entry says of it.
type row struct {
	id, workspace, target, actor uuid.UUID
	name                         string
	fields                       map[string]any
}

// load reads rows, locked when they are about to be changed.
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

// scan reads rows to their end.
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
