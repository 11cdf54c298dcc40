package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
)

var errTooLong = errors.New("the content is longer than announced")

// sizedReader returns exactly the announced number of bytes or an error. It checks
// for the end before it returns the last bytes, so that no caller has complete but
// wrong content. It fails when its context ends.
type sizedReader struct {
	ctx  context.Context // io.Reader has no parameter for it
	from io.Reader
	left int64
}

// withSize returns a reader that fails unless r has size bytes or size is -1.
func withSize(ctx context.Context, r io.Reader, size int64) (io.Reader, error) {
	reader := &sizedReader{ctx: ctx, from: r, left: size}
	if size == 0 {
		if err := reader.expectEnd(); err != nil {
			return nil, err
		}
	}
	return reader, nil
}

func (e *sizedReader) Read(buffer []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	switch {
	case e.left < 0:
		return e.from.Read(buffer)
	case e.left == 0:
		return 0, io.EOF
	case int64(len(buffer)) > e.left:
		buffer = buffer[:e.left]
	}
	count, err := e.from.Read(buffer)
	e.left -= int64(count)
	if e.left == 0 {
		if err == nil {
			err = e.expectEnd()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		return count, nil
	}
	if errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("the content is %d bytes shorter than announced: %w", e.left, io.ErrUnexpectedEOF)
	}
	return count, err
}

func (e *sizedReader) expectEnd() error {
	var one [1]byte
	for range 100 {
		count, err := e.from.Read(one[:])
		switch {
		case count > 0:
			return errTooLong
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
	return io.ErrNoProgress
}
