package main

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// copied is a COPY of the last stage of the recipe.
var copied = regexp.MustCompile(`(?m)^COPY --from=(\w+)( --chown=65532:65532)? (\S+) (\S+)$`)

// assemble makes the file system of the last stage: what comes from the system
// is this machine's.
func assemble(t *testing.T) (image string, size int64) {
	t.Helper()
	recipe, err := os.ReadFile(filepath.Join(root, "deploy", "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	last := string(recipe[strings.LastIndex(string(recipe), "\nFROM "):])
	lines := copied.FindAllStringSubmatch(last, -1)
	if n := strings.Count(last, "\nCOPY "); n != len(lines) || n == 0 {
		t.Fatalf("%d of %d lines with COPY are understood", len(lines), n)
	}
	image = t.TempDir()
	for _, line := range lines {
		from, to := line[3], filepath.Join(image, line[4])
		switch from {
		case "/out/magpie":
			from = *program
		case "/out/empty":
			from = t.TempDir()
		}
		add(t, from, to, line[2] != "", &size)
	}
	return image, size
}

// add copies a file or folder and counts its bytes.
func add(t *testing.T, from, to string, owned bool, size *int64) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rest)
		switch {
		case entry.IsDir():
			if err := os.MkdirAll(target, 0o755); err != nil || !owned {
				return err
			}
			return os.Chown(target, 65532, 65532)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil || filepath.IsAbs(link) {
				return err // such as localtime, which is the machine's
			}
			return os.Symlink(link, target)
		}
		return copyFile(path, target, size)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(from, to string, size *int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	n, err := io.Copy(out, in)
	*size += n
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}

func TestTheImageRunsWithoutASystem(t *testing.T) {
	t.Parallel()
	if *program == "" {
		t.Skip("needs -program, as make release builds it")
	}
	if os.Getuid() != 0 {
		t.Skip("needs root: it changes into the image")
	}
	image, size := assemble(t)
	checkSize(t, "the file system of the image", size, 256<<20)
	do := func(arguments ...string) (string, error) {
		c := exec.CommandContext(t.Context(), "/usr/bin/magpie", arguments...)
		c.Dir = "/var/lib/magpie"
		c.Env = []string{"HOME=/var/lib/magpie", "LISTEN_ADDR=0.0.0.0:1", "BLOB_URL=file:///var/lib/magpie/blobs", "CACHE_DIR=/var/lib/magpie/cache"}
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: image, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		output, err := c.CombinedOutput()
		return string(output), err
	}
	if output, err := do("version"); err != nil || !strings.HasPrefix(output, "magpie ") {
		t.Errorf("version: %v, %s", err, output)
	}
	// A whole command that needs temporary files and time zones, without a server.
	text := filepath.Join(image, "tmp", "page.md")
	if err := os.WriteFile(text, []byte("# Title\n\nA text.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if output, err := do("parse", "/tmp/page.md"); err != nil || !strings.Contains(output, "A text.") {
		t.Errorf("parse: %v, %s", err, output)
	}
	// The health check fails while nothing listens, and says so.
	if output, err := do("health"); err == nil || !strings.Contains(output, "127.0.0.1:1") {
		t.Errorf("health: %v, %s", err, output)
	}
}
