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
	placeFile = "place.json"
	leaseFile = "lease"
	// socketPathLimit is below what every system takes (104 bytes on macOS, 108 on Linux).
	socketPathLimit = 100
	longestSocket   = "/.s.PGSQL.5432"
)

// place is where the servers of one data folder keep their data and sockets, and who they run as.
type place struct {
	dir     string // the data folder, absolute and without symbolic links
	base    string // holds postgres/ and redis/; dir itself where the servers' user can reach it
	sockets string
	account account
}

// record is what place.json keeps, so that a changed environment (TMPDIR, permissions) still finds the running servers.
type record struct {
	Base    string `json:"base"` // "." for the data folder itself, which keeps a moved folder working
	Sockets string `json:"sockets"`
}

func makeDataDir(dir string) error {
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		// The servers' own user must be able to pass through; what is secret inside has its own permissions.
		mode = 0o755
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	return nil
}

// locate reads or decides the place of a data folder and makes its folders. The start lock must be held.
func locate(dir string) (place, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return place{}, fmt.Errorf("data folder %s: %w", dir, err)
	}
	if absolute, err = filepath.EvalSymlinks(absolute); err != nil {
		return place{}, fmt.Errorf("data folder %s: %w", dir, err)
	}
	p := place{dir: absolute}
	if p.account, err = serverAccount(); err != nil {
		return place{}, err
	}
	known, err := readRecord(filepath.Join(absolute, placeFile))
	if err != nil {
		return place{}, err
	}
	if p.base, err = p.chooseBase(known.Base); err != nil {
		return place{}, err
	}
	if p.sockets, err = p.chooseSockets(known.Sockets); err != nil {
		return place{}, err
	}
	now := record{Base: p.base, Sockets: p.sockets}
	if p.base == p.dir {
		now.Base = "."
	}
	if now != known {
		if err := writeRecord(filepath.Join(absolute, placeFile), now); err != nil {
			return place{}, err
		}
	}
	return p, nil
}

func readRecord(path string) (record, error) {
	content, err := os.ReadFile(path) //nolint:gosec // the path is our own file in the data folder
	if errors.Is(err, os.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("read the record of the private services: %w", err)
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
		return fmt.Errorf("record the private services: %w", err)
	}
	return replaceFile(path, append(content, '\n'), 0o644, account{})
}

// chooseBase returns the folder for the servers' data and makes it.
func (p place) chooseBase(known string) (string, error) {
	if known == "." || (known == "" && p.account.reaches(p.dir)) {
		if !p.account.reaches(p.dir) {
			return "", fmt.Errorf("user %s, who runs PostgreSQL, can no longer reach %s: let others pass the folders above it (chmod o+x)", p.account.name, p.dir)
		}
		return p.dir, nil
	}
	if known != "" {
		return known, p.makeOwned(known)
	}
	var failures []error
	for _, parent := range []string{"/var/lib/magpie", filepath.Join(os.TempDir(), "magpie-data"), "/tmp/magpie-data"} {
		if err := os.MkdirAll(parent, 0o755); err != nil { //nolint:gosec // the servers' user has to pass
			failures = append(failures, err)
			continue
		}
		if !p.account.reaches(parent) {
			failures = append(failures, fmt.Errorf("user %s cannot reach %s", p.account.name, parent))
			continue
		}
		base := filepath.Join(parent, p.hash())
		if err := p.makeOwned(base); err != nil {
			failures = append(failures, err)
			continue
		}
		return base, nil
	}
	return "", fmt.Errorf("no folder that user %s can use for PostgreSQL's data: %w", p.account.name, errors.Join(failures...))
}

// chooseSockets returns a short private folder for the sockets and makes it.
func (p place) chooseSockets(known string) (string, error) {
	candidates := make([]string, 0, 4)
	if known != "" {
		candidates = append(candidates, known)
	}
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		candidates = append(candidates, filepath.Join(parent, "magpie-"+p.hash()))
	}
	var failures []error
	for _, folder := range candidates {
		if len(folder)+len(longestSocket) > socketPathLimit {
			failures = append(failures, fmt.Errorf("%s is too long for a socket", folder))
			continue
		}
		if !p.account.reaches(filepath.Dir(folder)) {
			failures = append(failures, fmt.Errorf("user %s cannot reach %s", p.account.name, filepath.Dir(folder)))
			continue
		}
		if err := p.makeOwned(folder); err != nil {
			failures = append(failures, err)
			continue
		}
		return folder, nil
	}
	return "", fmt.Errorf("no folder for the sockets of the private services: %w", errors.Join(failures...))
}

func (p place) hash() string {
	sum := sha256.Sum256([]byte(p.dir))
	return hex.EncodeToString(sum[:6])
}

// makeOwned makes a folder that only the servers' user can enter. A folder that somebody else made first is refused: its
// owner could put sockets of their own there.
func (p place) makeOwned(folder string) error {
	err := os.Mkdir(folder, 0o700)
	switch {
	case err == nil:
		return p.account.own(folder)
	case !errors.Is(err, os.ErrExist):
		return fmt.Errorf("make folder: %w", err)
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return fmt.Errorf("look at folder: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir() || !ok:
		return fmt.Errorf("%s is in the way: it is not a folder", folder)
	case int(owner.Uid) == os.Geteuid():
		// Ours, or made by us and interrupted before it was handed over.
		if err := os.Chmod(folder, 0o700); err != nil { //nolint:gosec // a folder needs the execute bit
			return fmt.Errorf("protect folder: %w", err)
		}
		return p.account.own(folder)
	case int(owner.Uid) != p.account.uid:
		return fmt.Errorf("%s belongs to another user", folder)
	case info.Mode().Perm() != 0o700:
		return fmt.Errorf("%s can be entered by other users", folder)
	}
	return nil
}

// renewLease notes that the servers are in use now, for the watcher that ends idle ones.
func (p place) renewLease() error {
	path := filepath.Join(p.base, leaseFile)
	now := time.Now()
	err := os.Chtimes(path, now, now)
	if errors.Is(err, os.ErrNotExist) {
		err = os.WriteFile(path, nil, 0o644) //nolint:gosec // read by the servers' user, holds nothing
	}
	if err != nil {
		return fmt.Errorf("note that the private services are in use: %w", err)
	}
	return nil
}

func (p place) remove() error {
	targets := []string{filepath.Join(p.base, postgresFolder), filepath.Join(p.base, redisFolder), filepath.Join(p.base, leaseFile), p.sockets}
	if p.base != p.dir {
		targets = append(targets, p.base)
	}
	for _, target := range append(targets, filepath.Join(p.dir, placeFile)) {
		if err := os.RemoveAll(target); err != nil {
			return fmt.Errorf("remove private services: %w", err)
		}
	}
	return nil
}

// replaceFile writes a file so that a reader sees the old or the new content, never half.
func replaceFile(path string, content []byte, mode os.FileMode, owner account) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(mode), file.Close())
	if err == nil && owner.name != "" {
		err = owner.own(file.Name())
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(file.Name()))
	}
	return nil
}

// tail returns the last lines of a log for an error message, or a note that there are none.
func tail(path string, lines int) string {
	content, err := os.ReadFile(path) //nolint:gosec // the log of a server of our own
	if err != nil || len(content) == 0 {
		return "(its log is empty)"
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return strings.Join(all, "\n")
}
