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

// account is the operating system user that runs the servers. It is the user of this process, or an unprivileged user
// when this process runs as root, since PostgreSQL refuses to run as root.
type account struct {
	name     string
	uid, gid int
	isOther  bool // not the user of this process, so processes and files change their owner
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
			failures = append(failures, fmt.Errorf("user %s has ID %s: %w", name, found.Uid, err))
			continue
		}
		return account{name: name, uid: uid, gid: gid, isOther: true}, nil
	}
	return account{}, fmt.Errorf("PostgreSQL refuses to run as root, and no unprivileged user was found: %w", errors.Join(failures...))
}

// chown makes the account the owner of a file or folder.
func (a account) chown(path string) error {
	if !a.isOther {
		return nil
	}
	if err := os.Lchown(path, a.uid, a.gid); err != nil {
		return fmt.Errorf("change owner to user %s: %w", a.name, err)
	}
	return nil
}

// canReach reports whether the permission bits let the account enter path and every folder above it.
func (a account) canReach(path string) bool {
	if !a.isOther {
		return true
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for folder := resolved; ; folder = filepath.Dir(folder) {
		if !a.hasPermission(folder, 0o1) {
			return false
		}
		if folder == filepath.Dir(folder) {
			return true
		}
	}
}

// canWrite reports whether the permission bits let the account create files in a folder.
func (a account) canWrite(folder string) bool { return a.hasPermission(folder, 0o3) }

// hasPermission reports whether the account has the permission bits (1 to enter, 2 to write) on a folder.
func (a account) hasPermission(folder string, bits os.FileMode) bool {
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

// command returns a command that runs as the account. It has a new session, so that signals of the caller's terminal do
// not reach it, and a fixed environment without the caller's PG… variables.
func (a account) command(ctx context.Context, folder, program string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, arguments...) //nolint:gosec // program and arguments are constants or found by this package
	command.Dir = folder
	command.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "TZ=UTC"}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if a.isOther {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)} //nolint:gosec // IDs of a user entry
	}
	return command
}

// rotateLog creates an empty log for a server, and keeps the previous log as path.old.
func (a account) rotateLog(path string) error {
	if err := os.Rename(path, path+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("rename log: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // the path of a private server's log
	if err != nil {
		return fmt.Errorf("create log: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("create log: %w", err)
	}
	return a.chown(path)
}
