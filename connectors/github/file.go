package github

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git names its objects by it
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	pointerBytes = 1024 // no Git LFS pointer is longer
	pointerStart = "version https://git-lfs.github.com/spec/"
)

func fileStage() stage {
	return stage{
		name: contentFiles,
		has:  func(c config, _ repo) bool { return c.has(contentFiles) },
		walk: walkFiles, least: 1,
		check: func(ctx context.Context, s *source, r repo) error {
			if !s.config.has(contentFiles) {
				return nil
			}
			_, err := s.tip(ctx, r)
			return err
		},
	}
}

// walkFiles goes on after the path that the cursor has, in the newest tree.
func walkFiles(ctx context.Context, s *source, r repo, p place, room int) (step, error) {
	t, err := s.treeOf(ctx, r, p.rest == "")
	if err != nil || t == nil {
		var out step
		if err == nil && s.config.branch != "" {
			out.warnings = []string{fmt.Sprintf("The repository %s has no branch %s; it brings no files.", r.FullName, s.config.branch)}
		}
		return out, err
	}
	var out step
	skipped := 0
	out.more, err = s.after(ctx, r, t, t.root, "", p.rest, func(e entry) bool {
		if len(out.items) == room {
			return false
		}
		if s.config.wants(e.Path) {
			if item := s.fileItem(r, e); len(item.ID) <= connectors.MaxIDBytes && len(item.Path) <= connectors.MaxIDBytes {
				out.items = append(out.items, item)
				out.rest = e.Path
			} else {
				skipped++
			}
		}
		return true
	})
	if skipped > 0 {
		out.warnings = append(out.warnings, fmt.Sprintf("%s has files whose paths are longer than %d bytes; they were left out.", r.FullName, connectors.MaxIDBytes))
	}
	return out, err
}

func (s *source) fileItem(r repo, e entry) connectors.Item {
	branch := s.config.branchOf(r)
	return connectors.Item{
		ID: idOf(r, kindFile, e.Path), Path: r.FullName + "/" + e.Path, Version: e.SHA, Size: e.Size,
		URL:      r.HTMLURL + "/blob/" + escaped(branch) + "/" + escaped(e.Path),
		Metadata: map[string]string{"repository": r.FullName, "branch": branch},
	}
}

// openFile reads a file as it is on the branch, and as it was listed.
func (s *source) openFile(ctx context.Context, r repo, path string, item connectors.Item) (io.ReadCloser, error) {
	if !properPath(path) || !s.config.wants(path) {
		return nil, connectors.ErrNotFound
	}
	body, err := s.api.Download(ctx, restapi.Request{
		Path: r.path("/contents/" + escaped(path)), Query: url.Values{"ref": {s.config.branchOf(r)}},
		Header: http.Header{"Accept": {"application/vnd.github.raw+json"}},
	}, restapi.Expected{Size: -1}) // whether it has the size, its hash tells
	if err != nil {
		return nil, ofItem(err)
	}
	if strings.HasPrefix(body.Header.Get("Content-Type"), "application/json") {
		_ = body.Close()
		return nil, connectors.Retryable(errChanged, 0) // a folder now
	}
	content := &content{ctx: ctx, body: body, reader: bufio.NewReader(body), changed: func() { s.outdated(r) }}
	if item.Version != "" && item.Size >= 0 && len(item.Version) == 2*sha1.Size {
		content.size, content.want, content.sum = item.Size, item.Version, sha1.New() //nolint:gosec // as git does
		_, _ = fmt.Fprintf(content.sum, "blob %d\x00", item.Size)
	}
	if item.Size > pointerBytes {
		return content, nil
	}
	if start, _ := content.reader.Peek(len(pointerStart)); bytes.Equal(start, []byte(pointerStart)) {
		_ = content.Close()
		return nil, connectors.Skip(errors.New("kept in Git LFS: the repository has a pointer in its place"))
	}
	return content, nil
}

// ofItem is an error of one item: what is refused for it alone says nothing of
// the others.
func ofItem(err error) error {
	if restapi.StatusOf(err) == http.StatusForbidden && connectors.IsNeedsAuth(err) {
		return errors.New(err.Error())
	}
	return err
}

// content is that of a file, which says at its end whether it was the listed one.
type content struct {
	ctx     context.Context // of the request that the body belongs to
	body    io.Closer
	reader  *bufio.Reader
	sum     hash.Hash // nil where nothing is compared
	size, n int64
	want    string
	changed func()
}

func (c *content) Read(p []byte) (int, error) {
	n, err := c.reader.Read(p)
	c.n += int64(n)
	if c.sum != nil {
		_, _ = c.sum.Write(p[:n])
	}
	switch {
	case err == nil:
	case c.ctx.Err() != nil:
		err = c.ctx.Err()
	case !errors.Is(err, io.EOF): // it says what to do
	case c.sum != nil && (c.n != c.size || hex.EncodeToString(c.sum.Sum(nil)) != c.want):
		c.changed()
		err = connectors.Retryable(errChanged, 0)
	}
	return n, err
}

func (c *content) Close() error { return c.body.Close() }
