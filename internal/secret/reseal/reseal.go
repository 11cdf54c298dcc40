package reseal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/secret"
)

const (
	// batch is the number of values that are read and sealed at a time.
	batch = 100
	// rounds bounds the passes over a column whose rows change all the time.
	rounds = 20
)

// A Column has sealed values.
type Column struct {
	// What names the values for people.
	What          string
	Table, Column string
	// key is the SQL of the row's key, and bound the table to which its additional data
	// binds a value: secret.AAD(bound, key).
	key, bound string
}

// Columns returns all columns with sealed values. A test compares them with the schema.
func Columns() []Column {
	return []Column{
		{"credentials of connectors", "connectors", "credentials", "id::text", "connectors"},
		{"webhook secrets of connectors", "connector_subscriptions", "secret", "connector_id::text", "connector_subscriptions"},
		{"tokens of OAuth grants", "oauth_grants", "tokens", "id::text", "oauth_grants"},
		{"unfinished sign-ins and OAuth connections", "oauth_flows", "content", "purpose || ':' || encode(token_hash, 'hex')", "oauth_flows"},
		{"credentials of tools", "tool_connections", "credentials", "id::text", "tool_connections"},
		{"credentials of inbound integrations", "inbound_integrations", "credentials", "id::text", "inbound_integrations"},
		{"previous credentials of inbound integrations", "inbound_integrations", "previous_credentials", "id::text", "inbound_integrations.previous"},
		{"credentials of inbound subscriptions", "inbound_subscriptions", "credentials", "integration_id::text", "inbound_integrations"},
		{"received events", "integration_events", "payload", "id::text", "integration_events"},
		{"events of automations", "automation_runs", "event", "id::text", "automation_runs"},
		{"states of agent runs", "agent_run_states", "state", "run_id::text", "agent_run_states"},
		{"results of agent actions", "agent_run_effects", "result", "run_id::text || '/' || call_id", "agent_run_effects"},
	}
}

// A Count tells how many values of a column are sealed with a key.
type Count struct {
	Column Column
	// Key is the id of the key, or "" for values that are no sealed values.
	Key    string
	Values int64
	// Lost is the number of values that do not open. Only Check counts them.
	Lost int64
}

// keyID is the SQL of the id of the key in a sealed value, or "".
func (c Column) keyID() string {
	return fmt.Sprintf(`case when octet_length(%[1]s) > 2 and get_byte(%[1]s, 0) = 1 then convert_from(substring(%[1]s from 3 for get_byte(%[1]s, 1)), 'SQL_ASCII') else '' end`, c.Column)
}

// Status counts the sealed values by column and key, without opening them.
func Status(ctx context.Context, pool *pgxpool.Pool) ([]Count, error) {
	var all []Count
	for _, c := range Columns() {
		rows, err := pool.Query(ctx, "select "+c.keyID()+" as key, count(*) from "+c.Table+" where "+c.present()+" group by 1 order by 1")
		if err != nil {
			return nil, fmt.Errorf("count the sealed values: %w", err)
		}
		counts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Count, error) {
			one := Count{Column: c}
			err := row.Scan(&one.Key, &one.Values)
			return one, err
		})
		if err != nil {
			return nil, fmt.Errorf("count the sealed values: %w", err)
		}
		all = append(all, counts...)
	}
	return all, nil
}

// present is the condition that a row has a value.
func (c Column) present() string { return "octet_length(" + c.Column + ") > 0" }

// Check opens every sealed value, and counts those that do not open.
func Check(ctx context.Context, pool *pgxpool.Pool, box *secret.Box) ([]Count, error) {
	all, err := Status(ctx, pool)
	if err != nil {
		return nil, err
	}
	for _, c := range Columns() {
		places, err := c.places(ctx, pool, c.present())
		if err != nil {
			return nil, err
		}
		for chunk := range slices.Chunk(places, batch) {
			values, err := c.read(ctx, pool, chunk)
			if err != nil {
				return nil, err
			}
			for _, v := range values {
				if _, err := box.Open(v.sealed, secret.AAD(c.bound, v.key)); err == nil {
					continue
				}
				if i := slices.IndexFunc(all, func(n Count) bool { return n.Column == c && n.Key == v.keyID }); i >= 0 {
					all[i].Lost++
				}
			}
		}
	}
	return all, nil
}

// A Result tells what Rotate did with a column.
type Result struct {
	Column Column
	// Sealed are the values that are now sealed with the current key. Lost are those that
	// do not open, by the reason; they stay as they are.
	Sealed int64
	Lost   map[string]int64
	// Left are the values that other processes changed again and again.
	Left int64
}

// Rotate seals all values with the current key of the box. A value that changes meanwhile
// is never overwritten: it is looked at again. Rotate can be cut off and started again at
// any time. Processes that lack the current key cannot open what it has sealed.
func Rotate(ctx context.Context, pool *pgxpool.Pool, box *secret.Box, progress func(Column, int, int)) ([]Result, error) {
	var all []Result
	for _, c := range Columns() {
		result := Result{Column: c, Lost: map[string]int64{}}
		for range rounds {
			left, err := c.round(ctx, pool, box, &result, progress)
			if err != nil {
				return all, fmt.Errorf("seal the %s: %w", c.What, err)
			}
			if result.Left = left; left == 0 {
				break
			}
		}
		all = append(all, result)
	}
	return all, nil
}

// round seals what is sealed with other keys, and returns the number of values that
// changed meanwhile.
func (c Column) round(ctx context.Context, pool *pgxpool.Pool, box *secret.Box, result *Result, progress func(Column, int, int)) (left int64, err error) {
	places, err := c.places(ctx, pool, c.present()+" and "+c.keyID()+" <> $1", box.Current())
	if err != nil {
		return 0, err
	}
	clear(result.Lost)
	for i := 0; i < len(places); i += batch {
		if progress != nil {
			progress(c, i, len(places))
		}
		chunk := places[i:min(i+batch, len(places))]
		values, err := c.read(ctx, pool, chunk)
		if err != nil {
			return 0, err
		}
		left += int64(len(chunk) - len(values))
		updates := &pgx.Batch{}
		for _, v := range values {
			if !box.Stale(v.sealed) && v.keyID != "" {
				continue
			}
			plain, err := box.Open(v.sealed, secret.AAD(c.bound, v.key))
			if err != nil {
				result.Lost[reason(err)]++
				continue
			}
			again, err := box.Seal(plain, secret.AAD(c.bound, v.key))
			if err != nil {
				return 0, err
			}
			// The old value is compared, so that no change is lost.
			updates.Queue("update "+c.Table+" set "+c.Column+" = $1 where ctid = $2::tid and "+c.Column+" = $3", again, v.place, v.sealed)
		}
		sent := pool.SendBatch(ctx, updates)
		for range updates.Len() {
			tag, err := sent.Exec()
			if err != nil {
				return 0, errors.Join(err, sent.Close())
			}
			result.Sealed += tag.RowsAffected()
			left += 1 - tag.RowsAffected()
		}
		if err := sent.Close(); err != nil {
			return 0, err
		}
	}
	return left, nil
}

// reason says in a few words why a value does not open.
func reason(err error) string {
	if missing, ok := errors.AsType[*secret.KeyError](err); ok {
		return fmt.Sprintf("sealed with the key %q, which SECRET_KEYS lacks", missing.ID)
	}
	return err.Error()
}

// places returns the places of rows, which hold until a row is changed.
func (c Column) places(ctx context.Context, pool *pgxpool.Pool, condition string, args ...any) ([]string, error) {
	rows, err := pool.Query(ctx, "select ctid::text from "+c.Table+" where "+condition, args...)
	if err != nil {
		return nil, fmt.Errorf("look for sealed values: %w", err)
	}
	places, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for sealed values: %w", err)
	}
	return places, nil
}

type value struct {
	place, key, keyID string
	sealed            []byte
}

func (c Column) read(ctx context.Context, pool *pgxpool.Pool, places []string) ([]value, error) {
	rows, err := pool.Query(ctx, "select ctid::text, "+c.key+", "+c.keyID()+", "+c.Column+" from "+c.Table+" where ctid = any($1::text[]::tid[]) and "+c.present(), places)
	if err != nil {
		return nil, fmt.Errorf("read sealed values: %w", err)
	}
	values, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v value, err error) {
		err = row.Scan(&v.place, &v.key, &v.keyID, &v.sealed)
		return v, err
	})
	if err != nil {
		return nil, fmt.Errorf("read sealed values: %w", err)
	}
	return values, nil
}
