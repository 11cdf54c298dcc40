package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// modules writes a proxy of modules with one module into the folder modules of another.
func modules(t *testing.T, above string) {
	t.Helper()
	folder := filepath.Join(above, "modules", "example.com", "used", "@v")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, file := range [][2]string{{"go.mod", "module example.com/used\n"}, {"used.go", "package used\n\n// Word is linked.\nfunc Word() string { return \"\" }\n"}} {
		entry, err := w.Create("example.com/used@v1.2.0/" + file[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write([]byte(file[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"list": "v1.2.0\n", "v1.2.0.info": `{"Version": "v1.2.0"}`, "v1.2.0.mod": "module example.com/used\n", "v1.2.0.zip": packed.String(),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sample is a program with the path and the variables of the real one, which
// builds in seconds. It uses a module that a proxy has, and one of a folder.
func sample(t *testing.T) string {
	t.Helper()
	above := t.TempDir()
	modules(t, above)
	folder := filepath.Join(above, "magpie")
	for name, content := range map[string]string{
		"go.mod": "module github.com/magpie-search/magpie\n\ngo 1.26\n\nrequire (\n\texample.com/local v1.0.0\n\texample.com/used v1.2.0\n)\n\n" +
			"replace example.com/local => ./local\n",
		"local/go.mod":   "module example.com/local\n",
		"local/local.go": "package local\n\n// Word is linked.\nfunc Word() string { return \"\" }\n",
		"LICENSE":        "a license\n",
		"README.md":      "# Magpie\n",
		"CHANGELOG.md":   "# Changelog\n",
		"internal/system/build.go": "package system\n\nvar version, commit, date string\n\n" +
			"// Text returns what the linker set.\nfunc Text() string { return version + \" \" + commit + \" \" + date }\n",
		"cmd/magpie/main.go": `package main

import (
	"fmt"
	"os"

	"example.com/local"
	"example.com/used"

	"github.com/magpie-search/magpie/internal/system"
)

func main() {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "completion":
		fmt.Println("complete for", os.Args[2])
	case len(os.Args) > 1 && os.Args[1] == "man":
		_ = os.Mkdir(os.Args[2], 0o755)
		_ = os.WriteFile(os.Args[2]+"/magpie.1", []byte("a page\n"), 0o644)
	default:
		fmt.Println(system.Text() + local.Word() + used.Word())
	}
}
`,
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, folder, "go", "mod", "tidy")
	run(t, folder, "git", "init", "-q")
	run(t, folder, "git", "add", ".")
	run(t, folder, "git", "-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-qm", "all")
	return folder
}

func run(t *testing.T, folder, name string, arguments ...string) string {
	t.Helper()
	c := exec.Command(name, arguments...)
	c.Dir = folder
	c.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-03-04T05:06:07+01:00", "GIT_COMMITTER_DATE=2026-03-04T05:06:07+01:00", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if proxy, err := filepath.Abs(filepath.Join(folder, "..", "modules")); err == nil && folder != "." {
		c.Env = append(c.Env, "GOPROXY=file://"+proxy, "GOSUMDB=off", "GOMODCACHE="+proxy+"-cache", "GOFLAGS=-modcacherw")
	}
	output, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", c, err, output)
	}
	return string(output)
}

// tool builds the program under test once for a test.
func tool(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "release")
	run(t, ".", "go", "build", "-o", path, ".")
	return path
}

// content returns the files of an archive.
func content(t *testing.T, path string) map[string]*bytes.Buffer {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	packed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	out, r := map[string]*bytes.Buffer{}, tar.NewReader(packed)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Uname != "" || !header.ModTime.Equal(time.Date(2026, 3, 4, 4, 6, 7, 0, time.UTC)) {
			t.Errorf("%s has owner %d %q and time %s, want 0, none and that of the commit", header.Name, header.Uid, header.Uname, header.ModTime)
		}
		out[header.Name] = &bytes.Buffer{}
		if _, err := io.Copy(out[header.Name], r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARelease(t *testing.T) {
	t.Parallel()
	release, one, two := tool(t), sample(t), sample(t)
	host := runtime.GOOS + "-" + runtime.GOARCH
	arguments := []string{"-version", "v1.2.3-rc.1", "-packages=false", "-targets", runtime.GOOS + "/" + runtime.GOARCH + ",darwin/arm64"}
	run(t, one, release, arguments...)
	run(t, two, release, arguments...)

	t.Run("gives the same bytes in another folder", func(t *testing.T) {
		first, second := run(t, filepath.Join(one, "dist"), "cat", "SHA256SUMS"), run(t, filepath.Join(two, "dist"), "cat", "SHA256SUMS")
		if first != second {
			t.Errorf("the sums differ:\n%s\n%s", first, second)
		}
	})
	t.Run("has an archive and a list of modules for each target, and sums of all", func(t *testing.T) {
		var names []string
		for _, line := range strings.Split(strings.TrimSpace(run(t, one, "cat", "dist/SHA256SUMS")), "\n") {
			sum, name, _ := strings.Cut(line, "  ")
			names = append(names, name)
			text, err := os.ReadFile(filepath.Join(one, "dist", name))
			if err != nil {
				t.Fatal(err)
			}
			if got := sha256.Sum256(text); hex.EncodeToString(got[:]) != sum {
				t.Errorf("the sum of %s is wrong", name)
			}
		}
		var want []string
		for _, target := range []string{host, "darwin-arm64"} {
			want = append(want, "magpie-1.2.3-rc.1-"+target+".cdx.json", "magpie-1.2.3-rc.1-"+target+".tar.gz")
		}
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(names, want) {
			t.Errorf("the sums are of %q, want %q", names, want)
		}
		files, err := os.ReadDir(filepath.Join(one, "dist"))
		if err != nil || len(files) != len(want)+1 {
			t.Errorf("the folder has %d files (%v), want %d", len(files), err, len(want)+1)
		}
	})
	t.Run("stamps version, commit and time of the commit", func(t *testing.T) {
		all := content(t, filepath.Join(one, "dist", "magpie-1.2.3-rc.1-"+host+".tar.gz"))
		program := filepath.Join(t.TempDir(), "magpie")
		if err := os.WriteFile(program, all["magpie-1.2.3-rc.1-"+host+"/magpie"].Bytes(), 0o700); err != nil {
			t.Fatal(err)
		}
		commit := strings.TrimSpace(run(t, one, "git", "rev-parse", "HEAD"))
		if got, want := run(t, one, program), "v1.2.3-rc.1 "+commit+" 2026-03-04T04:06:07Z\n"; got != want {
			t.Errorf("the program says %q, want %q", got, want)
		}
	})
	t.Run("lists the modules that were linked, with their sums and that of the program", func(t *testing.T) {
		list := bill(t, filepath.Join(one, "dist", "magpie-1.2.3-rc.1-"+host+".cdx.json"))
		program := content(t, filepath.Join(one, "dist", "magpie-1.2.3-rc.1-"+host+".tar.gz"))["magpie-1.2.3-rc.1-"+host+"/magpie"]
		sum := sha256.Sum256(program.Bytes())
		if main := list.Metadata.Component; main.Purl != "pkg:golang/github.com/magpie-search/magpie@v1.2.3-rc.1" || len(main.Hashes) != 1 || main.Hashes[0] != (hash{"SHA-256", hex.EncodeToString(sum[:])}) {
			t.Errorf("the program is %+v", main)
		}
		_, rest, _ := strings.Cut(run(t, one, "cat", "go.sum"), "example.com/used v1.2.0 ")
		recorded, _, _ := strings.Cut(rest, "\n")
		want := map[string][]property{
			"pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go"): nil,
			"pkg:golang/example.com/local@v1.0.0":                              {{"go:replace", "./local"}},
			"pkg:golang/example.com/used@v1.2.0":                               {{"go:sum", recorded}},
		}
		if !strings.HasPrefix(recorded, "h1:") || len(list.Components) != len(want) {
			t.Errorf("the sum of the module is %q, and there are %d components, want %d", recorded, len(list.Components), len(want))
		}
		for _, c := range list.Components {
			if properties, found := want[c.Purl]; !found || !slices.Equal(c.Properties, properties) {
				t.Errorf("a component is %+v", c)
			}
			if !slices.Contains(list.Dependencies[0].DependsOn, c.Ref) {
				t.Errorf("the program does not depend on %s", c.Ref)
			}
		}
	})
	t.Run("has no symbols and nothing for debuggers", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("reads a program in the format of Linux")
		}
		all := content(t, filepath.Join(one, "dist", "magpie-1.2.3-rc.1-"+host+".tar.gz"))
		program, err := elf.NewFile(bytes.NewReader(all["magpie-1.2.3-rc.1-"+host+"/magpie"].Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range program.Sections {
			if s.Type == elf.SHT_SYMTAB || strings.Contains(s.Name, "debug_") {
				t.Errorf("the program has the section %s", s.Name)
			}
		}
	})
	t.Run("has texts, completions and manual pages", func(t *testing.T) {
		prefix := "magpie-1.2.3-rc.1-" + host + "/"
		all := content(t, filepath.Join(one, "dist", "magpie-1.2.3-rc.1-"+host+".tar.gz"))
		if got := all[prefix+"completions/_magpie"]; got == nil || got.String() != "complete for zsh\n" {
			t.Errorf("the completion of zsh is %v", got)
		}
		if got := all[prefix+"LICENSE"]; got == nil || got.String() != "a license\n" {
			t.Errorf("the license is %v", got)
		}
		if got := all[prefix+"man/man1/magpie.1"]; got == nil || got.String() != "a page\n" {
			t.Errorf("the manual page is %v", got)
		}
	})
}

func TestAChangedTreeIsNamedInTheVersion(t *testing.T) {
	t.Parallel()
	release, folder := tool(t), sample(t)
	run(t, folder, "git", "tag", "v2.0.0")
	if err := os.WriteFile(filepath.Join(folder, "README.md"), []byte("# Another\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	host := runtime.GOOS + "/" + runtime.GOARCH
	if said := run(t, folder, release, "-packages=false", "-targets", host); !strings.Contains(said, "building v2.0.0+dirty for "+host) {
		t.Errorf("it says %s", said)
	}
	run(t, folder, "git", "checkout", "-q", "README.md")
	if said := run(t, folder, release, "-packages=false", "-targets", host); !strings.Contains(said, "building v2.0.0 for "+host) {
		t.Errorf("it says %s", said)
	}
	other := "linux/arm64"
	if host == other {
		other = "linux/amd64"
	}
	if said := run(t, folder, release, "-packages=false", "-targets", other); !strings.Contains(said, "no manual pages and completions: "+host) {
		t.Errorf("without a program of this machine it says %s", said)
	}
}

// bill reads a list of modules.
func bill(t *testing.T, path string) bom {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list bom
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	if list.Format != "CycloneDX" || list.SpecVersion != "1.6" || list.Metadata.Timestamp != "2026-03-04T04:06:07Z" {
		t.Errorf("the list begins %+v", list.Metadata)
	}
	return list
}

func TestPackageURLsAreEscaped(t *testing.T) {
	t.Parallel()
	if got, want := module("library", "example.com/A b/c", "v1.0.0+incompatible").Purl, "pkg:golang/example.com/A%20b/c@v1.0.0%2Bincompatible"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestVersionsAndTargets(t *testing.T) {
	t.Parallel()
	for version, fine := range map[string]bool{"v1.2.3": true, "v1.2.3-rc.1": true, "v0.0.0-20260304040607-0123456789ab+dirty": true, "1.2.3": false, "v1.2": false, "v1.2.3 -X a=b": false} {
		if err := checkVersion(version); (err == nil) != fine {
			t.Errorf("%q: %v", version, err)
		}
	}
	if _, err := parseTargets("linux"); err == nil {
		t.Error("a target without a machine is taken")
	}
	if all, err := parseTargets(everywhere); err != nil || len(all) != 4 {
		t.Errorf("there are %d targets: %v", len(all), err)
	}
}
