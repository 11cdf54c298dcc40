package backup

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/magpie-search/magpie/internal/connector/blob"
)

// format is the version of the layout and of the manifest.
const format = 1

// maxManifest bounds the bytes of a manifest that is read.
const maxManifest = 16 << 20

// The folders of a store.
const (
	backupsFolder = "backups"
	filesFolder   = "files"
)

// A Manifest describes a complete backup. It contains counts and hashes, no content.
type Manifest struct {
	Format    int       `json:"format"`
	ID        string    `json:"id"`
	StartedAt time.Time `json:"startedAt"`
	// SnapshotAt is the moment that the tables show, by the clock of the database.
	SnapshotAt time.Time `json:"snapshotAt"`
	FinishedAt time.Time `json:"finishedAt"`
	Version    string    `json:"version"` // of the program
	Postgres   string    `json:"postgres"`
	// Steps are the steps of the schema.
	Steps  []int64 `json:"steps"`
	Tables []Table `json:"tables"`
	// Sequences are the last values of the sequences that are in use.
	Sequences map[string]int64 `json:"sequences"`
	Encrypted string           `json:"encrypted"` // no, recipients or passphrase
	// KeyChecks are check values of the keys of SECRET_KEYS by their ids.
	KeyChecks map[string]string `json:"keyChecks"`
	Files     Files             `json:"files"`
}

// A Table is a table of a backup.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Rows    int64    `json:"rows"`
	Stored  Stored   `json:"stored"`
}

// Stored is what a store has of something: compressed and encrypted bytes.
type Stored struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Files are the uploaded files of a backup.
type Files struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
	// Missing are the keys of files that the blob store no longer had. Damaged are
	// those whose content is not the one that was uploaded; they are stored as they are.
	Missing []string `json:"missing,omitempty"`
	Damaged []string `json:"damaged,omitempty"`
	Index   Stored   `json:"index"`
	Digests Stored   `json:"digests"`
}

// Rows returns the number of rows of all tables.
func (m *Manifest) Rows() (rows int64) {
	for _, t := range m.Tables {
		rows += t.Rows
	}
	return rows
}

// file is an entry of the index of files.
type file struct {
	Key    string `json:"key"`
	Bytes  int64  `json:"bytes"` // of the content
	Stored Stored `json:"stored"`
	// Sealing tells for whom the file is encrypted.
	Sealing string `json:"sealing"`
	// Damaged says that the content is not the one that was uploaded.
	Damaged bool `json:"damaged,omitempty"`
}

// digest is an entry of the encrypted list of hashes.
type digest struct {
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
}

// keys of a backup.
func manifestKey(id string) string { return backupsFolder + "/" + id + "/manifest" }
func indexKey(id string) string    { return backupsFolder + "/" + id + "/files" }
func digestsKey(id string) string  { return backupsFolder + "/" + id + "/digests" }
func journalKey(id string, n int) string {
	return fmt.Sprintf("%s/%s/journal/%06d", backupsFolder, id, n)
}
func tableKey(id, table string) string { return backupsFolder + "/" + id + "/tables/" + table }
func fileKey(key string) string        { return filesFolder + "/" + key }

// ErrNone is returned if a store has no complete backup.
var ErrNone = errors.New("there is no complete backup here")

// List returns the complete backups of a store, the oldest first, and the ids of the
// incomplete ones.
func List(ctx context.Context, store blob.Store) (complete []*Manifest, incomplete []string, err error) {
	ids := map[string]bool{}
	err = store.List(ctx, backupsFolder, func(e blob.Entry) error {
		id, rest := partsOf(e.Key)
		ids[id] = ids[id] || rest == "manifest"
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list the backups: %w", err)
	}
	for id, whole := range ids {
		if !whole {
			incomplete = append(incomplete, id)
			continue
		}
		m, err := readManifest(ctx, store, id)
		if err != nil {
			return nil, nil, err
		}
		complete = append(complete, m)
	}
	slices.Sort(incomplete)
	slices.SortFunc(complete, func(a, b *Manifest) int { return cmp.Compare(a.ID, b.ID) })
	return complete, incomplete, nil
}

// find returns the backup with an id, or the newest complete one for "".
func find(ctx context.Context, store blob.Store, id string) (*Manifest, error) {
	if id != "" {
		m, err := readManifest(ctx, store, id)
		if errors.Is(err, blob.ErrNotFound) {
			return nil, fmt.Errorf("there is no complete backup %s here", id)
		}
		return m, err
	}
	all, incomplete, err := List(ctx, store)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0 && len(incomplete) > 0:
		return nil, fmt.Errorf("%w; %s was cut off: run the backup again, which continues it", ErrNone, incomplete[len(incomplete)-1])
	case len(all) == 0:
		return nil, ErrNone
	}
	return all[len(all)-1], nil
}

// partsOf returns the id of a backup and the rest of a key.
func partsOf(key string) (id, rest string) {
	parts := bytes.SplitN([]byte(key), []byte("/"), 3)
	if len(parts) < 3 {
		return "", ""
	}
	return string(parts[1]), string(parts[2])
}

func readManifest(ctx context.Context, store blob.Store, id string) (*Manifest, error) {
	content, err := store.Open(ctx, manifestKey(id))
	if err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(content, maxManifest))
	if err = errors.Join(err, content.Close()); err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil || m.ID != id {
		return nil, fmt.Errorf("the manifest of the backup %s is damaged", id)
	}
	if m.Format != format {
		return nil, fmt.Errorf("the backup %s has the format %d, and this program reads %d: use the release that made it", id, m.Format, format)
	}
	return &m, nil
}
