package devstack

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// mariaTimeout bounds the start of a server on a busy machine.
const mariaTimeout = 90 * time.Second

// MariaDB is a MariaDB server for tests. It ends with this process at the latest, and its data is deleted.
type MariaDB struct {
	// Host and Port are its TCP address on the loopback interface.
	Host string
	Port int
	// User has all privileges.
	User, Password string

	child  *child
	folder string
}

// StartMariaDB starts a MariaDB server and returns when it answers.
func StartMariaDB(ctx context.Context) (*MariaDB, error) {
	program, err := findMariaDB("mariadbd")
	if err != nil {
		return nil, err
	}
	installer, err := findMariaDB("mariadb-install-db")
	if err != nil {
		return nil, err
	}
	account, err := serverAccount()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("/tmp", "magpie-mariadb-") // the path of a socket must be short
	if err != nil {
		return nil, fmt.Errorf("create folder of MariaDB: %w", err)
	}
	m := &MariaDB{Host: "127.0.0.1", User: "magpie_admin", folder: folder}
	if err := m.start(ctx, account, program, installer); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, m.Stop(cleanup))
	}
	return m, nil
}

// MariaDBInstalled returns an error that names a program of MariaDB that is missing.
func MariaDBInstalled() error {
	for _, name := range []string{"mariadbd", "mariadb-install-db", "mariadb"} {
		if _, err := findMariaDB(name); err != nil {
			return err
		}
	}
	return nil
}

// Run runs statements as the administrator until one fails. The error has the server's message.
func (m *MariaDB) Run(ctx context.Context, statements string) error {
	program, err := findMariaDB("mariadb")
	if err != nil {
		return err
	}
	run := exec.CommandContext(ctx, program, "--no-defaults", "--batch", "--default-character-set=utf8mb4", //nolint:gosec // a program of MariaDB
		"--protocol=tcp", "--host="+m.Host, "--port="+strconv.Itoa(m.Port), "--user="+m.User)
	run.Env = append(os.Environ(), "MYSQL_PWD="+m.Password) // not an argument, which everybody can read
	run.Stdin = strings.NewReader(statements)
	if output, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("run statements on MariaDB: %w: %.300s", err, output)
	}
	return nil
}

func findMariaDB(name string) (string, error) {
	for _, folder := range []string{"", "/usr/sbin/", "/usr/bin/", "/opt/homebrew/bin/", "/usr/local/bin/"} {
		if path, err := exec.LookPath(folder + name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("MariaDB is not installed (%s was not found); run scripts/setup.sh --tests", name)
}

func (m *MariaDB) start(ctx context.Context, account account, program, installer string) error {
	data, scratch, file := filepath.Join(m.folder, "data"), filepath.Join(m.folder, "tmp"), filepath.Join(m.folder, "init.sql")
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // documented never to fail
	m.Password = hex.EncodeToString(secret)
	statements := fmt.Sprintf("create user %[1]s@'%%' identified by '%[2]s';\ngrant all on *.* to %[1]s@'%%' with grant option;\n", m.User, m.Password)
	if err := os.WriteFile(file, []byte(statements), 0o600); err != nil {
		return fmt.Errorf("write the initial statements: %w", err)
	}
	for _, path := range []string{data, scratch} {
		if err := os.Mkdir(path, 0o700); err != nil {
			return fmt.Errorf("create folder of MariaDB: %w", err)
		}
	}
	for _, path := range []string{m.folder, data, scratch, file} {
		if err := account.chown(path); err != nil {
			return err
		}
	}
	// At startup a server removes every temporary table in its tmpdir, so servers must not share one.
	common := []string{"--no-defaults", "--datadir=" + data, "--tmpdir=" + scratch}
	if account.isOther {
		common = append(common, "--user="+account.name)
	}
	install := account.command(ctx, m.folder, installer, append(common, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")...)
	install.SysProcAttr.Credential = nil // the installer switches to the account itself
	if output, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("initialise MariaDB: %w\n%.2000s", err, output)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("find a free port: %w", err)
	}
	if m.Port, err = strconv.Atoi(port); err != nil {
		return fmt.Errorf("find a free port: %w", err)
	}
	m.child, err = startChild(filepath.Join(m.folder, "server.log"), nil, program, append(common,
		"--bind-address="+m.Host, "--port="+port, "--socket="+filepath.Join(m.folder, "s"), "--pid-file="+filepath.Join(m.folder, "pid"),
		"--init-file="+file, "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M",
		"--skip-log-bin", "--performance-schema=off", "--max-connections=60")...)
	if err != nil {
		return err
	}
	return m.child.waitReady(ctx, mariaTimeout, m.ping)
}

// ping connects and reads the server's greeting.
func (m *MariaDB) ping(ctx context.Context) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(m.Host, strconv.Itoa(m.Port)))
	if err != nil {
		return fmt.Errorf("connect to MariaDB: %w", err)
	}
	defer func() { _ = conn.Close() }() // nothing was written
	if err := conn.SetReadDeadline(time.Now().Add(childTimeout)); err != nil {
		return fmt.Errorf("connect to MariaDB: %w", err)
	}
	if _, err := bufio.NewReader(conn).Peek(5); err != nil {
		return fmt.Errorf("connect to MariaDB: %w", err)
	}
	return nil
}

// Stop stops the server and removes its folder.
func (m *MariaDB) Stop(ctx context.Context) error {
	if m.child != nil {
		if err := m.child.stop(ctx); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(m.folder); err != nil {
		return fmt.Errorf("remove the folder of MariaDB: %w", err)
	}
	return nil
}
