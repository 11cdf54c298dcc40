package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/command"
)

func TestParsePrintsWhatIsReadAndSaysWhatIsNot(t *testing.T) {
	t.Parallel()
	s := &shell{t: t, flags: []string{"--config", settingsFile(t)}}
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	page := write("page.html", "<title>Page</title><main><h1 id=top>Page</h1><p>See <a href=https://x.example/a>a</a>.</p><table><tr><th>k<th>v<tr><td>1<td>2</table></main>")
	film := write("film.mp4", "\x00\x00\x00\x18ftypmp42")
	cut := write("cut.json", `{"a": `)

	if got := s.run("parse", page); got.code != 0 || got.out != "# Page\n\nSee [a](https://x.example/a).\n\n| k | v |\n| --- | --- |\n| 1 | 2 |\n" {
		t.Errorf("%+v", got)
	}
	var structure struct {
		Name, Title, Format string
		Blocks              []struct{ Kind, Anchor string }
		Links               []struct{ Text, URL string }
		Passages            []struct {
			Text       string
			Start, End int
		}
	}
	got := s.run("parse", "--json", "--passages", page)
	if err := json.Unmarshal([]byte(got.out), &structure); err != nil || got.code != 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	if structure.Format != "html" || structure.Title != "Page" || len(structure.Blocks) != 3 || structure.Blocks[0].Kind != "heading" ||
		structure.Blocks[0].Anchor != "top" || len(structure.Links) != 1 || structure.Links[0].URL != "https://x.example/a" ||
		len(structure.Passages) != 1 || structure.Passages[0].End == 0 {
		t.Errorf("%+v", structure)
	}
	if got := s.run("parse", film); got.code != 1 || got.out != "" || !strings.Contains(got.err, "format not supported: video/mp4") {
		t.Errorf("%+v", got)
	}
	if got := s.run("parse", cut, page, filepath.Join(folder, "none")); got.code != 1 || !strings.Contains(got.out, "# Page") ||
		!strings.Contains(got.err, "the file ends too early") || !strings.Contains(got.err, "no such file") || !strings.Contains(got.err, "2 of 3 files") {
		t.Errorf("%+v", got)
	}
	if got := s.runWith("# Read\n\nfrom a pipe\n", "parse", "--name", "x.md", "-"); got.code != 0 || got.out != "# Read\n\nfrom a pipe\n" {
		t.Errorf("%+v", got)
	}
	if got := s.run("parse", "--passages", page); got.code != 0 || !strings.Contains(got.out, "<!-- passage 0, bytes ") {
		t.Errorf("%+v", got)
	}
	if got := s.run("parse"); got.code != 2 {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsNoFileIsNeitherReadNorWaitedFor(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	settings := settingsFile(t)
	s := &shell{t: t, flags: []string{"--config", settings}}
	pipe, large := filepath.Join(folder, "pipe"), filepath.Join(folder, "large.txt")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 1<<40); err != nil {
		t.Fatal(err)
	}
	s.fails("/dev/zero: is a device", "parse", "/dev/zero")
	s.fails(folder+": is a folder", "parse", folder)
	s.fails(pipe+": is a pipe that nobody writes to", "parse", pipe)
	s.fails("large.txt: content has 1099511627776 bytes, the limit is 33554432", "parse", large)
	if got := s.run("parse", pipe, "/dev/zero", settings); got.code != 1 || !strings.Contains(got.err, "2 of 3 files") {
		t.Errorf("%+v", got)
	}
	(&shell{t: t, flags: []string{"--config", "/dev/zero"}}).fails("/dev/zero: is a device", "parse", settings)
	(&shell{t: t, flags: []string{"--config", pipe}}).fails("nobody writes to", "parse", settings)

	var out bytes.Buffer
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = zero.Close() }()
	if code := command.Run(t.Context(), []string{"--config", settings, "parse", "-"}, command.Streams{In: zero, Out: &out, Err: &out}); code != 1 ||
		!strings.Contains(out.String(), "content has more than 33554432 bytes") {
		t.Errorf("an input without an end: %d, %s", code, &out)
	}
}

func TestASilentPipeIsLeftWhenTheCommandIsInterrupted(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(pipe, os.O_RDWR, 0) // waits for nobody, unlike one that only writes
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	settings := settingsFile(t)
	for _, file := range []string{pipe, "-"} {
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		code := make(chan int)
		go func() {
			code <- command.Run(ctx, []string{"--config", settings, "parse", file}, command.Streams{In: interrupting{writer, cancel}, Out: &out, Err: &out})
		}()
		if file == pipe {
			cancel()
		}
		if got := <-code; got != 1 || !strings.Contains(out.String(), "interrupted") {
			t.Errorf("%s: %d, %s", file, got, &out)
		}
		cancel()
	}
	if _, err := writer.WriteString("x"); err != nil { // ends the reading that was left behind
		t.Fatal(err)
	}
}

// interrupting is an input at which the command is interrupted once it is read.
type interrupting struct {
	in        *os.File
	interrupt func()
}

func (i interrupting) Read(p []byte) (int, error) {
	i.interrupt()
	if _, err := i.in.Read(p); err != nil {
		return 0, err
	}
	return 0, io.EOF
}
