package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/backup"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/config/namedfile"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/internal/system"
)

// maxKeyFile bounds the bytes of a file with a passphrase or keys.
const maxKeyFile = 64 << 10

type backupCommand struct {
	Create backupCreate `cmd:"" default:"withargs" help:"Make a backup; one that was cut off is continued."`
	Verify backupVerify `cmd:"" help:"Read a whole backup and compare it with its manifest."`
	List   backupList   `cmd:"" help:"List the backups of a place."`
}

// backupPlace is where backups are.
type backupPlace struct {
	Place string `arg:"" optional:"" name:"place" help:"Folder, or s3://bucket/prefix?endpoint=...&region=...; BACKUP_URL when left out."`
}

// unlocking are flags of commands that open a backup.
type unlocking struct {
	IdentityFile   string `placeholder:"FILE" type:"path" help:"File with the secret key of age (AGE-SECRET-KEY-1...)."`
	PassphraseFile string `placeholder:"FILE" type:"path" help:"File with the passphrase; BACKUP_PASSPHRASE_FILE."`
}

type backupCreate struct {
	backupPlace

	Recipient      []string `placeholder:"age1..." help:"Public key of age for which the backup is encrypted; repeatable. BACKUP_RECIPIENTS."`
	PassphraseFile string   `placeholder:"FILE" type:"path" help:"File with a passphrase that protects the backup; BACKUP_PASSPHRASE_FILE."`
	Unencrypted    bool     `help:"Do not encrypt the backup."`
	Keep           *int     `placeholder:"N" help:"Keep the newest N complete backups and delete the others; BACKUP_KEEP. 0 keeps all."`
}

// Run makes a backup.
func (b backupCreate) Run(r *runtime) (err error) {
	c, err := r.owner()
	if err != nil {
		return err
	}
	if err := c.Require("SECRET_KEYS", "BLOB_URL"); err != nil {
		return err
	}
	protection, err := b.protection(r, c)
	if err != nil {
		return err
	}
	keys, _, err := c.SealingKeys()
	if err != nil {
		return fmt.Errorf("SECRET_KEYS: %w", err)
	}
	o := backup.Options{DatabaseURL: c.BackupSource(), Protection: protection, Keys: keys, Version: system.Version(), Keep: c.BackupKeep, Now: time.Now}
	if b.Keep != nil {
		o.Keep = *b.Keep
	}
	if o.Keep < 0 {
		return usagef("--keep must be 0 or more")
	}
	shown := r.console.Progress("backup")
	o.Progress = func(p backup.Progress) { shown.Show(p.Done, p.Total, p.Doing) }
	var result backup.Result
	err = r.withStores(c, b.Place, func(blobs, store blob.Store) (err error) {
		o.Blobs, o.Store = blobs, store
		result, err = backup.Run(r, o)
		return err
	})
	shown.Done("")
	if err != nil {
		return err
	}
	m := result.Manifest
	if lost := len(m.Files.Missing) + len(m.Files.Damaged); lost > 0 {
		r.console.Warn("the blob store lacks %s or has another content: their documents stay searchable, but cannot be synced until the files are uploaded again", humanize.Count(lost, "uploaded file"))
	}
	row := struct {
		*backup.Manifest
		Copied    int64    `json:"copied"`
		Continued bool     `json:"continued"`
		Deleted   []string `json:"deleted"`
	}{m, result.Copied, result.Continued, append([]string{}, result.Deleted...)}
	return r.console.Result(row, func() {
		r.console.Pairs([2]string{"backup", m.ID}, [2]string{"tables", fmt.Sprintf("%d with %d rows", len(m.Tables), m.Rows())},
			[2]string{"files", fmt.Sprintf("%d with %s, %d of them copied now", m.Files.Count, humanize.Bytes(m.Files.Bytes), result.Copied)},
			[2]string{"encrypted", m.Encrypted})
		if len(result.Deleted) > 0 {
			r.console.Note("Deleted %s.", humanize.Count(len(result.Deleted), "older backup"))
		}
	})
}

func (b backupCreate) protection(r *runtime, c *config.Config) (p backup.Protection, err error) {
	p = backup.Protection{Recipients: b.Recipient, None: b.Unencrypted}
	file := b.PassphraseFile
	if len(b.Recipient) == 0 && file == "" && !b.Unencrypted {
		p.Recipients, file = c.BackupRecipientList(), c.BackupPassphraseFile
	}
	if file != "" {
		if p.Passphrase, err = readSecret(r, file); err != nil {
			return p, err
		}
	}
	if err := p.Check(); err != nil {
		return p, usagef("%w: --recipient age1…, --passphrase-file FILE, or --unencrypted", err)
	}
	return p, nil
}

// readSecret returns the first line of a file.
func readSecret(ctx context.Context, path string) (string, error) {
	content, err := namedfile.Read(ctx, path, maxKeyFile)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(content), "\n")
	if line = strings.TrimRight(line, "\r"); line == "" {
		return "", fmt.Errorf("%s has no passphrase in its first line", path)
	}
	return line, nil
}

func (u unlocking) unlock(r *runtime, c *config.Config) (unlock backup.Unlock, err error) {
	if u.IdentityFile != "" {
		content, err := namedfile.Read(r, u.IdentityFile, maxKeyFile)
		if err != nil {
			return unlock, err
		}
		unlock.Identities = string(content)
	}
	file := u.PassphraseFile
	if file == "" {
		file = c.BackupPassphraseFile
	}
	if file != "" {
		unlock.Passphrase, err = readSecret(r, file)
	}
	return unlock, err
}

// withStores opens the blob store and that of the backups.
func (r *runtime) withStores(c *config.Config, where string, do func(blobs, store blob.Store) error) error {
	blobs, err := blob.Open(r, c.BlobURL, blob.Credentials{AccessKeyID: c.BlobAccessKeyID, SecretAccessKey: c.BlobSecretAccessKey.Reveal()})
	if err != nil {
		return fmt.Errorf("BLOB_URL: %w", err)
	}
	return errors.Join(r.withBackups(c, where, func(store blob.Store) error { return do(blobs, store) }), closeStore(blobs))
}

// withBackups opens the place of the backups.
func (r *runtime) withBackups(c *config.Config, where string, do func(blob.Store) error) error {
	if where == "" {
		where = c.BackupURL
	}
	if where == "" {
		return usagef("say where the backups are: a folder, s3://bucket/prefix, or BACKUP_URL")
	}
	address, err := backupAddress(where)
	if err != nil {
		return err
	}
	if address == c.BlobURL {
		return errors.New("backups must not be in the place of BLOB_URL: use another folder or prefix")
	}
	key := blob.Credentials{AccessKeyID: c.BackupAccessKeyID, SecretAccessKey: c.BackupSecretAccessKey.Reveal()}
	if key.AccessKeyID == "" {
		key = blob.Credentials{AccessKeyID: c.BlobAccessKeyID, SecretAccessKey: c.BlobSecretAccessKey.Reveal()}
	}
	store, err := blob.Open(r, address, key)
	if err != nil {
		return fmt.Errorf("open the place of the backups: %w", err)
	}
	return errors.Join(do(store), closeStore(store))
}

// backupAddress returns the address of a blob store; a path is a folder.
func backupAddress(where string) (string, error) {
	if strings.Contains(where, "://") {
		return where, nil
	}
	folder, err := filepath.Abs(where)
	if err != nil {
		return "", fmt.Errorf("find the folder %s: %w", where, err)
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(folder)}).String(), nil
}

func closeStore(store blob.Store) error {
	closer, ok := store.(io.Closer)
	if !ok {
		return nil
	}
	if err := closer.Close(); err != nil {
		return fmt.Errorf("close a blob store: %w", err)
	}
	return nil
}

type backupVerify struct {
	backupPlace
	unlocking

	Backup string `placeholder:"ID" help:"Backup to read; the newest when left out."`
}

// Run reads a backup and fails if it is damaged.
func (v backupVerify) Run(r *runtime) error {
	c, err := r.settings(nil)
	if err != nil {
		return err
	}
	unlock, err := v.unlock(r, c)
	if err != nil {
		return err
	}
	shown := r.console.Progress("verify")
	var got *backup.Verification
	err = r.withBackups(c, v.Place, func(store blob.Store) (err error) {
		got, err = backup.Verify(r, store, v.Backup, unlock, func(p backup.Progress) { shown.Show(p.Done, p.Total, p.Doing) })
		return err
	})
	shown.Done("")
	if err != nil {
		return err
	}
	m := got.Manifest
	row := map[string]any{"id": m.ID, "opened": got.Opened, "problems": append([]string{}, got.Problems...), "tables": len(m.Tables), "rows": m.Rows(), "files": m.Files.Count}
	err = r.console.Result(row, func() {
		r.console.Pairs([2]string{"backup", m.ID}, [2]string{"tables", fmt.Sprintf("%d with %d rows", len(m.Tables), m.Rows())},
			[2]string{"files", fmt.Sprintf("%d with %s", m.Files.Count, humanize.Bytes(m.Files.Bytes))})
		if !got.Opened {
			r.console.Note("The stored bytes were compared. With the key (--identity-file or --passphrase-file), rows and contents are, too.")
		}
		for _, problem := range got.Problems {
			r.console.Warn("%s", problem)
		}
	})
	if err != nil {
		return err
	}
	if len(got.Problems) > 0 {
		return fmt.Errorf("the backup %s has %s", m.ID, humanize.Count(len(got.Problems), "problem"))
	}
	return nil
}

type backupList struct{ backupPlace }

// Run lists backups.
func (l backupList) Run(r *runtime) error {
	c, err := r.settings(nil)
	if err != nil {
		return err
	}
	type row struct {
		ID        string    `json:"id"`
		At        time.Time `json:"at"`
		Complete  bool      `json:"complete"`
		Version   string    `json:"version"`
		Rows      int64     `json:"rows"`
		Files     int64     `json:"files"`
		Encrypted string    `json:"encrypted"`
	}
	rows := []row{}
	err = r.withBackups(c, l.Place, func(store blob.Store) error {
		complete, incomplete, err := backup.List(r, store)
		for _, m := range complete {
			rows = append(rows, row{m.ID, m.SnapshotAt, true, m.Version, m.Rows(), m.Files.Count, m.Encrypted})
		}
		for _, id := range incomplete {
			rows = append(rows, row{ID: id})
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.console.Result(rows, func() {
		table := make([][]string, 0, len(rows))
		for _, row := range rows {
			if !row.Complete {
				table = append(table, []string{row.ID, "incomplete", "", "", "", ""})
				continue
			}
			table = append(table, []string{row.ID, row.At.UTC().Format(time.DateTime), row.Version, fmt.Sprint(row.Rows), fmt.Sprint(row.Files), row.Encrypted})
		}
		r.console.Table([]string{"BACKUP", "MOMENT (UTC)", "VERSION", "ROWS", "FILES", "ENCRYPTED"}, table, "There is no backup here.")
	})
}
