package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// program is a built program; without it a stand-in is packed, and what needs the real one is skipped.
var program = flag.String("program", "", "built program of Magpie")

const root = "../../.."

func TestVersionsSortAsReleases(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3~rc.1", "v0.0.0-20260304040607-0123456789ab+dirty": "0.0.0~20260304040607.0123456789ab+dirty"} {
		if got := debianVersion(version); got != want {
			t.Errorf("%s is %s, want %s", version, got, want)
		}
	}
}

// checkSize logs a size, and fails if it is above a bound that docs/install.md has.
func checkSize(t *testing.T, name string, size, bound int64) {
	t.Helper()
	t.Logf("%s has %.1f MiB", name, float64(size)/(1<<20))
	if size > bound {
		t.Errorf("%s has more than %d MiB", name, bound>>20)
	}
}

// pack makes a package and returns its path.
func pack(t *testing.T, out string) string {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "1772597167")
	o := order{root: root, program: *program, machine: runtime.GOARCH, version: "v1.2.3-rc.1", pages: t.TempDir()}
	if o.program == "" {
		o.program = filepath.Join(t.TempDir(), "magpie")
		if err := os.WriteFile(o.program, []byte("#!/bin/sh\necho stand-in\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"completions/_magpie", "man/man1/magpie.1"} {
		path := filepath.Join(o.pages, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.write(out); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(out, "magpie_1.2.3~rc.1_"+runtime.GOARCH+".deb")
}

func TestTheSameInputsGiveTheSameBytes(t *testing.T) {
	first, err := os.ReadFile(pack(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(pack(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("two packages differ")
	}
	if *program != "" {
		checkSize(t, "the Debian package", int64(len(first)), 100<<20)
	}
}

// installed is a root with the tables that dpkg needs.
func installed(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("needs dpkg")
	}
	if os.Getuid() != 0 {
		t.Skip("needs root: the package creates a user and gives files to it")
	}
	if _, err := exec.LookPath("systemd-sysusers"); err != nil {
		t.Skip("needs systemd-sysusers")
	}
	folder := t.TempDir()
	for name, content := range map[string]string{
		"var/lib/dpkg/status": "", "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n", "var/lib/dpkg/updates/.keep": "", "var/lib/dpkg/info/.keep": "",
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.Remove(filepath.Join(folder, "var/lib/dpkg/updates/.keep"))
	return folder
}

func dpkg(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	c := exec.Command("dpkg", append([]string{"--root=" + folder, "--force-script-chrootless", "--force-depends", "--log=/dev/null"}, arguments...)...)
	c.Env = append(os.Environ(), "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	output, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", c, err, output)
	}
	return string(output)
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var filled = map[string]*regexp.Regexp{
	"magpie.env": regexp.MustCompile(`(?s)\nDATABASE_URL=postgres://magpie_login:[0-9a-f]{48}@127\.0\.0\.1:5432/magpie\n` +
		`.*\nSESSION_KEY=[A-Za-z0-9+/]{43}=\n.*\nSECRET_KEYS=first:[A-Za-z0-9+/]{43}=\n`),
	"migrate.env": regexp.MustCompile(`\nMIGRATE_DATABASE_URL=postgres://magpie_owner:[0-9a-f]{48}@127\.0\.0\.1:5432/magpie\n`),
}

func TestThePackageIsInstalledUpgradedAndPurged(t *testing.T) {
	folder, file := installed(t), pack(t, t.TempDir())
	dpkg(t, folder, "--install", file)

	if !regexp.MustCompile(`(?m)^magpie:`).MatchString(read(t, folder, "etc/passwd")) {
		t.Error("there is no user magpie")
	}
	for _, name := range []string{"usr/bin/magpie", "usr/lib/systemd/system/magpie.service", "usr/share/magpie/create-database", "usr/share/zsh/vendor-completions/_magpie", "usr/share/man/man1/magpie.1", "usr/share/doc/magpie/examples/magpie.rules.yml", "usr/share/doc/magpie/examples/magpie.json"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	before := map[string]string{}
	for name, form := range filled {
		before[name] = read(t, folder, "etc/magpie", name)
		if !form.MatchString(before[name]) {
			t.Errorf("%s is not filled in:\n%s", name, before[name])
		}
		info, err := os.Stat(filepath.Join(folder, "etc/magpie", name))
		if err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s has the mode %v, want 0640 (%v)", name, info.Mode(), err)
		}
	}
	if *program != "" {
		c := exec.Command(filepath.Join(folder, "usr/bin/magpie"), "--config", filepath.Join(folder, "etc/magpie/magpie.env"), "version")
		c.Env = []string{}
		if output, err := c.CombinedOutput(); err != nil || !strings.HasPrefix(string(output), "magpie ") {
			t.Errorf("the program with its settings: %v, %s", err, output)
		}
	} else {
		t.Log("without -program, the program is not run")
	}

	// An administrator empties one setting and deletes the login of the owner.
	if err := os.WriteFile(filepath.Join(folder, "etc/magpie/magpie.env"), []byte("\nSESSION_KEY=\nSIGN_UP=off\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, "etc/magpie/migrate.env")); err != nil {
		t.Fatal(err)
	}
	dpkg(t, folder, "--install", file)
	if after := read(t, folder, "etc/magpie/magpie.env"); !regexp.MustCompile(`^\nSESSION_KEY=[A-Za-z0-9+/]{43}=\nSIGN_UP=off\n$`).MatchString(after) {
		t.Errorf("after another installation the settings are:\n%s", after)
	}
	if _, err := os.Stat(filepath.Join(folder, "etc/magpie/migrate.env")); err == nil {
		t.Error("a deleted migrate.env came back")
	}

	dpkg(t, folder, "--remove", "magpie")
	if _, err := os.Stat(filepath.Join(folder, "etc/magpie/magpie.env")); err != nil {
		t.Errorf("a removal deletes the settings: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "var/lib/magpie/upload"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := dpkg(t, folder, "--purge", "magpie"); !strings.Contains(said, "uploaded files are left") {
		t.Errorf("a purge says %s", said)
	}
	if _, err := os.Stat(filepath.Join(folder, "etc/magpie")); err == nil {
		t.Error("a purge leaves the settings")
	}
	if _, err := os.Stat(filepath.Join(folder, "var/lib/magpie/upload")); err != nil {
		t.Errorf("a purge deletes uploaded files: %v", err)
	}
}
