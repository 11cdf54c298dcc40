package backup

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/jackc/pgx/v5"
)

// load loads all tables in one transaction, and compares their counts.
func (t *target) load(ctx context.Context) (counts []TableCount, err error) {
	err = pgx.BeginFunc(ctx, t.conn, func(tx pgx.Tx) error {
		names, err := t.tables(ctx)
		if err != nil {
			return err
		}
		saved := make([]string, 0, len(t.manifest.Tables))
		for _, table := range t.manifest.Tables {
			saved = append(saved, table.Name)
			if !slices.Contains(names, table.Name) {
				return fmt.Errorf("the schema lacks the table %s of the backup", table.Name)
			}
		}
		before, after, err := aside(ctx, tx, saved)
		if err != nil {
			return err
		}
		for _, name := range saved {
			if slices.Contains(seeded(), name) {
				before = append(before, "delete from "+quote(name))
			}
		}
		if err := executeAll(ctx, tx, before); err != nil {
			return fmt.Errorf("prepare the tables: %w", err)
		}
		for i, table := range t.manifest.Tables {
			t.progress("table "+table.Name, i, len(t.manifest.Tables))
			if err := t.loadTable(ctx, table); err != nil {
				return err
			}
		}
		for name, last := range t.manifest.Sequences {
			if _, err := tx.Exec(ctx, "select setval($1::regclass, $2)", quote(name), last); err != nil {
				return fmt.Errorf("set the sequence %s: %w", name, err)
			}
		}
		if counts, err = t.count(ctx, tx); err != nil {
			return err
		}
		t.progress("indexes and constraints", 0, 1)
		if err := executeAll(ctx, tx, after); err != nil {
			return fmt.Errorf("make indexes and constraints of the restored tables: %w", err)
		}
		return nil
	})
	return counts, err
}

func (t *target) loadTable(ctx context.Context, table Table) error {
	statement := "copy " + quote(table.Name) + " (" + quoted(table.Columns) + ") from stdin"
	return t.open.get(ctx, t.Store, tableKey(t.manifest.ID, table.Name), table.Stored, func(r io.Reader) error {
		tag, err := t.conn.PgConn().CopyFrom(ctx, r, statement)
		if err != nil {
			return fmt.Errorf("restore the table %s: %w", table.Name, err)
		}
		if tag.RowsAffected() != table.Rows {
			return fmt.Errorf("the table %s got %d rows, and the manifest says %d", table.Name, tag.RowsAffected(), table.Rows)
		}
		return nil
	})
}

// count counts the rows of all tables, while row-level security does not bind the owner.
func (t *target) count(ctx context.Context, tx pgx.Tx) (counts []TableCount, err error) {
	for _, table := range t.manifest.Tables {
		c := TableCount{Name: table.Name, Want: table.Rows}
		if err := tx.QueryRow(ctx, "select count(*) from "+quote(table.Name)).Scan(&c.Counts); err != nil {
			return nil, fmt.Errorf("count the table %s: %w", table.Name, err)
		}
		if c.Counts != c.Want {
			return nil, fmt.Errorf("the table %s has %d rows, and the manifest says %d", table.Name, c.Counts, c.Want)
		}
		counts = append(counts, c)
	}
	return counts, nil
}

// aside returns the statements that put aside what hinders a load, and those that bring
// it back: foreign keys, triggers, indexes, and the row-level security that binds the
// owner. What a partition has of its table goes and comes with the table's. The owner of the tables may run them, who need not be a superuser.
func aside(ctx context.Context, tx pgx.Tx, tables []string) (before, after []string, err error) {
	rows, err := tx.Query(ctx, `
		with saved as (
			select c.oid, c.oid::regclass::text as name, c.relforcerowsecurity from pg_class c where c.relnamespace = 'public'::regnamespace
				and (c.relname = any($1) or exists (select from pg_inherits h join pg_class p on p.oid = h.inhparent where h.inhrelid = c.oid and p.relname = any($1)
					and p.relnamespace = 'public'::regnamespace)))
		select 1, format('alter table %s drop constraint %I', s.name, k.conname), format('alter table %s add constraint %I %s', s.name, k.conname, pg_get_constraintdef(k.oid))
		from pg_constraint k join saved s on s.oid = k.conrelid where k.contype = 'f' and k.conparentid = 0
		union all
		select 2, format('drop index %s', i.indexrelid::regclass), replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')
		from pg_index i join saved s on s.oid = i.indrelid
		where not exists (select from pg_constraint k where k.conindid = i.indexrelid) and i.indpred is null -- a condition may come back in another form
			and not exists (select from pg_inherits h where h.inhrelid = i.indexrelid)
		union all
		select 3, format('alter table %s disable trigger %I', s.name, g.tgname), format('alter table %s enable trigger %I', s.name, g.tgname)
		from pg_trigger g join saved s on s.oid = g.tgrelid where not g.tgisinternal and g.tgparentid = 0 and g.tgenabled = 'O'
		union all
		select 4, format('alter table %s no force row level security', s.name), format('alter table %s force row level security', s.name)
		from saved s where s.relforcerowsecurity
		order by 1, 2`, tables)
	if err != nil {
		return nil, nil, fmt.Errorf("look at constraints and indexes: %w", err)
	}
	// In the order of the query before: foreign keys need the unique indexes that they point
	// to, so that they go first and come back after them.
	var keys []string
	var kind int
	var away, back string
	_, err = pgx.ForEachRow(rows, []any{&kind, &away, &back}, func() error {
		before = append(before, away)
		if kind == 1 {
			keys = append(keys, back)
		} else {
			after = append(after, back)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("look at constraints and indexes: %w", err)
	}
	// Foreign keys are checked as the owner sees the rows, so that they come back before
	// row-level security does.
	triggers := slices.IndexFunc(after, func(s string) bool { return len(s) >= 11 && s[:11] == "alter table" })
	if triggers < 0 {
		triggers = len(after)
	}
	after = slices.Concat(after[:triggers], keys, after[triggers:])
	return before, after, nil
}

func executeAll(ctx context.Context, tx pgx.Tx, statements []string) error {
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
