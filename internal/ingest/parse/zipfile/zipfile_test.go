package zipfile_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/zipfile"
)

func archive(t testing.TB, members map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range members {
		part, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(content []byte, limits document.Limits) (*zipfile.Archive, error) {
	return zipfile.Open(content, "zip archive", limits, document.NewBudget(limits))
}

func TestMembersAreFoundByAnySpellingOfTheirPath(t *testing.T) {
	t.Parallel()
	a, err := open(archive(t, map[string][]byte{`Word\Document.xml`: []byte("one"), "/b/c.txt": []byte("two")}), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"word/document.xml": "one", "/word/document.xml": "one", "b/c.txt": "two", "b/./c.txt": "two"} {
		if content, err := a.Read(name); string(content) != want || err != nil {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
	if _, err := a.Read("absent"); !errors.Is(err, fs.ErrNotExist) || a.Has("absent") || len(a.Files()) != 2 {
		t.Error(err)
	}
}

func TestABombEndsAtTheLimits(t *testing.T) {
	t.Parallel()
	bomb := archive(t, map[string][]byte{"a": make([]byte, 30<<20)})
	var limit *document.LimitError
	a, err := open(bomb, document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read("a"); !errors.As(err, &limit) {
		t.Errorf("ratio: %v", err)
	}
	a, err = open(bomb, document.Limits{MaxRatio: 1 << 20, MaxExpanded: 10 << 20})
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if n, err := io.Copy(io.Discard, r); !errors.As(err, &limit) || n > 11<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := open(archive(t, map[string][]byte{"a": nil, "b": nil}), document.Limits{MaxEntries: 1}); !errors.As(err, &limit) {
		t.Errorf("members: %v", err)
	}
}

func TestDamageIsToldApartFromEncryption(t *testing.T) {
	t.Parallel()
	whole := archive(t, map[string][]byte{"a.txt": bytes.Repeat([]byte("some text "), 100)})
	var damaged *document.DamagedError
	for _, content := range [][]byte{nil, []byte("PK\x03\x04"), whole[:len(whole)/2], whole[:len(whole)-5]} {
		if _, err := open(content, document.Limits{}); !errors.As(err, &damaged) {
			t.Errorf("%d bytes: %v", len(content), err)
		}
	}
	broken := bytes.Clone(whole)
	broken[40] ^= 0xFF
	a, err := open(broken, document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read("a.txt"); !errors.As(err, &damaged) {
		t.Errorf("a broken member: %v", err)
	}
	locked := bytes.Clone(whole)
	locked[bytes.LastIndex(locked, []byte("PK\x01\x02"))+8] |= 1
	var encrypted *document.EncryptedError
	if _, err := open(locked, document.Limits{}); !errors.As(err, &encrypted) {
		t.Errorf("encrypted: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(archive(f, map[string][]byte{"a/b.txt": []byte("text"), "[Content_Types].xml": []byte("<Types/>")}))
	f.Fuzz(func(t *testing.T, content []byte) {
		a, err := open(content, document.Limits{MaxExpanded: 4 << 20})
		if err != nil {
			return
		}
		for _, file := range a.Files() {
			if content, err := a.ReadFile(file); err == nil && len(content) > 5<<20 {
				t.Fatal("more than the budget")
			}
		}
	})
}
