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
	"time"
)

const (
	// leafSuffix marks files, so that no key ever opens or deletes a folder; the
	// character is in no key.
	leafSuffix = "~"
	// unfinishedFolder holds what is being written, out of reach of any key.
	unfinishedFolder = "unfinished~"
	// abandonedAfter is when a file there belongs to a process long dead.
	abandonedAfter = 24 * time.Hour
)

// Dir is a Store in a folder. Several processes may use one folder. Nothing
// outside of it is ever touched, symbolic links included.
type Dir struct {
	root *os.Root
}

// NewDir opens a folder, making it when it is missing, and removes what
// processes that died while writing left behind more than a day ago.
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
	if err := d.root.Mkdir(unfinishedFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	entries, err := fs.ReadDir(d.root.FS(), unfinishedFolder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue
		}
		if err := d.root.Remove(path.Join(unfinishedFolder, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Close releases the folder. The Dir is of no use after it.
func (d *Dir) Close() error { return d.root.Close() }

// Put implements [Store]. The content is on disk when it returns.
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
	content, err := exactly(ctx, r, size)
	if err != nil {
		return err
	}
	unfinished := path.Join(unfinishedFolder, rand.Text())
	if err := d.write(unfinished, content); err != nil {
		return errors.Join(err, d.root.Remove(unfinished))
	}
	final := key + leafSuffix
	if err := d.makeFolders(path.Dir(final)); err != nil {
		return errors.Join(err, d.root.Remove(unfinished))
	}
	if err := d.root.Rename(unfinished, final); err != nil {
		return errors.Join(err, d.root.Remove(unfinished))
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

// makeFolders makes a folder and those above it, and has each new one recorded
// in its parent: a file is only safe when the way to it is.
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
	file, err := d.root.Open(key + leafSuffix)
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
	err := d.root.Remove(key + leafSuffix)
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
