package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nobody runs PostgreSQL, which refuses root.
const nobody = 65534

// freePort returns a port of this machine that was free.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// started starts a command that ends with the test, by SIGTERM.
func started(t *testing.T, c *exec.Cmd) {
	t.Helper()
	output := &bytes.Buffer{} // read once the command has ended
	c.Stdout, c.Stderr = output, output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // it may have ended
		if err := c.Wait(); err != nil || t.Failed() {
			t.Logf("%s: %v\n%s", c, err, output)
		}
	})
}

// cluster starts a PostgreSQL of its own, whose superuser needs no password at its socket, and everybody one at its port.
func cluster(t *testing.T) (sockets, port string) {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		t.Fatal("PostgreSQL is missing; run scripts/setup.sh --tests")
	}
	programs := found[len(found)-1]
	folder, err := os.MkdirTemp("", "magpie-cluster-") // nobody cannot reach t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chown(folder, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	command := func(name string, arguments ...string) *exec.Cmd {
		c := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(programs, name), arguments...)
		c.Dir, c.Env = folder, []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return c
	}
	data, port := filepath.Join(folder, "data"), freePort(t)
	if output, err := command("initdb", "-D", data, "-U", "postgres", "-E", "UTF8", "--no-sync", "--auth-local=trust", "--auth-host=scram-sha-256").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, output)
	}
	if output, err := command("pg_ctl", "-D", data, "-w", "-l", filepath.Join(folder, "log"), "-o", "-F -k "+folder+" -h 127.0.0.1 -p "+port, "start").CombinedOutput(); err != nil {
		t.Fatalf("pg_ctl: %v\n%s", err, output)
	}
	t.Cleanup(func() {
		if output, err := command("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop").CombinedOutput(); err != nil {
			t.Errorf("pg_ctl: %v\n%s", err, output)
		}
	})
	return folder, port
}

// As docs/install.md says, on a machine whose root is a folder: the package, the database, the first person, the server.
func TestAnInstallationServes(t *testing.T) {
	if *program == "" {
		t.Skip("needs -program, as make release builds it")
	}
	folder, file := installed(t), pack(t, t.TempDir())
	dpkg(t, folder, "--install", file)
	sockets, port := cluster(t)
	redis, listen := freePort(t), "127.0.0.1:"+freePort(t)
	started(t, exec.Command("redis-server", "--port", redis, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir()))

	// Addresses and paths are of this test, and runuser runs the command as root.
	for name, replacer := range map[string]*strings.Replacer{
		"etc/magpie/magpie.env": strings.NewReplacer("127.0.0.1:5432", "127.0.0.1:"+port, "127.0.0.1:6379", "127.0.0.1:"+redis, "127.0.0.1:8080", listen,
			"/var/", folder+"/var/"),
		"etc/magpie/migrate.env":           strings.NewReplacer("127.0.0.1:5432", "127.0.0.1:"+port),
		"usr/sbin/magpie-admin":            strings.NewReplacer("/etc/", folder+"/etc/", "/usr/", folder+"/usr/", "/var/", folder+"/var/"),
		"usr/share/magpie/create-database": strings.NewReplacer("/etc/", folder+"/etc/", "/usr/", folder+"/usr/"),
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(replacer.Replace(read(t, path))), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	stands := t.TempDir()
	if err := os.WriteFile(filepath.Join(stands, "runuser"), []byte("#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	command := func(path string, arguments ...string) *exec.Cmd {
		c := exec.Command("sh", append([]string{filepath.Join(folder, path)}, arguments...)...)
		c.Env = []string{"PATH=" + stands + ":/usr/bin:/bin", "PGHOST=" + sockets, "PGPORT=" + port, "PGUSER=postgres", "HOME=" + stands}
		return c
	}
	for range 2 { // it can run again
		if output, err := command("usr/share/magpie/create-database").CombinedOutput(); err != nil || !strings.HasSuffix(string(output), "The database is ready.\n") {
			t.Fatalf("create-database: %v\n%s", err, output)
		}
	}
	output, err := command("usr/sbin/magpie-admin", "users", "create", "you@example.com", "--new-workspace", "Our company").CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?i)password`).Match(output) {
		t.Fatalf("users create: %v\n%s", err, output)
	}

	started(t, command("usr/sbin/magpie-admin", "serve"))
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(time.Minute)
	for said := ""; ; {
		if response, err := http.Get("http://" + listen + "/readyz"); err == nil {
			body, _ := io.ReadAll(response.Body) // for the message
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				break
			}
			said = string(body)
		} else {
			said = err.Error()
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("the server is not ready: %s", said)
		}
	}
	if output, err := command("usr/sbin/magpie-admin", "health").CombinedOutput(); err != nil {
		t.Errorf("health: %v\n%s", err, output)
	}
}
