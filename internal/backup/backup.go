package backup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/secret"
)

// A part of the journal is written after this many files or bytes, so that a backup
// that is cut off has to copy little again.
const (
	journalFiles = 500
	journalBytes = 256 << 20
)

// Options say what is saved, and where. Now and the stores are required.
type Options struct {
	// DatabaseURL is a login that sees all rows, or the owner of the schema.
	DatabaseURL string
	// Blobs are the uploaded files. Store is where the backup goes; its blobs are the
	// backup's alone.
	Blobs, Store blob.Store
	Protection   Protection
	// Keys are those of SECRET_KEYS by id, for the check of a restore.
	Keys    map[string][]byte
	Version string
	// Keep is the number of complete backups that stay, with the new one; 0 keeps all.
	Keep int
	Now  func() time.Time
	// Progress is told what happens; it may be nil.
	Progress func(Progress)
}

// Progress is where the work stands.
type Progress struct {
	// Doing is a table, or files.
	Doing       string
	Done, Total int
}

// A Result tells what a backup did.
type Result struct {
	Manifest *Manifest
	// Copied are the files that were copied; those of earlier backups were there.
	Copied      int64
	CopiedBytes int64
	Continued   bool // whether an earlier backup had been cut off
	Deleted     []string
}

// A run is a backup that is being made.
type run struct {
	Options
	sealing sealing
	source  *source
	id      string
	known   map[string]file  // what journals and indexes say is stored
	lengths map[string]int64 // what the store has, by key of the file
	journal bytes.Buffer
	pending int64 // files in journal
	bytes   int64 // of the files in journal
	parts   int
	result  Result
	index   map[string]file
}

// Run makes a backup. A backup that was cut off is continued: files that are there are
// not copied again, the tables are. Only one backup of a database runs at a time.
func Run(ctx context.Context, o Options) (result Result, err error) {
	r := &run{Options: o, known: map[string]file{}, lengths: map[string]int64{}, index: map[string]file{}}
	started := o.Now().UTC()
	r.id = strings.ToLower(started.Format("20060102t150405z") + "-" + rand.Text()[:6])
	if r.sealing, err = protect(ctx, o.Store, o.Protection); err != nil {
		return r.result, err
	}
	if r.source, err = openSource(ctx, o.DatabaseURL); err != nil {
		return r.result, err
	}
	defer func() { err = errors.Join(err, r.source.close(ctx)) }()
	incomplete, err := r.look(ctx)
	if err != nil {
		return r.result, err
	}
	m := &Manifest{
		Format: format, ID: r.id, StartedAt: started, Version: o.Version, Encrypted: r.sealing.kind, KeyChecks: map[string]string{},
	}
	for id, key := range o.Keys {
		m.KeyChecks[id] = secret.KeyCheck(key)
	}
	// The files of now are copied first, which may take long, and then those of the
	// snapshot: only a file that is deleted in between is lost to the backup.
	before, err := r.source.files(ctx)
	if err != nil {
		return r.result, err
	}
	if err := r.copyFiles(ctx, before); err != nil {
		return r.result, err
	}
	files, err := r.copyTables(ctx, m)
	if err != nil {
		return r.result, err
	}
	if err := r.copyFiles(ctx, files); err != nil {
		return r.result, err
	}
	if err := r.writeIndex(ctx, m, files); err != nil {
		return r.result, err
	}
	m.FinishedAt = o.Now().UTC()
	if err := r.write(ctx, manifestKey(r.id), m); err != nil {
		return r.result, err
	}
	r.result.Manifest = m
	r.result.Continued = len(incomplete) > 0
	return r.result, r.clean(ctx, incomplete)
}

func (r *run) write(ctx context.Context, key string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	if err := r.Store.Put(ctx, key, bytes.NewReader(append(data, '\n')), int64(len(data)+1)); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

func (r *run) progress(doing string, done, total int) {
	if r.Progress != nil {
		r.Progress(Progress{doing, done, total})
	}
}

// look reads what the store has, and deletes the tables of backups that were cut off. It
// returns the ids of these.
func (r *run) look(ctx context.Context) (incomplete []string, err error) {
	err = r.Store.List(ctx, filesFolder, func(e blob.Entry) error {
		r.lengths[strings.TrimPrefix(e.Key, filesFolder+"/")] = e.Bytes
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look at the store: %w", err)
	}
	whole, incomplete, err := List(ctx, r.Store)
	if err != nil {
		return nil, err
	}
	for _, m := range whole {
		files, err := readIndex(ctx, r.Store, m)
		if err != nil {
			continue // its files are copied again, and its verification fails
		}
		for _, f := range files {
			r.known[f.Key] = f
		}
	}
	for _, id := range incomplete {
		if err := r.readJournal(ctx, id); err != nil {
			return nil, err
		}
		if err := deleteFolder(ctx, r.Store, backupsFolder+"/"+id+"/tables"); err != nil {
			return nil, err
		}
	}
	return incomplete, nil
}

func (r *run) readJournal(ctx context.Context, id string) error {
	return listKeys(ctx, r.Store, backupsFolder+"/"+id+"/journal", func(key string) error {
		content, err := r.Store.Open(ctx, key)
		if err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
		files, err := decodeLines[file](content)
		if err = errors.Join(err, content.Close()); err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
		for _, f := range files {
			r.known[f.Key] = f
		}
		return nil
	})
}

// copyFiles copies the files that are not there.
func (r *run) copyFiles(ctx context.Context, files []sourceFile) error {
	for i, f := range files {
		r.progress("files", i, len(files))
		if _, done := r.index[f.key]; done {
			continue
		}
		known, found := r.known[f.key]
		if length, there := r.lengths[f.key]; found && there && known.Bytes == f.bytes && known.Stored.Bytes == length && known.Sealing == r.sealing.id && !known.Damaged {
			r.index[f.key] = known
			continue
		}
		if err := r.copyFile(ctx, f); err != nil {
			return err
		}
	}
	return r.flush(ctx)
}

func (r *run) copyFile(ctx context.Context, f sourceFile) error {
	content, err := r.Blobs.Open(ctx, f.key)
	if errors.Is(err, blob.ErrNotFound) {
		return nil // it is not in the index
	}
	if err != nil {
		return fmt.Errorf("read an uploaded file: %w", err)
	}
	defer func() { _ = content.Close() }()
	count := newCounter()
	stored, err := r.sealing.put(ctx, r.Store, fileKey(f.key), func(w io.Writer) error {
		_, err := io.Copy(w, io.TeeReader(content, count))
		return err
	})
	if err != nil {
		return fmt.Errorf("copy an uploaded file: %w", err)
	}
	entry := file{Key: f.key, Bytes: count.bytes, Stored: stored, Sealing: r.sealing.id, Damaged: count.hash() != f.sha256 || count.bytes != f.bytes}
	r.index[f.key] = entry
	r.lengths[f.key] = stored.Bytes
	r.result.Copied++
	r.result.CopiedBytes += count.bytes
	if err := json.NewEncoder(&r.journal).Encode(entry); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	r.pending++
	if r.bytes += count.bytes; r.pending >= journalFiles || r.bytes >= journalBytes {
		return r.flush(ctx)
	}
	return nil
}

// flush writes the journal of the files that were copied since the last one.
func (r *run) flush(ctx context.Context) error {
	if r.pending == 0 {
		return nil
	}
	r.parts++
	if err := r.Store.Put(ctx, journalKey(r.id, r.parts), bytes.NewReader(r.journal.Bytes()), int64(r.journal.Len())); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	r.journal.Reset()
	r.pending, r.bytes = 0, 0
	return nil
}

// copyTables copies all tables in one snapshot, and returns the files that they name.
func (r *run) copyTables(ctx context.Context, m *Manifest) (files []sourceFile, err error) {
	if m.SnapshotAt, err = r.source.begin(ctx); err != nil {
		return nil, err
	}
	if err := r.source.describe(ctx, m); err != nil {
		return nil, err
	}
	if files, err = r.source.files(ctx); err != nil {
		return nil, err
	}
	for i, t := range r.source.tables {
		r.progress("table "+t.name, i, len(r.source.tables))
		table := Table{Name: t.name, Columns: t.columns}
		table.Stored, err = r.sealing.put(ctx, r.Store, tableKey(r.id, t.name), func(w io.Writer) (err error) {
			table.Rows, err = r.source.copyTable(ctx, t, w)
			return err
		})
		if err != nil {
			return nil, err
		}
		m.Tables = append(m.Tables, table)
	}
	return files, r.source.end(ctx)
}

// writeIndex writes the lists of the files of the snapshot.
func (r *run) writeIndex(ctx context.Context, m *Manifest, files []sourceFile) (err error) {
	none := sealing{}
	m.Files.Index, err = none.put(ctx, r.Store, indexKey(r.id), func(w io.Writer) error {
		lines := json.NewEncoder(w)
		for _, f := range files {
			entry, found := r.index[f.key]
			if !found {
				m.Files.Missing = append(m.Files.Missing, f.key)
				continue
			}
			if entry.Damaged {
				m.Files.Damaged = append(m.Files.Damaged, f.key)
			}
			m.Files.Count++
			m.Files.Bytes += entry.Bytes
			if err := lines.Encode(entry); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write the list of files: %w", err)
	}
	m.Files.Digests, err = r.sealing.put(ctx, r.Store, digestsKey(r.id), func(w io.Writer) error {
		lines := json.NewEncoder(w)
		for _, f := range files {
			if entry, found := r.index[f.key]; !found || entry.Damaged {
				continue
			}
			if err := lines.Encode(digest{f.key, f.sha256}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write the list of files: %w", err)
	}
	return nil
}

// readIndex returns the files of a backup.
func readIndex(ctx context.Context, store blob.Store, m *Manifest) (files []file, err error) {
	err = opening{}.get(ctx, store, indexKey(m.ID), m.Files.Index, func(r io.Reader) error {
		files, err = decodeLines[file](r)
		return err
	})
	return files, err
}

func decodeLines[T any](r io.Reader) (all []T, err error) {
	decoder := json.NewDecoder(bufio.NewReader(r))
	for {
		var one T
		switch err := decoder.Decode(&one); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("a list is damaged: %w", err)
		}
		all = append(all, one)
	}
}

// listKeys visits the keys of a folder after they have all been listed, so that visit
// may delete.
func listKeys(ctx context.Context, store blob.Store, folder string, visit func(string) error) error {
	var keys []string
	err := store.List(ctx, folder, func(e blob.Entry) error { keys = append(keys, e.Key); return nil })
	if err != nil {
		return fmt.Errorf("look at the store: %w", err)
	}
	for _, key := range keys {
		if err := visit(key); err != nil {
			return err
		}
	}
	return nil
}

func deleteFolder(ctx context.Context, store blob.Store, folder string) error {
	return listKeys(ctx, store, folder, func(key string) error {
		if err := store.Delete(ctx, key); err != nil {
			return fmt.Errorf("delete old backups: %w", err)
		}
		return nil
	})
}
