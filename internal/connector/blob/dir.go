package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

const (
	// blobSuffix is appended to the names of blobs, so that no key opens or deletes
	// a folder. No key contains this character.
	blobSuffix = "~"
	// tempFolder contains files that are being written. No key names it.
	tempFolder = "unfinished~"
	// abandonedAfter is the age at which a file in tempFolder belongs to no
	// process.
	abandonedAfter = 24 * time.Hour
)

// Dir is a Store in a folder. Several processes may use one folder. Dir accesses
// nothing outside of it, not even through symbolic links.
type Dir struct {
	root *os.Root
}

// NewDir opens a folder and creates it if necessary. It deletes unfinished files
// that are more than a day old.
func NewDir(folder string) (*Dir, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the blob folder: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the blob folder: %w", err)
	}
	d := &Dir{root: root}
	if err := d.prepare(time.Now().Add(-abandonedAfter)); err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("prepare the blob folder: %w", err)
	}
	return d, nil
}

func (d *Dir) prepare(before time.Time) error {
	if err := d.root.Mkdir(tempFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	entries, err := fs.ReadDir(d.root.FS(), tempFolder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue
		}
		if err := d.root.Remove(path.Join(tempFolder, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Close closes the folder. The Dir cannot be used afterwards.
func (d *Dir) Close() error { return d.root.Close() }

// Put implements [Store]. The content is on disk when Put returns.
func (d *Dir) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := d.put(ctx, key, r, size); err != nil {
		return fmt.Errorf("store blob %s: %w", key, err)
	}
	return nil
}

func (d *Dir) put(ctx context.Context, key string, r io.Reader, size int64) error {
	content, err := withSize(ctx, r, size)
	if err != nil {
		return err
	}
	temp := path.Join(tempFolder, rand.Text())
	if err := d.write(temp, content); err != nil {
		return errors.Join(err, d.root.Remove(temp))
	}
	final := key + blobSuffix
	if err := d.makeFolders(path.Dir(final)); err != nil {
		return errors.Join(err, d.root.Remove(temp))
	}
	if err := d.root.Rename(temp, final); err != nil {
		return errors.Join(err, d.root.Remove(temp))
	}
	return d.syncFolder(path.Dir(final))
}

func (d *Dir) write(name string, content io.Reader) error {
	file, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// makeFolders creates a folder and its parents and syncs the parent of each: a file
// is durable only if its path is.
func (d *Dir) makeFolders(folder string) error {
	if folder == "." {
		return nil
	}
	if _, err := d.root.Stat(folder); err == nil {
		return nil
	}
	if err := d.makeFolders(path.Dir(folder)); err != nil {
		return err
	}
	if err := d.root.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.syncFolder(path.Dir(folder))
}

func (d *Dir) syncFolder(folder string) error {
	opened, err := d.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}

// Open implements [Store].
func (d *Dir) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open blob %s: %w", key, err)
	}
	file, err := d.root.Open(key + blobSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open blob %s: %w", key, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open blob %s: %w", key, err)
	}
	return file, nil
}

// Delete implements [Store].
func (d *Dir) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete blob %s: %w", key, err)
	}
	err := d.root.Remove(key + blobSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = d.syncFolder(path.Dir(key))
	}
	if err != nil {
		return fmt.Errorf("delete blob %s: %w", key, err)
	}
	return nil
}

// List implements [Store]. Files that were not stored by a Dir are no blobs.
func (d *Dir) List(ctx context.Context, folder string, visit func(Entry) error) error {
	if err := checkFolder(folder); err != nil {
		return err
	}
	start := folder
	if start == "" {
		start = "."
	}
	err := fs.WalkDir(d.root.FS(), start, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // deleted meanwhile, or the folder has never been there
		case err != nil:
			return err
		case entry.IsDir():
			if name == tempFolder {
				return fs.SkipDir
			}
			return ctx.Err()
		}
		key, found := strings.CutSuffix(name, blobSuffix)
		if !found || checkKey(key) != nil {
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return visit(Entry{Key: key, Bytes: info.Size()})
	})
	if err != nil {
		return fmt.Errorf("list blobs: %w", err)
	}
	return nil
}
