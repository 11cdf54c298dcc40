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
	"time"
)

// mariaPatience is how long the first start of a server may take, on a busy machine.
const mariaPatience = 90 * time.Second

// MariaDB is a MariaDB server that keeps nothing and ends at the latest with this process.
type MariaDB struct {
	// Host and Port are where it listens: the loopback address alone.
	Host string
	Port int
	// User may do everything.
	User, Password string

	child  *child
	folder string
}

// StartMariaDB starts a MariaDB server for tests, and returns when it answers.
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
	folder, err := os.MkdirTemp("/tmp", "magpie-mariadb-") // a socket's path has to be short
	if err != nil {
		return nil, fmt.Errorf("make a folder for MariaDB: %w", err)
	}
	m := &MariaDB{Host: "127.0.0.1", User: "magpie_admin", folder: folder}
	if err := m.start(ctx, account, program, installer); err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, m.Stop(undo))
	}
	return m, nil
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
		return fmt.Errorf("write the first statements: %w", err)
	}
	for _, path := range []string{data, scratch} {
		if err := os.Mkdir(path, 0o700); err != nil {
			return fmt.Errorf("make a folder for MariaDB: %w", err)
		}
	}
	for _, path := range []string{m.folder, data, scratch, file} {
		if err := account.own(path); err != nil {
			return err
		}
	}
	// A server removes the temporary tables that it finds when it starts, those of
	// another server too: each needs a folder of its own for them.
	common := []string{"--no-defaults", "--datadir=" + data, "--tmpdir=" + scratch}
	if account.other {
		common = append(common, "--user="+account.name)
	}
	install := account.command(ctx, m.folder, installer, append(common, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")...)
	install.SysProcAttr.Credential = nil // it changes to the account by itself
	if output, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("make the data folder of MariaDB: %w\n%.2000s", err, output)
	}
	var err error
	if m.Port, err = freePort(ctx); err != nil {
		return err
	}
	m.child, err = startChild(filepath.Join(m.folder, "server.log"), nil, program, append(common,
		"--bind-address="+m.Host, "--port="+strconv.Itoa(m.Port), "--socket="+filepath.Join(m.folder, "s"), "--pid-file="+filepath.Join(m.folder, "pid"),
		"--init-file="+file, "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M",
		"--skip-log-bin", "--performance-schema=off", "--max-connections=60")...)
	if err != nil {
		return err
	}
	return m.child.ready(ctx, mariaPatience, m.greets)
}

// greets reads the first bytes that the server says to a client.
func (m *MariaDB) greets(ctx context.Context) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(m.Host, strconv.Itoa(m.Port)))
	if err != nil {
		return fmt.Errorf("reach MariaDB: %w", err)
	}
	defer func() { _ = conn.Close() }() // nothing was written
	if err := conn.SetReadDeadline(time.Now().Add(childPatience)); err != nil {
		return fmt.Errorf("reach MariaDB: %w", err)
	}
	if _, err := bufio.NewReader(conn).Peek(5); err != nil {
		return fmt.Errorf("reach MariaDB: %w", err)
	}
	return nil
}

func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = listener.Close() }() // it never served
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("find a free port: the listener has no TCP address")
	}
	return address.Port, nil
}

// Stop ends the server and removes its folder.
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
