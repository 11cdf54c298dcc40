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

// Why a file is not read.
var (
	ErrFolder   = errors.New("is a folder")
	ErrDevice   = errors.New("is a device, not a file")
	ErrSocket   = errors.New("is a socket, not a file")
	ErrNoWriter = errors.New("is a pipe that nobody writes to")
)

// SizeError says that there is more to read than may be.
type SizeError struct {
	// Size is how much there is, in bytes; 0 when that is not known.
	Size int64
	// Most is how much may be read, in bytes.
	Most int64
}

// Error implements error.
func (e *SizeError) Error() string {
	if e.Size == 0 {
		return fmt.Sprintf("content has more than %d bytes, which is the limit", e.Most)
	}
	return fmt.Sprintf("content has %d bytes, the limit is %d", e.Size, e.Most)
}

// Kind says why what has a mode is not read as a file; nil for a regular file
// and for a pipe.
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

// Open opens a regular file or a pipe for reading and does not wait for
// anything. Errors are *fs.PathError.
func Open(path string) (*os.File, error) {
	// A device may do something when it is opened.
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
	// To open a pipe without a writer waits for one, unless it is said not to.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the person at the shell names it
	if err != nil {
		return nil, err
	}
	info, err = file.Stat() // of what was opened, whatever the name meant before
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

// ReadAll reads the rest of a file, which must be at most so many bytes. The
// error is a *SizeError, ErrNoWriter, or what the file says.
func ReadAll(file *os.File, most int64) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() && info.Size() > most {
		return nil, &SizeError{Size: info.Size(), Most: most}
	}
	content, err := bounded(file, most)
	if err == nil && len(content) == 0 && info.Mode()&fs.ModeNamedPipe != 0 {
		return nil, ErrNoWriter
	}
	return content, err
}

// Read reads a whole file of at most so many bytes, and stops when the context
// ends. Errors are those of Open and ReadAll, and the context's.
func Read(ctx context.Context, path string, most int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	// A pipe is read no further when this is over; a regular file goes on to its end.
	stop := context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Unix(1, 0)) })
	content, err := await(ctx, func() ([]byte, error) {
		defer func() { _ = file.Close() }() // was only read
		return ReadAll(file, most)
	})
	stop()
	return content, err
}

// ReadFrom reads the rest of an input, such as the standard one, which must be
// at most so many bytes. When the context ends it returns, and leaves behind
// whoever waits for an input that nothing can interrupt: the process is about to end.
func ReadFrom(ctx context.Context, in io.Reader, most int64) ([]byte, error) {
	return await(ctx, func() ([]byte, error) { return bounded(in, most) })
}

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
	case got := <-done:
		if ctx.Err() != nil && got.err != nil {
			return nil, ctx.Err()
		}
		return got.content, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func bounded(in io.Reader, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(content)) > most:
		return nil, &SizeError{Most: most}
	default:
		return content, nil
	}
}
