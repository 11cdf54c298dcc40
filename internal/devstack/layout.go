package devstack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	layoutFile = "place.json"
	leaseFile  = "lease"
	// socketPathLimit is below the limits of the systems (104 bytes on macOS, 108 on Linux).
	socketPathLimit = 100
	longestSocket   = "/.s.PGSQL.5432"
)

// layout has the folders of the data and sockets of one data folder's servers, and the account that runs them.
type layout struct {
	dir     string // the data folder, absolute and without symbolic links
	base    string // has postgres/ and redis/; equal to dir when the account can reach dir
	sockets string
	account account
}

// record is the content of place.json. With it, Start finds the running servers even when TMPDIR or permissions changed.
type record struct {
	Base    string `json:"base"` // "." for the data folder itself, so that the folder can be moved
	Sockets string `json:"sockets"`
}

func makeDataDir(dir string) error {
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		// The account of the servers must be able to enter; secret files have their own permissions.
		mode = 0o755
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return fmt.Errorf("create data folder: %w", err)
	}
	return nil
}

// openLayout reads or chooses the layout of a data folder and creates its folders. The caller holds the start lock.
func openLayout(dir string) (layout, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return layout{}, fmt.Errorf("data folder %s: %w", dir, err)
	}
	if absolute, err = filepath.EvalSymlinks(absolute); err != nil {
		return layout{}, fmt.Errorf("data folder %s: %w", dir, err)
	}
	l := layout{dir: absolute}
	if l.account, err = serverAccount(); err != nil {
		return layout{}, err
	}
	recorded, err := readRecord(filepath.Join(absolute, layoutFile))
	if err != nil {
		return layout{}, err
	}
	if l.base, err = l.chooseBase(recorded.Base); err != nil {
		return layout{}, err
	}
	if l.sockets, err = l.chooseSockets(recorded.Sockets); err != nil {
		return layout{}, err
	}
	current := record{Base: l.base, Sockets: l.sockets}
	if l.base == l.dir {
		current.Base = "."
	}
	if current != recorded {
		if err := writeRecord(filepath.Join(absolute, layoutFile), current); err != nil {
			return layout{}, err
		}
	}
	return l, nil
}

func readRecord(path string) (record, error) {
	content, err := os.ReadFile(path) //nolint:gosec // a file of the data folder
	if errors.Is(err, os.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("read the layout of the private services: %w", err)
	}
	var r record
	if err := json.Unmarshal(content, &r); err != nil {
		return record{}, fmt.Errorf("%s is damaged: %w; remove it when the data folder holds nothing of value", path, err)
	}
	return r, nil
}

func writeRecord(path string, r record) error {
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write the layout of the private services: %w", err)
	}
	return replaceFile(path, append(content, '\n'), 0o644, account{})
}

// chooseBase creates and returns the folder of the servers' data.
func (l layout) chooseBase(recorded string) (string, error) {
	if recorded == "." || (recorded == "" && l.account.canReach(l.dir)) {
		if !l.account.canReach(l.dir) {
			return "", fmt.Errorf("user %s, which runs PostgreSQL, cannot reach %s any more; let other users enter the folders above it (chmod o+x)", l.account.name, l.dir)
		}
		return l.dir, nil
	}
	if recorded != "" {
		return recorded, l.makeOwned(recorded)
	}
	var failures []error
	for _, parent := range []string{"/var/lib/magpie", filepath.Join(os.TempDir(), "magpie-data"), "/tmp/magpie-data"} {
		if err := os.MkdirAll(parent, 0o755); err != nil { //nolint:gosec // the account of the servers must be able to enter
			failures = append(failures, err)
			continue
		}
		if !l.account.canReach(parent) {
			failures = append(failures, fmt.Errorf("user %s cannot reach %s", l.account.name, parent))
			continue
		}
		base := filepath.Join(parent, l.hash())
		if err := l.makeOwned(base); err != nil {
			failures = append(failures, err)
			continue
		}
		return base, nil
	}
	return "", fmt.Errorf("no folder for the data of PostgreSQL that user %s can use: %w", l.account.name, errors.Join(failures...))
}

// chooseSockets creates and returns a private folder with a short path for the sockets.
func (l layout) chooseSockets(recorded string) (string, error) {
	candidates := make([]string, 0, 4)
	if recorded != "" {
		candidates = append(candidates, recorded)
	}
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		candidates = append(candidates, filepath.Join(parent, "magpie-"+l.hash()))
	}
	var failures []error
	for _, folder := range candidates {
		if len(folder)+len(longestSocket) > socketPathLimit {
			failures = append(failures, fmt.Errorf("%s is too long for a socket", folder))
			continue
		}
		if !l.account.canReach(filepath.Dir(folder)) {
			failures = append(failures, fmt.Errorf("user %s cannot reach %s", l.account.name, filepath.Dir(folder)))
			continue
		}
		if err := l.makeOwned(folder); err != nil {
			failures = append(failures, err)
			continue
		}
		return folder, nil
	}
	return "", fmt.Errorf("no folder for the sockets of the private services: %w", errors.Join(failures...))
}

func (l layout) hash() string {
	sum := sha256.Sum256([]byte(l.dir))
	return hex.EncodeToString(sum[:6])
}

// makeOwned creates a folder that only the account can enter. It refuses an existing folder of another user, who could
// put sockets into it.
func (l layout) makeOwned(folder string) error {
	err := os.Mkdir(folder, 0o700)
	switch {
	case err == nil:
		return l.account.chown(folder)
	case !errors.Is(err, os.ErrExist):
		return fmt.Errorf("create folder: %w", err)
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return fmt.Errorf("stat folder: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir() || !ok:
		return fmt.Errorf("%s exists and is not a folder", folder)
	case int(owner.Uid) == os.Geteuid():
		// Created by this user; its owner may not have been changed before an interruption.
		if err := os.Chmod(folder, 0o700); err != nil { //nolint:gosec // a folder needs the execute bit
			return fmt.Errorf("protect folder: %w", err)
		}
		return l.account.chown(folder)
	case int(owner.Uid) != l.account.uid:
		return fmt.Errorf("%s belongs to another user", folder)
	case info.Mode().Perm() != 0o700:
		return fmt.Errorf("%s can be entered by other users", folder)
	}
	return nil
}

// renewLease updates the time of the last use for the idle watcher.
func (l layout) renewLease() error {
	path := filepath.Join(l.base, leaseFile)
	now := time.Now()
	err := os.Chtimes(path, now, now)
	if errors.Is(err, os.ErrNotExist) {
		err = os.WriteFile(path, nil, 0o644) //nolint:gosec // empty, and read by the account of the servers
	}
	if err != nil {
		return fmt.Errorf("renew the lease of the private services: %w", err)
	}
	return nil
}

func (l layout) remove() error {
	targets := []string{filepath.Join(l.base, postgresFolder), filepath.Join(l.base, redisFolder), filepath.Join(l.base, leaseFile), l.sockets}
	if l.base != l.dir {
		targets = append(targets, l.base)
	}
	for _, target := range append(targets, filepath.Join(l.dir, layoutFile)) {
		if err := os.RemoveAll(target); err != nil {
			return fmt.Errorf("remove private services: %w", err)
		}
	}
	return nil
}

// replaceFile replaces a file atomically.
func replaceFile(path string, content []byte, mode os.FileMode, owner account) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(mode), file.Close())
	if err == nil && owner.name != "" {
		err = owner.chown(file.Name())
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(file.Name()))
	}
	return nil
}

// tail returns the last lines of a log for an error message.
func tail(path string, lines int) string {
	content, err := os.ReadFile(path) //nolint:gosec // the path of a private server's log
	if err != nil || len(content) == 0 {
		return "(the log is empty)"
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return strings.Join(all, "\n")
}
