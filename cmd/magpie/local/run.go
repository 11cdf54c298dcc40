package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// claimTimeout is the time that a claim waits for calls of Holder.
const claimTimeout = 400 * time.Millisecond

// Run describes the running process of a folder.
type Run struct {
	PID         int    `json:"pid"`
	BaseURL     string `json:"base_url"`
	DatabaseURL string `json:"database_url"`
	OwnerURL    string `json:"owner_url"`
	RedisURL    string `json:"redis_url"`
	BlobURL     string `json:"blob_url"`
	// Demo reports whether the process serves the demo documents.
	Demo bool `json:"demo"`
	// Ready reports whether the process serves requests and, with Demo, whether the
	// documents are synced.
	Ready bool `json:"ready"`
}

// Claim is the exclusive right of a process to run in a folder.
type Claim struct {
	folder *Folder
	lock   *os.File
}

// BusyError is the error when another process runs in a folder.
type BusyError struct {
	Path string
	// PID is 0 before the process has written it.
	PID int
	// Run describes the process; the zero value while it starts.
	Run Run
}

// Error returns the command, its process ID and URL, and what to do.
func (e *BusyError) Error() string {
	command, stop := "Magpie", "stop it with `magpie down`"
	switch {
	case e.Run.PID == 0:
	case e.Run.Demo:
		command = "Magpie with the demo documents (`magpie up`)"
	default:
		command, stop = "`magpie dev`", "stop it with Ctrl+C in its terminal or `magpie down` here"
	}
	var details []string
	if e.PID > 0 {
		details = append(details, fmt.Sprintf("process %d", e.PID))
	}
	if e.Run.BaseURL != "" {
		details = append(details, e.Run.BaseURL)
	} else {
		details = append(details, "still starting")
	}
	return fmt.Sprintf("%s already runs in %s (%s); use that one, %s, or choose another folder with --data", command, e.Path, strings.Join(details, ", "), stop)
}

// Claim claims the folder for this process. It returns a *BusyError when another
// process has claimed it.
func (f *Folder) Claim(ctx context.Context) (*Claim, error) {
	lock, err := os.OpenFile(f.file(lockFile), os.O_CREATE|os.O_RDWR, privateMode)
	if err != nil {
		return nil, fmt.Errorf("claim data folder: %w", err)
	}
	if err := lockExclusive(ctx, lock); err != nil {
		defer func() { _ = lock.Close() }()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, f.busy(readHolder(lock))
		}
		return nil, fmt.Errorf("claim data folder: %w", err)
	}
	c := &Claim{folder: f, lock: lock}
	err = errors.Join(lock.Truncate(0), f.remove(runFile), f.remove(devFile))
	if err == nil {
		_, err = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, fmt.Errorf("claim data folder: %w", errors.Join(err, c.Release()))
	}
	return c, nil
}

// busy returns the error of a folder that a process has claimed.
func (f *Folder) busy(pid int) *BusyError {
	e := &BusyError{Path: f.path, PID: pid}
	// An unreadable record or that of another process is ignored.
	var run Run
	if found, err := f.read(runFile, &run); err == nil && found && run.PID == pid {
		e.Run = run
	}
	return e
}

// lockExclusive acquires the lock. It retries for a short time, since Holder acquires
// the shared lock for a moment.
func lockExclusive(ctx context.Context, lock *os.File) error {
	limit, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	ticker := time.NewTicker(claimTimeout / 20)
	defer ticker.Stop()
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ticker.C:
		case <-limit.Done():
			return err
		}
	}
}

// readHolder returns the process ID in the lock file, or 0.
func readHolder(lock io.ReaderAt) int {
	content := make([]byte, 32)
	n, _ := lock.ReadAt(content, 0) // after an error there is no number
	pid, err := strconv.Atoi(strings.TrimSpace(string(content[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// Publish records the properties of this process.
func (c *Claim) Publish(r Run) error {
	r.PID = os.Getpid()
	return c.folder.write(runFile, r)
}

// Release releases the folder and removes the record of the process.
func (c *Claim) Release() error {
	err := errors.Join(c.folder.remove(runFile), c.folder.remove(devFile), c.lock.Truncate(0))
	return errors.Join(err, c.lock.Close())
}

// Holder reports whether a process has claimed the folder, and returns its process
// ID, which is 0 before the process has written it.
func (f *Folder) Holder() (pid int, held bool, err error) {
	lock, err := os.OpenFile(f.file(lockFile), os.O_RDWR, privateMode)
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("lock data folder: %w", err)
	}
	defer func() { _ = lock.Close() }() // releases the lock, too
	switch err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return readHolder(lock), true, nil
	case err != nil:
		return 0, false, fmt.Errorf("lock data folder: %w", err)
	}
	return 0, false, nil
}

// Running returns the record of the running process, and whether there is one.
func (f *Folder) Running() (r Run, found bool, err error) {
	pid, held, err := f.Holder()
	if err != nil || !held {
		return Run{}, false, err
	}
	found, err = f.read(runFile, &r)
	if err != nil || !found || r.PID != pid {
		return Run{}, false, err
	}
	return r, true, nil
}
