package restapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"github.com/magpie-search/magpie/connectors"
)

// A Claim is what a platform tells of a content besides its size. All fields may be
// zero.
type Claim struct {
	// New and Sum are a hash and the hexadecimal sum by it.
	New func() hash.Hash
	Sum string
	// Current returns an error if the file has changed since the platform told its size
	// and sum.
	Current func(ctx context.Context) error
}

// DownloadConfirmed is [Client.Download] for platforms that can tell a wrong size or
// checksum of a file. A content that differs from them is requested once more, if the
// file has not changed. If it is the same again, it is the file's; if not, reading it
// fails with a retryable error. An empty content in place of another is never right.
func (c *Client) DownloadConfirmed(ctx context.Context, r Request, want Expected, claim Claim) (*Download, error) {
	size := want.Size
	want.Size, want.NonEmpty = -1, want.NonEmpty || size > 0
	first, err := c.Download(ctx, r, want)
	if err != nil {
		return nil, err
	}
	body := &confirmedBody{ReadCloser: first.ReadCloser, all: sha256.New(), size: size, again: func() (*Download, error) {
		if claim.Current != nil {
			if err := claim.Current(ctx); err != nil {
				return nil, err
			}
		}
		return c.Download(ctx, r, want)
	}}
	if claim.Sum != "" {
		body.sum, body.want = claim.New(), claim.Sum
	}
	first.ReadCloser = body
	return first, nil
}

// errNotConfirmed says that a file is not what the platform told of it.
var errNotConfirmed = errors.New("a file is not what was told of it: it was changed, or did not arrive completely")

// A confirmedBody compares a content with its size and checksum.
type confirmedBody struct {
	io.ReadCloser
	all, sum hash.Hash // sum may be nil
	want     string
	size     int64
	read     int64
	again    func() (*Download, error)
	err      error // at the end
}

// Read implements [io.Reader].
func (b *confirmedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	_, _ = b.all.Write(p[:n]) // never fails
	if b.sum != nil {
		_, _ = b.sum.Write(p[:n])
	}
	if errors.Is(err, io.EOF) {
		b.err = b.confirm()
		return n, b.err
	}
	return n, err
}

// confirm returns io.EOF if the content that was read is the file's.
func (b *confirmedBody) confirm() error {
	isSize := b.size < 0 || b.read == b.size
	if isSize && (b.sum == nil || hex.EncodeToString(b.sum.Sum(nil)) == b.want) {
		return io.EOF
	}
	second, err := b.again()
	if err != nil {
		return err
	}
	all := sha256.New()
	_, err = io.Copy(all, second)
	switch err = errors.Join(err, second.Close()); {
	case err != nil:
		return err
	case !bytes.Equal(all.Sum(nil), b.all.Sum(nil)):
		return connectors.Retryable(errNotConfirmed, 0)
	}
	return io.EOF
}
