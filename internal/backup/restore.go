package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/magpie-search/magpie/ent/migrate/migrations"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/secret"
)

// RestoreOptions say what is restored, and where to.
type RestoreOptions struct {
	// DatabaseURL is the login that owns the schema, or will.
	DatabaseURL  string
	Blobs, Store blob.Store
	// ID is the backup; the newest when empty.
	ID     string
	Unlock Unlock
	// Keys are those of SECRET_KEYS by id. They are compared with those of the backup,
	// unless WithoutKeys is set.
	Keys        map[string][]byte
	WithoutKeys bool
	Progress    func(Progress)
}

// A Restoration tells what a restore did.
type Restoration struct {
	Manifest *Manifest
	Tables   []TableCount
	// Files and FileBytes are the files in the blob store, Copied of which this restore copied.
	Files, FileBytes, Copied int64
}

// A TableCount compares a restored table with the manifest.
type TableCount struct {
	Name         string
	Want, Counts int64
}

// seeded are the tables that have rows in a new database.
func seeded() []string { return []string{"schema_floor", "search_settings"} }

// Restore restores a backup into an empty database and a blob store. It copies the files
// first and then all tables in one transaction, so that a restore that was cut off leaves
// an empty database and can be started again. The counts of all tables are compared with
// the manifest before the transaction is committed.
func Restore(ctx context.Context, o RestoreOptions) (result Restoration, err error) {
	m, err := find(ctx, o.Store, o.ID)
	if err != nil {
		return result, err
	}
	result.Manifest = m
	open, err := o.Unlock.opening(ctx, o.Store, m)
	if err != nil {
		return result, err
	}
	if !o.WithoutKeys {
		if err := compareKeys(m, o.Keys); err != nil {
			return result, err
		}
	}
	conn, err := connect(ctx, o.DatabaseURL)
	if err != nil {
		return result, err
	}
	s := &source{conn: conn}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	t := &target{RestoreOptions: o, conn: conn, manifest: m, open: open}
	if err := t.empty(ctx); err != nil {
		return result, err
	}
	if result.Files, result.FileBytes, result.Copied, err = t.restoreFiles(ctx); err != nil {
		return result, err
	}
	if err := t.schema(ctx); err != nil {
		return result, err
	}
	if result.Tables, err = t.load(ctx); err != nil {
		return result, err
	}
	return result, t.finish(ctx)
}

// compareKeys checks that the keys open what the backup has sealed.
func compareKeys(m *Manifest, keys map[string][]byte) error {
	for id, check := range m.KeyChecks {
		key, found := keys[id]
		switch {
		case !found:
			return fmt.Errorf("SECRET_KEYS lacks the key %q, which the backup was made with: without it, no stored credential opens. "+
				"Set it, or restore with --without-keys and enter the credentials again", id)
		case secret.KeyCheck(key) != check:
			return fmt.Errorf("the key %q of SECRET_KEYS is another one than when the backup was made: no stored credential would open. "+
				"Set the right one, or restore with --without-keys and enter the credentials again", id)
		}
	}
	return nil
}

// A target is the database that is restored.
type target struct {
	RestoreOptions
	conn     *pgx.Conn
	manifest *Manifest
	open     opening
}

func (t *target) progress(doing string, done, total int) {
	if t.Progress != nil {
		t.Progress(Progress{doing, done, total})
	}
}

// maxNamed bounds the relations that an error names.
const maxNamed = 5

// empty returns an error if the database has rows, or relations of somebody else.
func (t *target) empty(ctx context.Context) error {
	others, err := t.others(ctx)
	if err != nil {
		return err
	}
	if n := len(others); n > 0 {
		named := strings.Join(others[:min(n, maxNamed)], ", ")
		if n > maxNamed {
			named += fmt.Sprintf(" and %d more", n-maxNamed)
		}
		return fmt.Errorf("the database has tables or views that are not Magpie's (%s): restore into a new one. Nothing was changed", named)
	}
	names, err := t.tables(ctx)
	if err != nil {
		return err
	}
	var full []string
	for _, name := range names {
		if name == stepsTable || slices.Contains(seeded(), name) || slices.Contains(derived(), name) {
			continue
		}
		var filled bool
		if err := t.conn.QueryRow(ctx, "select exists (select from "+quote(name)+")").Scan(&filled); err != nil {
			return fmt.Errorf("look whether the database is empty: %w", err)
		}
		if filled {
			full = append(full, name)
		}
	}
	if len(full) > 0 {
		return fmt.Errorf("the database is not empty (%s has rows): restore into a new one. Nothing was changed", strings.Join(full, ", "))
	}
	return nil
}

// others returns the relations of the schema public that no step of Magpie's makes, and
// those of other schemas that depend on one in it. A database whose steps are not
// Magpie's has nothing of Magpie, whatever its tables are called.
func (t *target) others(ctx context.Context) ([]string, error) {
	steps, err := t.steps(ctx)
	if err != nil {
		return nil, err
	}
	made, err := migrations.Tables()
	if err != nil {
		return nil, fmt.Errorf("list the tables of Magpie: %w", err)
	}
	own := []string{}
	if first := t.manifest.Steps; len(steps) > 0 && len(first) > 0 && steps[0] == first[0] {
		own = append(own, made...)
	}
	if len(own) > 0 || len(steps) == 0 { // the first step may have failed
		own = append(own, stepsTable)
	}
	rows, err := t.conn.Query(ctx, `
		with here as (
		    select c.oid, c.relname, c.relkind from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
		      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid
		          and (d.deptype = 'e' or c.relkind = 'S' and d.deptype in ('a', 'i'))) -- of extensions; sequences of columns
		)
		select here.oid from here where relname <> all($1) and not exists ( -- partitions are their table's
		    select from pg_inherits i join here t on t.oid = i.inhparent where i.inhrelid = here.oid and t.relname = any($1))
		union
		select r.ev_class from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
		join here on d.refclassid = 'pg_class'::regclass and d.refobjid = here.oid join pg_class c on c.oid = r.ev_class where c.relnamespace <> 'public'::regnamespace
		union
		select k.conrelid from pg_constraint k join here on here.oid = k.confrelid join pg_class c on c.oid = k.conrelid where c.relnamespace <> 'public'::regnamespace
		union
		select i.inhrelid from pg_inherits i join here on here.oid = i.inhparent join pg_class c on c.oid = i.inhrelid where c.relnamespace <> 'public'::regnamespace`, own)
	if err != nil {
		return nil, fmt.Errorf("look whether the database is empty: %w", err)
	}
	oids, err := pgx.CollectRows(rows, pgx.RowTo[uint32])
	if err != nil {
		return nil, fmt.Errorf("look whether the database is empty: %w", err)
	}
	rows, err = t.conn.Query(ctx, "select format('%I.%I', relnamespace::regnamespace, relname) from pg_class where oid = any($1) order by 1", oids)
	if err != nil {
		return nil, fmt.Errorf("look whether the database is empty: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look whether the database is empty: %w", err)
	}
	return names, nil
}

// tables returns the names of all tables, without partitions.
func (t *target) tables(ctx context.Context) ([]string, error) {
	rows, err := t.conn.Query(ctx, `select c.relname::text from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
		and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e') order by 1`)
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	return names, nil
}

// restoreFiles copies the files that the blob store lacks. It returns the number and
// bytes of all files, and the number of those that it copied.
func (t *target) restoreFiles(ctx context.Context) (count, size, copied int64, err error) {
	files, err := readIndex(ctx, t.Store, t.manifest)
	if err != nil {
		return 0, 0, 0, err
	}
	digests, err := readDigests(ctx, t.Store, t.manifest, t.open)
	if err != nil {
		return 0, 0, 0, err
	}
	for i, f := range files {
		t.progress("files", i, len(files))
		there, err := t.has(ctx, f, digests[f.Key])
		if err != nil {
			return count, size, copied, err
		}
		if !there {
			if err := t.restoreFile(ctx, f, digests[f.Key]); err != nil {
				return count, size, copied, err
			}
			copied++
		}
		count++
		size += f.Bytes
	}
	if count != t.manifest.Files.Count || size != t.manifest.Files.Bytes {
		return count, size, copied, fmt.Errorf("%d files of %d bytes were restored, and the manifest says %d of %d", count, size, t.manifest.Files.Count, t.manifest.Files.Bytes)
	}
	return count, size, copied, nil
}

// has reports whether the blob store has a file with its content.
func (t *target) has(ctx context.Context, f file, sum string) (bool, error) {
	content, err := t.Blobs.Open(ctx, f.Key)
	if errors.Is(err, blob.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the blob store: %w", err)
	}
	count := newCounter()
	_, err = io.Copy(count, content)
	if err = errors.Join(err, content.Close()); err != nil {
		return false, fmt.Errorf("look at the blob store: %w", err)
	}
	return count.bytes == f.Bytes && sum != "" && count.hash() == sum, nil
}

func (t *target) restoreFile(ctx context.Context, f file, sum string) error {
	return t.open.get(ctx, t.Store, fileKey(f.Key), f.Stored, func(r io.Reader) error {
		count := newCounter()
		if err := t.Blobs.Put(ctx, f.Key, io.TeeReader(r, count), f.Bytes); err != nil {
			return fmt.Errorf("restore an uploaded file: %w", err)
		}
		if sum != "" && count.hash() != sum {
			return errors.Join(fmt.Errorf("the file %s of the backup is damaged", f.Key), t.Blobs.Delete(ctx, f.Key))
		}
		_, err := io.Copy(io.Discard, r) // up to the authenticated end
		return err
	})
}

// schema makes the schema of the backup. An empty one of another release is made anew.
func (t *target) schema(ctx context.Context) error {
	t.progress("schema", 0, 1)
	there, err := t.steps(ctx)
	if err != nil {
		return err
	}
	if len(there) > 0 && !slices.Equal(there, t.manifest.Steps) {
		if err := t.drop(ctx); err != nil {
			return err
		}
	}
	db := stdlib.OpenDB(*t.conn.Config())
	defer func() { _ = db.Close() }()
	if err := migrations.UpTo(ctx, db, t.manifest.Steps); err != nil {
		return fmt.Errorf("make the schema of the backup: %w", err)
	}
	return nil
}

func (t *target) steps(ctx context.Context) (steps []int64, err error) {
	var found bool
	if err := t.conn.QueryRow(ctx, "select to_regclass($1) is not null", stepsTable).Scan(&found); err != nil || !found {
		return nil, err
	}
	rows, err := t.conn.Query(ctx, "select version_id from "+stepsTable+" where is_applied and version_id > 0 order by version_id")
	if err == nil {
		steps, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	if err != nil {
		return nil, fmt.Errorf("read the steps of the schema: %w", err)
	}
	return steps, nil
}

// drop drops the empty tables and the functions of another release. What depends on them
// is not Magpie's, and makes it fail.
func (t *target) drop(ctx context.Context) error {
	// Policies of tables use the functions, so the tables go first.
	rows, err := t.conn.Query(ctx, `select statement from (
		select 1 as step, 'drop table ' || string_agg(c.oid::regclass::text, ', ') as statement from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
		  and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.objsubid = 0 and d.deptype in ('e', 'i')) having count(*) > 0
		union all
		select 2, 'drop function ' || string_agg(p.oid::regprocedure::text, ', ') from pg_proc p where p.pronamespace = 'public'::regnamespace and p.proname like 'magpie\_%'
		  and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype in ('e', 'i')) having count(*) > 0
		) all_steps order by step`)
	if err != nil {
		return fmt.Errorf("look at the empty schema: %w", err)
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look at the empty schema: %w", err)
	}
	err = pgx.BeginFunc(ctx, t.conn, func(tx pgx.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop the empty schema of another release; restore into a new database instead: %w", err)
	}
	return nil
}

// finish brings the schema up to date and collects statistics.
func (t *target) finish(ctx context.Context) error {
	db := stdlib.OpenDB(*t.conn.Config())
	defer func() { _ = db.Close() }()
	if err := migrations.Up(ctx, db); err != nil {
		return fmt.Errorf("bring the restored schema up to date: %w", err)
	}
	names, err := t.tables(ctx)
	if err != nil {
		return err
	}
	for i, name := range names {
		t.progress("vacuum "+name, i, len(names))
		if _, err := t.conn.Exec(ctx, "vacuum (analyze) "+quote(name)); err != nil {
			return fmt.Errorf("collect statistics of the table %s: %w", name, err)
		}
	}
	return nil
}
