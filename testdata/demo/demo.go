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
)

//go:embed docs
var files embed.FS

// Unpack makes a folder equal to the documents, and writes only what differs.
func Unpack(folder string) error {
	docs, err := fs.Sub(files, "docs")
	if err != nil {
		return fmt.Errorf("read the demo documents: %w", err)
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("create the folder of the demo documents: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("open the folder of the demo documents: %w", err)
	}
	defer func() { _ = root.Close() }() // it is only a way to the files
	if err := removeOthers(root, docs); err != nil {
		return fmt.Errorf("remove what is no demo document: %w", err)
	}
	err = fs.WalkDir(docs, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return root.MkdirAll(name, 0o750)
		}
		content, err := fs.ReadFile(docs, name)
		if err != nil {
			return err
		}
		if old, err := root.ReadFile(name); err == nil && bytes.Equal(old, content) {
			return nil
		}
		return root.WriteFile(name, content, 0o600)
	})
	if err != nil {
		return fmt.Errorf("write the demo documents: %w", err)
	}
	return nil
}

// removeOthers removes the files of a folder that are no documents, such as those of another version of the program.
func removeOthers(root *os.Root, docs fs.FS) error {
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if _, err := fs.Stat(docs, name); errors.Is(err, fs.ErrNotExist) {
			return root.Remove(name)
		}
		return nil
	})
}
