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
	maxLFSPointer    = 1024 // the largest Git LFS pointer
	lfsPointerPrefix = "version https://git-lfs.github.com/spec/"
)

func fileStage() stage {
	return stage{
		name:    contentFiles,
		applies: func(c config, _ repo) bool { return c.hasContent(contentFiles) },
		walk:    walkFiles, minRoom: 1,
		check: func(ctx context.Context, s *source, r repo) error {
			if !s.config.hasContent(contentFiles) {
				return nil
			}
			_, err := s.branchTree(ctx, r)
			return err
		},
	}
}

// walkFiles continues after the path of the cursor in the current tree.
func walkFiles(ctx context.Context, s *source, r repo, p position, room int) (stepResult, error) {
	t, err := s.loadTree(ctx, r, p.offset == "")
	if err != nil {
		return stepResult{}, err
	}
	var out stepResult
	if t.root == "" {
		if s.config.branch != "" {
			out.warnings = []string{fmt.Sprintf("The repository %s has no branch %s; it brings no files.", r.FullName, s.config.branch)}
		}
		return out, nil
	}
	skipped := 0
	out.more, err = s.eachFileAfter(ctx, r, t, t.root, "", p.offset, func(e entry) bool {
		if len(out.items) == room {
			return false
		}
		if s.config.includesPath(e.Path) {
			if item, ok := s.fileItem(r, e); ok {
				out.items = append(out.items, item)
				out.offset = e.Path
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

// fileItem reports false for a path that is too long.
func (s *source) fileItem(r repo, e entry) (connectors.Item, bool) {
	branch := s.config.followedBranch(r)
	item := connectors.Item{
		ID: itemID(r, kindFile, e.Path), Path: r.FullName + "/" + e.Path, Version: e.SHA, Size: e.Size,
		URL:      r.HTMLURL + "/blob/" + escapePath(branch) + "/" + escapePath(e.Path),
		Metadata: map[string]string{"repository": r.FullName, "branch": branch},
	}
	return item, len(item.ID) <= connectors.MaxIDBytes && len(item.Path) <= connectors.MaxIDBytes
}

// openFile returns the content of a file of the branch, if it still is the
// listed version.
func (s *source) openFile(ctx context.Context, r repo, path string, item connectors.Item) (io.ReadCloser, error) {
	if !isValidPath(path) || !s.config.includesPath(path) {
		return nil, connectors.ErrNotFound
	}
	body, err := s.api.Download(ctx, restapi.Request{
		Path: r.path("/contents/" + escapePath(path)), Query: url.Values{"ref": {s.config.followedBranch(r)}},
		Header: http.Header{"Accept": {"application/vnd.github.raw+json"}},
	}, restapi.Expected{Size: -1}) // the hash is checked, which includes the size
	if err != nil {
		return nil, itemError(err)
	}
	if strings.HasPrefix(body.Header.Get("Content-Type"), "application/json") {
		_ = body.Close()
		return nil, connectors.Retryable(errChanged, 0) // a folder now
	}
	content := &verifiedContent{ctx: ctx, body: body, reader: bufio.NewReader(body), onMismatch: func() { s.forgetTree(r) }}
	if item.Version != "" && item.Size >= 0 && len(item.Version) == 2*sha1.Size {
		content.size, content.want, content.hash = item.Size, item.Version, sha1.New() //nolint:gosec // as git does
		_, _ = fmt.Fprintf(content.hash, "blob %d\x00", item.Size)
	}
	if item.Size > maxLFSPointer {
		return content, nil
	}
	if prefix, _ := content.reader.Peek(len(lfsPointerPrefix)); bytes.Equal(prefix, []byte(lfsPointerPrefix)) {
		_ = content.Close()
		return nil, connectors.Skip(errors.New("kept in Git LFS: the repository has a pointer in its place"))
	}
	return content, nil
}

// itemError returns an error that concerns one item only: a refusal of one file
// says nothing about the credentials.
func itemError(err error) error {
	if restapi.StatusOf(err) == http.StatusForbidden && connectors.IsNeedsAuth(err) {
		return errors.New(err.Error())
	}
	return err
}

// verifiedContent is the content of a file. Its last Read fails if the content
// is not the listed one.
type verifiedContent struct {
	ctx        context.Context // of the request
	body       io.Closer
	reader     *bufio.Reader
	hash       hash.Hash // nil if the content is not verified
	size, read int64
	want       string
	onMismatch func()
}

func (c *verifiedContent) Read(p []byte) (int, error) {
	n, err := c.reader.Read(p)
	c.read += int64(n)
	if c.hash != nil {
		_, _ = c.hash.Write(p[:n])
	}
	switch {
	case err == nil:
	case c.ctx.Err() != nil:
		err = c.ctx.Err()
	case !errors.Is(err, io.EOF): // the error is marked
	case c.hash != nil && (c.read != c.size || hex.EncodeToString(c.hash.Sum(nil)) != c.want):
		c.onMismatch()
		err = connectors.Retryable(errChanged, 0)
	}
	return n, err
}

func (c *verifiedContent) Close() error { return c.body.Close() }
