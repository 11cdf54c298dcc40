package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const (
	// startLock is held while servers of a data folder are started, stopped or adopted.
	startLock = "start.lock"
	// holdersLock is held shared by each process that uses the servers. The kernel releases it when a process is killed.
	holdersLock = "holders.lock"

	pollInterval = 10 * time.Millisecond
)

// lock acquires the exclusive lock of a file. It waits until ctx ends.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := openLock(path)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = unlockFile(file) }, nil // nothing was written
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		if err := pause(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("wait for another process that starts or stops the private services (%s): %w", path, err), file.Close())
		}
	}
}

// lockShared acquires the shared lock of a file. Exclusive holders keep it for a moment only.
func lockShared(path string) (*os.File, error) {
	file, err := openLock(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return file, nil
}

// unlockFile releases the lock and closes the file. Closing alone does not release the lock while a process that is just
// being started has a copy of the descriptor, before its exec.
func unlockFile(file *os.File) error {
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}

// isHeld reports whether a process holds the shared lock.
func isHeld(path string) (bool, error) {
	file, err := openLock(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = unlockFile(file) }()
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", path, err)
	}
	return false, nil
}

func openLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the path of a lock file
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	return file, nil
}

// pause waits for one poll interval. It returns the cause when ctx ends.
func pause(ctx context.Context) error {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
