package s3

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"strings"
)

// An objectBody marks errors while an object is read, and fails if the object
// has another length than listed.
type objectBody struct {
	body      io.ReadCloser
	markError func(error) error
	hasSize   bool
	remaining int64
}

func (b *objectBody) Read(buffer []byte) (int, error) {
	count, err := b.body.Read(buffer)
	b.remaining -= int64(count)
	switch {
	case b.hasSize && b.remaining < 0:
		err = b.markError(&unexpectedResponseError{"more bytes than the object has"})
	case err == nil:
	case !errors.Is(err, io.EOF):
		err = b.markError(err)
	case b.hasSize && b.remaining > 0:
		err = b.markError(io.ErrUnexpectedEOF)
	}
	return count, err
}

func (b *objectBody) Close() error { return b.body.Close() }

// decompress decompresses an object with the encoding gzip, as is usual for web
// sites in buckets. Bytes that are not gzip in spite of their encoding are
// unchanged.
func decompress(body io.ReadCloser, encoding string) (io.ReadCloser, error) {
	if !strings.Contains(strings.ToLower(encoding), "gzip") {
		return body, nil
	}
	buffered := bufio.NewReader(body)
	start, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, body.Close())
	}
	if len(start) < 2 || start[0] != 0x1f || start[1] != 0x8b {
		return readCloser{Reader: buffered, Closer: body}, nil
	}
	content, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, errors.Join(err, body.Close())
	}
	return readCloser{Reader: content, Closer: body}, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}
