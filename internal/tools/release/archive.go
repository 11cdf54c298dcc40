package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An entry is a file of an archive.
type entry struct {
	name    string // with slashes
	content []byte
	mode    int64
}

// texts are the files of the repository that are in every archive.
var texts = []string{"LICENSE", "README.md", "CHANGELOG.md"}

// pack writes what a release has for one target.
func (r *release) pack(ctx context.Context, t target, program string) error {
	name := "magpie-" + strings.TrimPrefix(r.version, "v") + "-" + t.system + "-" + t.machine
	content, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	entries := append([]entry{{name: "magpie", content: content, mode: 0o755}}, r.pages...)
	for _, text := range texts {
		content, err := os.ReadFile(text)
		if err != nil {
			return fmt.Errorf("read what goes into the archive: %w", err)
		}
		entries = append(entries, entry{name: text, content: content, mode: 0o644})
	}
	archive, err := archiveOf(name, entries, r.commit.time)
	if err != nil {
		return err
	}
	if err := r.write(name+".tar.gz", archive); err != nil {
		return err
	}
	list, err := billOfMaterials(program, r.version, r.commit.time)
	if err != nil {
		return err
	}
	if err := r.write(name+".cdx.json", list); err != nil {
		return err
	}
	if t.system != "linux" || !r.packages {
		return nil
	}
	return r.debian(ctx, t, program)
}

func (r *release) write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(r.out, name), content, 0o644); err != nil {
		return fmt.Errorf("write the release: %w", err)
	}
	return nil
}

// archiveOf returns a gzipped tar archive with one folder. Order, times and owners
// do not depend on the machine.
func archiveOf(folder string, entries []entry, at time.Time) ([]byte, error) {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(packed)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(folder, e.name), Size: int64(len(e.content)), Mode: e.mode, ModTime: at, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("write the archive: %w", err)
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, fmt.Errorf("write the archive: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write the archive: %w", err)
	}
	if err := packed.Close(); err != nil {
		return nil, fmt.Errorf("write the archive: %w", err)
	}
	return out.Bytes(), nil
}

// debian writes the Debian package of a target. Its program has a module of its
// own, so that its dependencies stay out of the project's.
func (r *release) debian(ctx context.Context, t target, program string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	absolute := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(root, name)
	}
	further, err := os.MkdirTemp("", "magpie-pages-")
	if err != nil {
		return fmt.Errorf("make a folder for the manual pages: %w", err)
	}
	defer func() { _ = os.RemoveAll(further) }() // best effort
	for _, page := range r.pages {
		to := filepath.Join(further, filepath.FromSlash(page.name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return fmt.Errorf("write a manual page: %w", err)
		}
		if err := os.WriteFile(to, page.content, 0o644); err != nil {
			return fmt.Errorf("write a manual page: %w", err)
		}
	}
	pack := exec.CommandContext(ctx, "go", "run", ".", "-root", root, "-program", absolute(program), "-machine", t.machine,
		"-version", r.version, "-pages", further, "-out", absolute(r.out))
	pack.Dir = filepath.Join(root, "internal", "tools", "debian")
	pack.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.commit.time.Unix(), 10))
	pack.Stdout, pack.Stderr = os.Stdout, os.Stderr
	if err := pack.Run(); err != nil {
		return fmt.Errorf("make the Debian package: %w", err)
	}
	return nil
}

// writeSums writes SHA256SUMS over the files of a folder, as sha256sum -c reads it.
func writeSums(folder string) error {
	files, err := os.ReadDir(folder) // sorted by name
	if err != nil {
		return fmt.Errorf("list the release: %w", err)
	}
	var out strings.Builder
	for _, f := range files {
		sum, err := sumOf(filepath.Join(folder, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s  %s\n", sum, f.Name())
	}
	if err := os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(out.String()), 0o644); err != nil {
		return fmt.Errorf("write the sums: %w", err)
	}
	return nil
}

func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read what is summed: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read what is summed: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
