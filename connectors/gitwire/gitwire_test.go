package gitwire_test

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors/gitwire"
)

var wide = gitwire.Limits{Pack: 1 << 20, Inflated: 8 << 20, Files: 100}

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func tip(t testing.TB) gitwire.Tip {
	t.Helper()
	tip, err := gitwire.ReadTip(bytes.NewReader(recorded(t, "tip")))
	if err != nil {
		t.Fatal(err)
	}
	return tip
}

func TestRecordedResponsesAreParsed(t *testing.T) {
	t.Parallel()
	at := tip(t)
	if at.Commit != "d774e37b1e30e2a76c21735ad5b0f2b057523b4f" {
		t.Errorf("the tip is %s", at.Commit)
	}
	request, err := at.Request()
	if err != nil || !strings.Contains(string(request), "want "+at.Commit+" side-band-64k ofs-delta") || !strings.HasSuffix(string(request), "00000009done\n") {
		t.Errorf("the request is %q, %v", request, err)
	}
	files, err := at.ReadFiles(bytes.NewReader(recorded(t, "answer")), wide)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
		switch {
		case f.Path == "big.png":
			if f.Content != nil || f.Hash != "6526711ec7ee5992d691a3311479510aff666764" {
				t.Errorf("the file that the filter left out: %d bytes, %s", len(f.Content), f.Hash)
			}
		case f.Content == nil || gitwire.Hash("blob", f.Content) != f.Hash:
			t.Errorf("%s: the content is not that of its hash", f.Path)
		}
	}
	// A link is not a file; the pages are deltas.
	if want := []string{"Home.md", "Page-1.md", "Page-2.md", "Page-3.md", "Page-4.md", "big.png", "empty.md", "guide/Deep.md"}; !slices.Equal(paths, want) {
		t.Errorf("the files are %v, want %v", paths, want)
	}
	if string(files[0].Content) != "# Home, second\n" || !strings.HasPrefix(string(files[1].Content), "# Page 1\nA line of the handbook, number 1\n") {
		t.Errorf("contents %.60q and %.60q", files[0].Content, files[1].Content)
	}
}

func TestBranchesAreFound(t *testing.T) {
	t.Parallel()
	found := tip(t)
	branch, ok := found.Branch("master")
	if !ok || branch.Commit != found.Commit {
		t.Errorf("the branch is at %q, %v, want %q", branch.Commit, ok, found.Commit)
	}
	if request, err := branch.Request(); err != nil || !bytes.Contains(request, []byte("want "+found.Commit)) {
		t.Errorf("the request is %q, %v", request, err)
	}
	if other, ok := found.Branch("next"); ok || other.Commit != "" {
		t.Errorf("a branch that does not exist is at %q", other.Commit)
	}
}

func TestLimitsAreEnforced(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]gitwire.Limits{
		"pack":     {Pack: 1000, Inflated: 8 << 20, Files: 100},
		"inflated": {Pack: 1 << 20, Inflated: 14_000, Files: 100},
		"files":    {Pack: 1 << 20, Inflated: 8 << 20, Files: 7},
		"none":     {},
	} {
		if files, err := tip(t).ReadFiles(bytes.NewReader(recorded(t, "answer")), limits); !errors.Is(err, gitwire.ErrTooLarge) {
			t.Errorf("%s: %d files, %v", name, len(files), err)
		}
	}
}

func TestTruncatedAndChangedPacksAreRefused(t *testing.T) {
	t.Parallel()
	whole := recorded(t, "answer")
	for end := range len(whole) {
		if _, err := tip(t).ReadFiles(bytes.NewReader(whole[:end]), wide); err == nil {
			t.Fatalf("the first %d of %d bytes were taken for all", end, len(whole))
		}
	}
	start := bytes.Index(whole, []byte("PACK"))
	for at := start; at < len(whole)-4; at += 7 {
		broken := slices.Clone(whole)
		broken[at] ^= 0x55
		if _, err := tip(t).ReadFiles(bytes.NewReader(broken), wide); err == nil {
			t.Fatalf("byte %d was changed unnoticed", at)
		}
	}
	advertisement := recorded(t, "tip")
	for end := range len(advertisement) {
		if _, err := gitwire.ReadTip(bytes.NewReader(advertisement[:end])); err == nil {
			t.Fatalf("the first %d bytes of the advertisement were taken for all", end)
		}
	}
}

func TestEmptyRepositoryHasNoCommit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"001e# service=git-upload-pack\n00000000",
		"001e# service=git-upload-pack\n00000044" + strings.Repeat("0", 40) + " capabilities^{}\x00shallow0000",
	} {
		tip, err := gitwire.ReadTip(strings.NewReader(text))
		if err != nil || tip.Commit != "" {
			t.Errorf("%q: %q, %v", text, tip.Commit, err)
		}
		if _, err := tip.Request(); err == nil {
			t.Error("something was asked of nothing")
		}
	}
}

func TestServerErrorsAreReported(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"002bERR upload-pack: not our ref d774e37b1e30", "0008NAK\n0019\x03not our ref \x1b[31mred"} {
		_, err := tip(t).ReadFiles(strings.NewReader(text), wide)
		if err == nil || !strings.Contains(err.Error(), "git says: ") || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzResponse(f *testing.F) {
	f.Add(recorded(f, "answer"))
	f.Add([]byte("0008NAK\n000e\x01PACK\x00\x00\x00\x020000"))
	at := tip(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := at.ReadFiles(bytes.NewReader(data), gitwire.Limits{Pack: 1 << 16, Inflated: 1 << 18, Files: 20})
		if err == nil && len(files) > 20 {
			t.Errorf("%d files", len(files))
		}
	})
}

// FuzzPack sets a valid checksum, so that the parser behind it is reached.
func FuzzPack(f *testing.F) {
	whole := recorded(f, "answer")
	pack := whole[bytes.Index(whole, []byte("PACK")):]
	f.Add(pack[:len(pack)-4-sha1.Size])
	f.Fuzz(func(_ *testing.T, data []byte) {
		sum := sha1.Sum(data)
		_ = gitwire.ParsePack(append(slices.Clone(data), sum[:]...), 1<<18)
	})
}

func FuzzTip(f *testing.F) {
	f.Add(recorded(f, "tip"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tip, err := gitwire.ReadTip(bytes.NewReader(data))
		if err == nil && tip.Commit != "" && len(tip.Commit) != 40 {
			t.Errorf("the commit %q", tip.Commit)
		}
	})
}
