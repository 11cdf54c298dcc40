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

// claimPatience is how long a claim waits for those who only look.
const claimPatience = 400 * time.Millisecond

// Run describes the process that runs in a folder.
type Run struct {
	PID         int    `json:"pid"`
	BaseURL     string `json:"base_url"`
	DatabaseURL string `json:"database_url"`
	OwnerURL    string `json:"owner_url"`
	RedisURL    string `json:"redis_url"`
	BlobURL     string `json:"blob_url"`
	// Demo says that the process keeps the demo collection.
	Demo bool `json:"demo"`
	// Ready says that it serves, and with Demo that the collection is synced.
	Ready bool `json:"ready"`
}

// Claim is the right to run in a folder. It ends with the process at the latest.
type Claim struct {
	folder *Folder
	lock   *os.File
}

// BusyError says that another process runs in a folder.
type BusyError struct {
	Path string
	// PID is 0 in the moment before the process has written it down.
	PID int
	// Run is what the process told of itself; the zero value while it starts.
	Run Run
}

// Error implements error. It says what runs, where it is reached, and what to do.
func (e *BusyError) Error() string {
	command, stop := "Magpie", "stop it with `magpie down`"
	switch {
	case e.Run.PID == 0:
	case e.Run.Demo:
		command = "Magpie with the demo documents (`magpie up`)"
	default:
		command, stop = "`magpie dev`", "stop it with Ctrl+C in its terminal or `magpie down` here"
	}
	var about []string
	if e.PID > 0 {
		about = append(about, fmt.Sprintf("process %d", e.PID))
	}
	if e.Run.BaseURL != "" {
		about = append(about, e.Run.BaseURL)
	} else {
		about = append(about, "still starting")
	}
	return fmt.Sprintf("%s runs in %s already (%s); use that one, %s, or give another folder with --data", command, e.Path, strings.Join(about, ", "), stop)
}

// Claim takes the folder for this process; *BusyError when another has it.
func (f *Folder) Claim(ctx context.Context) (*Claim, error) {
	lock, err := os.OpenFile(f.file(lockFile), os.O_CREATE|os.O_RDWR, privateMode)
	if err != nil {
		return nil, fmt.Errorf("claim the data folder: %w", err)
	}
	if err := exclusive(ctx, lock); err != nil {
		defer func() { _ = lock.Close() }()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, f.busy(holder(lock))
		}
		return nil, fmt.Errorf("claim the data folder: %w", err)
	}
	c := &Claim{folder: f, lock: lock}
	err = errors.Join(lock.Truncate(0), f.remove(runFile), f.remove(devFile))
	if err == nil {
		_, err = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, fmt.Errorf("claim the data folder: %w", errors.Join(err, c.Release()))
	}
	return c, nil
}

// busy is the error for a folder that a process holds.
func (f *Folder) busy(pid int) *BusyError {
	e := &BusyError{Path: f.path, PID: pid}
	// What cannot be read, or is another process's, tells nothing of this one.
	var run Run
	if found, err := f.read(runFile, &run); err == nil && found && run.PID == pid {
		e.Run = run
	}
	return e
}

// exclusive takes the lock. Those who only look (Holder) hold it for an
// instant, so one that is taken is tried a few times more.
func exclusive(ctx context.Context, lock *os.File) error {
	limit, cancel := context.WithTimeout(ctx, claimPatience)
	defer cancel()
	ticker := time.NewTicker(claimPatience / 20)
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

func holder(lock io.ReaderAt) int {
	content := make([]byte, 32)
	n, _ := lock.ReadAt(content, 0) // what cannot be read is no number either
	pid, err := strconv.Atoi(strings.TrimSpace(string(content[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// Publish tells others about this process.
func (c *Claim) Publish(r Run) error {
	r.PID = os.Getpid()
	return c.folder.write(runFile, r)
}

// Release gives the folder back; nothing in it says any more that someone runs.
func (c *Claim) Release() error {
	err := errors.Join(c.folder.remove(runFile), c.folder.remove(devFile), c.lock.Truncate(0))
	return errors.Join(err, c.lock.Close())
}

// Holder returns the id of the process that has claimed the folder, 0 when
// nobody has or it has not said its id yet, which held tells apart.
func (f *Folder) Holder() (pid int, held bool, err error) {
	lock, err := os.OpenFile(f.file(lockFile), os.O_RDWR, privateMode)
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("see who runs in the data folder: %w", err)
	}
	defer func() { _ = lock.Close() }() // gives up the lock, too
	switch err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return holder(lock), true, nil
	case err != nil:
		return 0, false, fmt.Errorf("see who runs in the data folder: %w", err)
	}
	return 0, false, nil
}

// Running returns the process that runs in the folder; found is false when
// there is none, or none that has told about itself yet.
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
