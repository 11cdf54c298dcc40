package s3

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"strings"
)

// explainedBody gives errors in the middle of a content the same form as those
// at its beginning, and fails where the content has another length than was
// listed.
type explainedBody struct {
	body    io.ReadCloser
	explain func(error) error
	sized   bool
	left    int64
}

func (b *explainedBody) Read(buffer []byte) (int, error) {
	count, err := b.body.Read(buffer)
	b.left -= int64(count)
	switch {
	case b.sized && b.left < 0:
		err = b.explain(&mismatchError{"more bytes than the object has"})
	case err == nil:
	case !errors.Is(err, io.EOF):
		err = b.explain(err)
	case b.sized && b.left > 0:
		err = b.explain(io.ErrUnexpectedEOF)
	}
	return count, err
}

func (b *explainedBody) Close() error { return b.body.Close() }

// unpacked decompresses what was uploaded with the encoding gzip, as web sites
// kept in buckets are: the page is the content, not its compressed form. Bytes
// that are not gzip in spite of their encoding are given as they are.
func unpacked(body io.ReadCloser, encoding string) (io.ReadCloser, error) {
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
