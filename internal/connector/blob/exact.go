package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
)

var errTooLong = errors.New("the content is longer than announced")

// exactReader gives exactly the announced number of bytes or an error. It looks
// one byte beyond before it hands out the last ones, so that nobody ever holds
// a complete but wrong content. It stops when its context ends.
type exactReader struct {
	ctx  context.Context // a reader has no other way to be told
	from io.Reader
	left int64
}

// exactly wraps r; with size -1 only the context is watched.
func exactly(ctx context.Context, r io.Reader, size int64) (io.Reader, error) {
	reader := &exactReader{ctx: ctx, from: r, left: size}
	if size == 0 {
		if err := reader.expectEnd(); err != nil {
			return nil, err
		}
	}
	return reader, nil
}

func (e *exactReader) Read(buffer []byte) (int, error) {
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

func (e *exactReader) expectEnd() error {
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
