package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/archive"
)

type file struct{ name, content string }

func zipped(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		part, err := w.Create(f.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(f.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarred(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.content)), Typeflag: tar.TypeReg}
		if target, isLink := strings.CutPrefix(f.content, "-> "); isLink {
			header.Typeflag, header.Linkname, header.Size, f.content = tar.TypeSymlink, target, 0, ""
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func source(name string, content []byte, limits document.Limits) document.Source {
	limits = limits.WithDefaults()
	return document.Source{
		Name: name, Content: content, Limits: limits, Budget: document.NewBudget(limits),
		Nested: func(_ context.Context, name, _ string, content []byte) (*document.Draft, error) {
			switch {
			case strings.HasSuffix(name, ".bin"):
				return nil, &document.UnsupportedError{Reason: "binary content"}
			case strings.HasSuffix(name, ".bad"):
				return nil, &document.DamagedError{Format: "PDF", Detail: "it is cut off"}
			}
			return &document.Draft{Blocks: []document.Block{
				{Kind: document.Heading, Level: 1, Text: "Top"}, {Kind: document.Paragraph, Text: string(content)},
			}}, nil
		},
	}
}

func walk(in document.Source) (members []string, err error) {
	err = archive.Walk(context.Background(), in, func(m archive.Entry) error {
		text := m.Path + "=" + string(m.Content)
		if m.Err != nil {
			text = m.Path + "!" + fmt.Sprintf("%T", m.Err)
		}
		members = append(members, text)
		return nil
	})
	return members, err
}

func TestMembersOfEveryKindOfArchive(t *testing.T) {
	t.Parallel()
	files := []file{
		{"docs/a.md", "one"}, {"./docs//b.md", "two"}, {"../../etc/c.md", "three"}, {"docs/a.md", "again"}, {"__MACOSX/docs/._a.md", "x"},
		{"docs/.DS_Store", "x"}, {`win\d.md`, "four"}, {"link.md", "-> /etc/passwd"}, {"caf\x82.md", "five"},
	}
	want := []string{"docs/a.md=one", "docs/b.md=two", "etc/c.md=three", "win/d.md=four", "café.md=five"}
	tape := tarred(t, files...)
	for name, content := range map[string][]byte{"a.tar": tape, "a.tgz": gzipped(t, tape), "a.zip": zipped(t, slices.DeleteFunc(slices.Clone(files), func(f file) bool { return f.name == "link.md" })...)} {
		if got, err := walk(source(name, content, document.Limits{})); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := walk(source("notes.md.gz", gzipped(t, []byte("text")), document.Limits{})); err != nil || !slices.Equal(got, []string{"notes.md=text"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCompressedArchivesAreToldFromCompressedFiles(t *testing.T) {
	t.Parallel()
	tape := tarred(t, file{"a.md", "one"})
	for name, c := range map[string]struct {
		content []byte
		want    bool
	}{"tar": {gzipped(t, tape), true}, "file": {gzipped(t, bytes.Repeat([]byte("text "), 200)), false}, "short": {gzipped(t, []byte("x")), false}, "cut": {[]byte("\x1F\x8B"), false}, "other": {[]byte("BZh"), false}} {
		if got := archive.ContainsTar(c.content); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestDamageAndLimits(t *testing.T) {
	t.Parallel()
	long := file{"long.md", strings.Repeat("0123456789abcdef", 1000)}
	tape := tarred(t, file{"a.md", "one"}, long)
	packed := gzipped(t, tape)
	bomb := gzipped(t, make([]byte, 20<<20))
	for name, c := range map[string]struct {
		content []byte
		limits  document.Limits
		want    string
	}{
		"cut tar":           {tape[:1600], document.Limits{}, "*document.DamagedError"},
		"cut gzip":          {packed[:len(packed)-20], document.Limits{}, "*document.DamagedError"},
		"cut zip":           {zipped(t, long)[:60], document.Limits{}, "*document.DamagedError"},
		"nothing":           {nil, document.Limits{}, "*document.DamagedError"},
		"empty tar":         {make([]byte, 1024), document.Limits{}, "*document.DamagedError"},
		"gzip bomb":         {bomb, document.Limits{}, "*document.LimitError"},
		"too much":          {gzipped(t, []byte(long.content)), document.Limits{MaxExpanded: 1000}, "*document.LimitError"},
		"too many members":  {tape, document.Limits{MaxEntries: 1}, "*document.LimitError"},
		"one large file gz": {gzipped(t, []byte(long.content)), document.Limits{MaxBytes: 1000}, "*document.LimitError"},
	} {
		if _, err := walk(source("a", c.content, c.limits)); fmt.Sprintf("%T", err) != c.want {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
	for name, content := range map[string][]byte{"tar": tape, "zip": zipped(t, file{"a.md", "one"}, long)} {
		got, err := walk(source("a", content, document.Limits{MaxBytes: 1000}))
		if err != nil || !slices.Equal(got, []string{"a.md=one", "long.md!*document.LimitError"}) {
			t.Errorf("%s: %.100q, %v", name, got, err)
		}
	}
	broken := zipped(t, long, file{"b.md", "two"})
	broken[60] ^= 0xFF
	if got, err := walk(source("a", broken, document.Limits{})); err != nil || !slices.Equal(got, []string{"long.md!*document.DamagedError", "b.md=two"}) {
		t.Errorf("%.100q, %v", got, err)
	}
}

func TestAnArchiveAsOneDocument(t *testing.T) {
	t.Parallel()
	read := func(content []byte) (*document.Draft, error) {
		return archive.Read(t.Context(), source("a", content, document.Limits{}))
	}
	found, err := read(zipped(t, file{"docs/a.md", "one"}, file{"b.bin", "x"}, file{"c.bad", "x"}, file{"d.md", "two"}))
	if err != nil {
		t.Fatal(err)
	}
	doc := document.Document{Blocks: found.Blocks}
	if got, want := doc.Markdown(), "# docs/a.md\n\n## Top\n\none\n\n# d.md\n\n## Top\n\ntwo"; got != want {
		t.Errorf("%q", got)
	}
	if skipped, _ := found.Extra["members_skipped"].([]string); len(skipped) != 2 || !strings.HasPrefix(skipped[1], "c.bad: PDF is damaged") {
		t.Errorf("%v", found.Extra)
	}
	if found, err := read(gzipped(t, []byte("text"))); err != nil || len(found.Blocks) != 2 || found.Blocks[0].Text != "Top" {
		t.Errorf("%+v, %v", found, err)
	}
	var unsupported *document.UnsupportedError
	for _, content := range [][]byte{zipped(t), zipped(t, file{"b.bin", "x"}), tarred(t, file{"x", "-> y"})} {
		if _, err := read(content); !errors.As(err, &unsupported) {
			t.Error(err)
		}
	}
	var damage *document.DamagedError
	if _, err := read(zipped(t, file{"b.bin", "x"}, file{"c.bad", "x"})); !errors.As(err, &damage) || !strings.HasPrefix(err.Error(), "c.bad: ") {
		t.Error(err)
	}
}

func FuzzWalk(f *testing.F) {
	tape := tarred(f, file{"a.md", "one"}, file{"b/c.md", "two"})
	for _, seed := range [][]byte{tape, gzipped(f, tape), zipped(f, file{"a.md", "one"}), []byte("BZh91AY&SY")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		total := 0
		in := source("a", content, document.Limits{MaxExpanded: 1 << 20, MaxEntries: 100})
		_ = archive.Walk(t.Context(), in, func(m archive.Entry) error {
			if strings.HasPrefix(m.Path, "/") || strings.Contains("/"+m.Path+"/", "/../") || m.Path == "" {
				t.Fatalf("a path that leaves the archive: %q", m.Path)
			}
			total += len(m.Content)
			return nil
		})
		if total > 2<<20 {
			t.Fatalf("%d bytes came out", total)
		}
	})
}
