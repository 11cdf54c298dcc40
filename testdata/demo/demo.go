// Package demo contains the documents of the demonstration, so that a program needs no checkout to show it. It imports
// nothing of Magpie.
package demo

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed docs
var files embed.FS

// Unpack makes a folder equal to the documents, and writes only what differs.
func Unpack(folder string) error {
	docs, err := fs.Sub(files, "docs")
	if err != nil {
		return fmt.Errorf("read the demo documents: %w", err)
	}
	if err := removeOthers(folder, docs); err != nil {
		return fmt.Errorf("remove what is no demo document: %w", err)
	}
	err = fs.WalkDir(docs, ".", func(name string, entry fs.DirEntry, err error) error {
		target := filepath.Join(folder, filepath.FromSlash(name))
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := fs.ReadFile(docs, name)
		if err != nil {
			return err
		}
		if old, err := os.ReadFile(target); err == nil && bytes.Equal(old, content) {
			return nil
		}
		return os.WriteFile(target, content, 0o644)
	})
	if err != nil {
		return fmt.Errorf("write the demo documents: %w", err)
	}
	return nil
}

// removeOthers removes the files of a folder that are no documents, such as those of another version of the program.
func removeOthers(folder string, docs fs.FS) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if _, err := fs.Stat(docs, filepath.ToSlash(name)); errors.Is(err, fs.ErrNotExist) {
			return os.Remove(path)
		}
		return nil
	})
}
