package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// standIn is a program with the commands that a release asks the real one for.
const standIn = `package main

import "os"

func main() {
	if len(os.Args) == 3 && os.Args[1] == "man" {
		_ = os.Mkdir(os.Args[2], 0o755)
		_ = os.WriteFile(os.Args[2]+"/magpie.1", []byte("a page\n"), 0o644)
		_ = os.WriteFile(os.Args[2]+"/magpie-serve.1", []byte("a page\n"), 0o644)
		return
	}
	_, _ = os.Stdout.WriteString("a stand-in\n")
}
`

func TestAReleaseHasThePackageWithAllPages(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("a release has packages for Linux only")
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("needs dpkg-deb")
	}
	folder := t.TempDir()
	source, out := filepath.Join(folder, "main.go"), filepath.Join(folder, "dist")
	if err := os.WriteFile(source, []byte(standIn), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(name string, arguments ...string) string {
		c := exec.CommandContext(t.Context(), name, arguments...)
		c.Dir = root
		output, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", c, err, output)
		}
		return string(output)
	}
	run("go", "run", "./internal/tools/release", "-version", "v1.2.3-rc.1", "-targets", "linux/"+runtime.GOARCH, "-package", source, "-out", out)

	name := "magpie_1.2.3~rc.1_" + runtime.GOARCH + ".deb"
	if sums := read(t, out, "SHA256SUMS"); !strings.Contains(sums, "  "+name+"\n") {
		t.Errorf("the sums lack the package:\n%s", sums)
	}
	lines := strings.Split(run("dpkg-deb", "--contents", filepath.Join(out, name)), "\n")
	for _, path := range []string{
		"/usr/bin/magpie", "/usr/sbin/magpie-admin", "/usr/lib/systemd/system/magpie-backup.timer", "/usr/share/magpie/database.sql", "/usr/share/man/man1/magpie.1", "/usr/share/man/man1/magpie-serve.1",
		"/usr/share/bash-completion/completions/magpie", "/usr/share/zsh/vendor-completions/_magpie", "/usr/share/fish/vendor_completions.d/magpie.fish",
	} {
		if !slices.ContainsFunc(lines, func(line string) bool {
			return strings.HasSuffix(line, " ."+path) && strings.Contains(line, " root/root ")
		}) {
			t.Errorf("%s is missing, or is not root's:\n%s", path, strings.Join(lines, "\n"))
		}
	}
	program := filepath.Join(folder, "unpacked")
	run("dpkg-deb", "--extract", filepath.Join(out, name), program)
	if said := run(filepath.Join(program, "usr/bin/magpie")); said != "a stand-in\n" {
		t.Errorf("the program of the package says %q", said)
	}
}
