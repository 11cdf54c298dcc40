package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user that the servers run as: the caller, or an unprivileged one when the caller is root, since
// PostgreSQL refuses to run as root.
type account struct {
	name     string
	uid, gid int
	other    bool // not the caller: processes and files have to be handed over
}

func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{name: "of this process", uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	var failures []error
	for _, name := range []string{"postgres", "_postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		uid, uidErr := strconv.Atoi(found.Uid)
		gid, gidErr := strconv.Atoi(found.Gid)
		if err := errors.Join(uidErr, gidErr); err != nil || uid <= 0 {
			failures = append(failures, fmt.Errorf("user %s has the id %s: %w", name, found.Uid, err))
			continue
		}
		return account{name: name, uid: uid, gid: gid, other: true}, nil
	}
	return account{}, fmt.Errorf("PostgreSQL does not run as root and no unprivileged user was found: %w", errors.Join(failures...))
}

// own hands a file or folder to the account.
func (a account) own(path string) error {
	if !a.other {
		return nil
	}
	if err := os.Lchown(path, a.uid, a.gid); err != nil {
		return fmt.Errorf("hand over to user %s: %w", a.name, err)
	}
	return nil
}

// reaches says whether the account can pass every folder down to and including path, by permission bits alone.
func (a account) reaches(path string) bool {
	if !a.other {
		return true
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for folder := resolved; ; folder = filepath.Dir(folder) {
		if !a.allowed(folder, 0o1) {
			return false
		}
		if folder == filepath.Dir(folder) {
			return true
		}
	}
}

// writes says whether the account may make files in a folder, by the folder's permission bits alone.
func (a account) writes(folder string) bool { return a.allowed(folder, 0o3) }

// allowed says whether the bits (1 to pass, 2 to write) are given to the account on a folder.
func (a account) allowed(folder string, bits os.FileMode) bool {
	info, err := os.Stat(folder)
	if err != nil {
		return false
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	switch {
	case int(status.Uid) == a.uid:
		bits <<= 6
	case int(status.Gid) == a.gid:
		bits <<= 3
	}
	return info.Mode().Perm()&bits == bits
}

// command prepares a program to run as the account in a session of its own, so that neither a signal to the caller's
// terminal nor the caller's end reaches it, and with an environment that no PG… variable of the caller leaks into.
func (a account) command(ctx context.Context, folder, program string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, arguments...) //nolint:gosec // program and arguments are ours
	command.Dir = folder
	command.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "TZ=UTC"}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if a.other {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)} //nolint:gosec // ids of a user entry
	}
	return command
}

// newLog empties the log of a server that is about to start, keeping the previous one beside it.
func (a account) newLog(path string) error {
	if err := os.Rename(path, path+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("keep the previous log: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // a log of a server of our own
	if err != nil {
		return fmt.Errorf("make a log: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("make a log: %w", err)
	}
	return a.own(path)
}
