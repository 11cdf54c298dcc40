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

// Mark returns the file beside a folder that says that Unpack made the folder.
func Mark(folder string) string { return filepath.Clean(folder) + ".unpacked" }

// Unpack makes a folder equal to the documents, and writes only what differs. It removes other
// files only from a folder that it made: one that was missing, or had nothing but demo documents.
// The content of any other folder stays as it is, and is an error.
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
	if err := claim(folder, root, docs); err != nil {
		return err
	}
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

// claim marks a folder as one that Unpack made, unless it has files of somebody else.
func claim(folder string, root *os.Root, docs fs.FS) error {
	if _, err := os.Lstat(Mark(folder)); err == nil {
		return nil
	}
	err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		wanted, err := fs.ReadFile(docs, name)
		if err == nil {
			var content []byte
			if content, err = root.ReadFile(name); err == nil && bytes.Equal(content, wanted) {
				return nil
			}
		}
		return fmt.Errorf("%s has the file %s, which is no demo document: move the folder away, or choose another place", folder, name)
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(Mark(folder), []byte("Magpie made the folder of this name and may delete what is in it.\n"), 0o600); err != nil {
		return fmt.Errorf("mark the folder of the demo documents: %w", err)
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
