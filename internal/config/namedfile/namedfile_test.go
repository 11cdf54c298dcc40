package namedfile_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/magpie-search/magpie/internal/config/namedfile"
)

func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// writer opens the other end of a pipe without waiting.
func writer(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func TestARegularFileIsReadUpToItsBound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := namedfile.Read(t.Context(), path, 10); err != nil || string(got) != "0123456789" {
		t.Errorf("%q, %v", got, err)
	}
	var tooLarge *namedfile.SizeError
	if _, err := namedfile.Read(t.Context(), path, 9); !errors.As(err, &tooLarge) || tooLarge.Size != 10 || tooLarge.Limit != 9 {
		t.Errorf("over its bound: %v", err)
	}
	if err := os.Truncate(path, 1<<40); err != nil { // sparse
		t.Fatal(err)
	}
	if _, err := namedfile.Read(t.Context(), path, 9); !errors.As(err, &tooLarge) || tooLarge.Size != 1<<40 {
		t.Errorf("a terabyte: %v", err)
	}
	if _, err := namedfile.Read(t.Context(), path+".none", 9); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("a missing one: %v", err)
	}
}

func TestOnlyFilesAndPipesAreRead(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "s") // the name of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	socket := filepath.Join(folder, "s")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	link := filepath.Join(folder, "link")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		"/dev/zero": namedfile.ErrDevice, "/dev/null": namedfile.ErrDevice, link: namedfile.ErrDevice, folder: namedfile.ErrFolder, socket: namedfile.ErrSocket,
	} {
		_, err := namedfile.Read(t.Context(), path, 1<<20)
		var named *fs.PathError
		if !errors.Is(err, want) || !errors.As(err, &named) || named.Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAPipeIsReadWithoutWaiting(t *testing.T) {
	t.Parallel()
	path := pipe(t)
	if _, err := namedfile.Read(t.Context(), path, 10); !errors.Is(err, namedfile.ErrNoWriter) {
		t.Errorf("without a writer: %v", err)
	}
	w := writer(t, path)
	if _, err := w.WriteString("twelve bytes"); err != nil {
		t.Fatal(err)
	}
	var tooLarge *namedfile.SizeError
	if _, err := namedfile.Read(t.Context(), path, 10); !errors.As(err, &tooLarge) || tooLarge.Size != 0 || tooLarge.Limit != 10 {
		t.Errorf("too much: %v", err)
	}
}

func TestTheContextEndsTheReadOfASilentPipe(t *testing.T) {
	t.Parallel()
	path := pipe(t)
	if _, err := writer(t, path).WriteString("begun"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := namedfile.Read(ctx, path, 10)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// endless is an endless input.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestAnInputIsBoundedAndEndsWithTheContext(t *testing.T) {
	t.Parallel()
	var tooLarge *namedfile.SizeError
	if _, err := namedfile.ReadFrom(t.Context(), endless{}, 1<<20); !errors.As(err, &tooLarge) {
		t.Errorf("without an end: %v", err)
	}
	if got, err := namedfile.ReadFrom(t.Context(), strings.NewReader("text"), 4); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	silent, other := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := namedfile.ReadFrom(ctx, silent, 4)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a silent one: %v", err)
	}
	_ = other.Close() // ends the abandoned read
}
