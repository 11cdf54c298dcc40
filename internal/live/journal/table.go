package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ErrEnded is the error of a write to a stream that takes no events any more, at least
// not in this attempt.
var ErrEnded = errors.New("the stream was ended elsewhere")

// An Execer executes statements; ent clients and transactions implement it.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// A Querier reads rows; ent clients and transactions implement it.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// A Table says where the streams of a kind and their events are. Its fields are parts of
// statements and never come from outside.
type Table struct {
	// Streams is the table of the streams, with id, workspace_id and attempt. Open is the
	// condition of a row that takes events.
	Streams, Open string
	// Events is the table of the events, with workspace_id, seq, type, data and
	// created_at. ID is its column with the id of the stream.
	Events, ID string
	// Text is the type of events whose data is an object with a piece of a text in Field.
	// Pieces that are stored together become one event.
	Text, Field string
}

// A Stream is a stream of a Table in an attempt to fill it.
type Stream struct {
	Workspace, ID uuid.UUID
	Attempt       int
}

// An Entry is an event that is not stored yet.
type Entry struct {
	Type string
	Data []byte // JSON; nil for Text
	text string
}

// An Event is a stored event.
type Event struct {
	// Seq numbers the events of a stream, from 1 without gaps.
	Seq       int64
	Type      string
	Data      json.RawMessage
	CreatedAt time.Time
}

// encode returns the data of an entry.
func (t Table) encode(e *Entry) []byte {
	if e.Data == nil {
		e.Data, _ = json.Marshal(map[string]string{t.Field: e.text}) // strings always encode
	}
	return e.Data
}

// Insert stores entries as events with the numbers from first on. It returns ErrEnded if
// the stream is not open in this attempt. It locks the row of the stream, so that no event
// can follow the final one.
func (t Table) Insert(ctx context.Context, db Execer, s Stream, first int64, entries []Entry) error {
	var values strings.Builder
	args := []any{s.ID.String(), s.Workspace.String(), s.Attempt}
	for i := range entries {
		if i > 0 {
			values.WriteByte(',')
		}
		n := len(args)
		fmt.Fprintf(&values, "($%d::bigint, $%d::text, $%d::jsonb)", n+1, n+2, n+3)
		args = append(args, strconv.FormatInt(first+int64(i), 10), entries[i].Type, string(t.encode(&entries[i])))
	}
	result, err := db.ExecContext(ctx, `with open as (
			select id, workspace_id from `+t.Streams+` where id = $1::uuid and workspace_id = $2::uuid and attempt = $3::bigint and `+t.Open+` for no key update)
		insert into `+t.Events+` (workspace_id, `+t.ID+`, seq, type, data)
		select open.workspace_id, open.id, e.seq, e.type, e.data from open, (values `+values.String()+`) e (seq, type, data)`, args...)
	if err != nil {
		return fmt.Errorf("store events: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return ErrEnded
	}
	return nil
}

// Read returns the events of a stream after a number, at most limit.
func (t Table) Read(ctx context.Context, db Querier, s Stream, after int64, limit int) ([]Event, error) {
	rows, err := db.QueryContext(ctx, `select seq, type, data::text, created_at from `+t.Events+`
		where `+t.ID+` = $1::uuid and workspace_id = $2::uuid and seq > $3::bigint order by seq limit $4::bigint`,
		s.ID.String(), s.Workspace.String(), strconv.FormatInt(after, 10), strconv.Itoa(limit))
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var out []Event
	for rows.Next() {
		var e Event
		var data string
		if err := rows.Scan(&e.Seq, &e.Type, &data, &e.CreatedAt); err != nil {
			return nil, fmt.Errorf("read an event: %w", err)
		}
		e.Data = json.RawMessage(data)
		out = append(out, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return out, nil
}
