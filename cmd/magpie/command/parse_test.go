package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
