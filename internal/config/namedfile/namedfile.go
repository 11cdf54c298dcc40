package namedfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// The reasons why a file is not read.
var (
	ErrFolder   = errors.New("is a folder")
	ErrDevice   = errors.New("is a device, not a file")
	ErrSocket   = errors.New("is a socket, not a file")
	ErrNoWriter = errors.New("is a pipe that nobody writes to")
)

// A SizeError says that the content exceeds the limit.
type SizeError struct {
	Size  int64 // of the content in bytes; 0 is unknown
	Limit int64 // in bytes
}

// Error implements error.
func (e *SizeError) Error() string {
	if e.Size == 0 {
		return fmt.Sprintf("content has more than %d bytes, which is the limit", e.Limit)
	}
	return fmt.Sprintf("content has %d bytes, the limit is %d", e.Size, e.Limit)
}

// Kind returns the reason why a file with a mode is not read, or nil for a regular
// file or a pipe.
func Kind(mode fs.FileMode) error {
	switch {
	case mode.IsDir():
		return ErrFolder
	case mode&fs.ModeDevice != 0:
		return ErrDevice
	case mode&fs.ModeSocket != 0:
		return ErrSocket
	default:
		return nil
	}
}

// Open opens a regular file or a pipe for reading without waiting. Errors are
// *fs.PathError.
func Open(path string) (*os.File, error) {
	// Opening a device may have effects, so the kind is checked first.
	info, err := os.Stat(path)
	if named := (*fs.PathError)(nil); errors.As(err, &named) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: named.Err}
	}
	if err != nil {
		return nil, err
	}
	if err := Kind(info.Mode()); err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	// Without O_NONBLOCK, opening a pipe waits for a writer.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the person at the shell chose it
	if err != nil {
		return nil, err
	}
	info, err = file.Stat() // the name may mean another file by now
	if err == nil {
		if kind := Kind(info.Mode()); kind != nil {
			err = &fs.PathError{Op: "open", Path: path, Err: kind}
		}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// ReadAll reads the rest of a file of at most limit bytes. The error is a
// *SizeError, ErrNoWriter, or that of the file.
func ReadAll(file *os.File, limit int64) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() && info.Size() > limit {
		return nil, &SizeError{Size: info.Size(), Limit: limit}
	}
	content, err := readBounded(file, limit)
	if err == nil && len(content) == 0 && info.Mode()&fs.ModeNamedPipe != 0 {
		return nil, ErrNoWriter
	}
	return content, err
}

// Read reads a whole file of at most limit bytes, and stops when the context ends.
// Errors are those of Open, ReadAll and the context.
func Read(ctx context.Context, path string, limit int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	// The deadline ends the read of a pipe. It has no effect on a regular file.
	stop := context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Unix(1, 0)) })
	content, err := await(ctx, func() ([]byte, error) {
		defer func() { _ = file.Close() }() // only read
		return ReadAll(file, limit)
	})
	stop()
	return content, err
}

// ReadFrom reads the rest of an input of at most limit bytes. When the context ends,
// it returns and abandons a read that cannot be interrupted: the process is about to
// end.
func ReadFrom(ctx context.Context, in io.Reader, limit int64) ([]byte, error) {
	return await(ctx, func() ([]byte, error) { return readBounded(in, limit) })
}

// await calls read and returns early when the context ends.
func await(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	type outcome struct {
		content []byte
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		content, err := read()
		done <- outcome{content, err}
	}()
	select {
	case o := <-done:
		if ctx.Err() != nil && o.err != nil {
			return nil, ctx.Err()
		}
		return o.content, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// readBounded reads at most limit bytes.
func readBounded(in io.Reader, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(in, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(content)) > limit:
		return nil, &SizeError{Limit: limit}
	default:
		return content, nil
	}
}
