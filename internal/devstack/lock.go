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
	// holdersLock is held shared by each process that uses the servers. The kernel drops it when a process is killed.
	holdersLock = "holders.lock"

	pollInterval = 10 * time.Millisecond
)

// lock waits for the file's exclusive lock until ctx ends.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := openLock(path)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = unlockFile(file) }, nil // an empty file has nothing to lose
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		if err := pause(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("wait for another process that starts or stops the private services (lock %s): %w", path, err), file.Close())
		}
	}
}

// share takes the file's shared lock. Whoever wants it exclusively holds the start lock, so it is never long in coming.
func share(path string) (*os.File, error) {
	file, err := openLock(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return file, nil
}

// unlockFile drops the lock by name: closing alone would leave it with a program that is being started this moment, whose
// process has a copy of the file until it has become that program.
func unlockFile(file *os.File) error {
	return errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
}

// isHeld says whether any process holds the shared lock.
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
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // a lock file of our own
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	return file, nil
}

// pause waits one poll interval or until ctx ends.
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
