package command

import (
	"fmt"
	"strconv"

	"github.com/magpie-search/magpie/internal/backup"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/internal/store"
)

type restoreCommand struct {
	backupPlace
	unlocking

	Backup      string `placeholder:"ID" help:"Backup to restore; the newest when left out."`
	Grant       string `placeholder:"LOGIN" help:"Then let this login of PostgreSQL work as the application: that of DATABASE_URL."`
	WithoutKeys bool   `help:"Restore although SECRET_KEYS lacks keys of the backup; credentials must then be entered again."`
}

// Run restores a backup.
func (c restoreCommand) Run(r *runtime) error {
	settings, err := r.owner()
	if err != nil {
		return err
	}
	if err := settings.Require("BLOB_URL"); err != nil {
		return err
	}
	if !c.WithoutKeys {
		if err := settings.Require("SECRET_KEYS"); err != nil {
			return err
		}
	}
	keys, _, err := settings.SealingKeys()
	if err != nil {
		return fmt.Errorf("SECRET_KEYS: %w", err)
	}
	unlock, err := c.unlock(r, settings)
	if err != nil {
		return err
	}
	shown := r.console.Progress("restore")
	var result backup.Restoration
	err = r.withStores(settings, c.Place, func(blobs, from blob.Store) (err error) {
		result, err = backup.Restore(r, backup.RestoreOptions{
			DatabaseURL: settings.OwnerURL(), Blobs: blobs, Store: from, ID: c.Backup, Unlock: unlock, Keys: keys, WithoutKeys: c.WithoutKeys,
			Progress: func(p backup.Progress) { shown.Show(p.Done, p.Total, p.Doing) },
		})
		return err
	})
	shown.Done("")
	if err != nil {
		return err
	}
	if c.Grant != "" {
		if err := store.Grant(r, settings.OwnerURL(), c.Grant); err != nil {
			return err
		}
	}
	return r.showRestoration(result)
}

func (r *runtime) showRestoration(result backup.Restoration) error {
	m := result.Manifest
	type count struct {
		Table    string `json:"table"`
		Backup   int64  `json:"backup"`
		Restored int64  `json:"restored"`
	}
	counts := make([]count, 0, len(result.Tables))
	for _, t := range result.Tables {
		counts = append(counts, count{t.Name, t.Want, t.Counts})
	}
	row := map[string]any{"id": m.ID, "tables": counts, "files": result.Files, "fileBytes": result.FileBytes, "copied": result.Copied}
	return r.console.Result(row, func() {
		table := make([][]string, 0, len(counts)+1)
		for _, c := range counts {
			table = append(table, []string{c.Table, strconv.FormatInt(c.Backup, 10), strconv.FormatInt(c.Restored, 10)})
		}
		table = append(table, []string{"files", strconv.FormatInt(m.Files.Count, 10), strconv.FormatInt(result.Files, 10)},
			[]string{"bytes of files", strconv.FormatInt(m.Files.Bytes, 10), strconv.FormatInt(result.FileBytes, 10)})
		r.console.Table([]string{"TABLE", "BACKUP", "RESTORED"}, table, "")
		r.console.Note("Restored the backup %s of %s, and collected the statistics of all tables.", m.ID, m.SnapshotAt.UTC().Format("2006-01-02 15:04 UTC"))
		if n := len(m.Files.Missing); n > 0 {
			r.console.Warn("the backup lacks %s, which the blob store had lost before: upload them again", humanize.Count(n, "file"))
		}
		r.console.Note("What remains: start the processes with an empty Redis, and revoke again the keys, tokens, sessions and memberships that were revoked after the backup.")
	})
}
