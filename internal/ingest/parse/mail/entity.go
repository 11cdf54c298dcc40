package mail

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// maxMultiparts is how deep parts are nested. A deeper one is not read.
const maxMultiparts = 50

// An entity is a mail or a part of one.
type entity struct {
	header     header
	kind       string // media type in lower case
	parameters map[string]string
	body       []byte // still encoded
	children   []*entity
	tooDeep    bool

	start int // of the body
}

// isMultipart reports whether the body consists of parts.
func (e *entity) isMultipart() bool { return strings.HasPrefix(e.kind, "multipart/") && !e.tooDeep }

// content returns the decoded body.
func (e *entity) content() []byte {
	return decodeTransfer(e.body, e.header["content-transfer-encoding"])
}

// text returns the body as text.
func (e *entity) text() string { return decodeText(e.content(), e.parameters["charset"]) }

// A partReader splits a mail into its parts in one pass.
type partReader struct {
	ctx     context.Context
	content []byte
	limit   int
	count   int
	levels  []level
	// open is the part whose body is read, nil between parts.
	open *entity
}

// level is an open multipart.
type level struct {
	entity   *entity
	boundary []byte
	isClosed bool
}

// readEntity reads the mail at an offset. It reports whether the mail is truncated. The error is a *document.LimitError
// or that of the context.
func readEntity(ctx context.Context, content []byte, at int, limits document.Limits) (root *entity, isTruncated bool, err error) {
	r := partReader{ctx: ctx, content: content, limit: limits.MaxEntries}
	root = &entity{}
	at = r.begin(root, at, "text/plain")
	for steps := 0; ; steps++ {
		if steps%1024 == 0 && ctx.Err() != nil {
			return nil, false, fmt.Errorf("parse mail: %w", ctx.Err())
		}
		if len(r.levels) == 0 {
			break
		}
		start := delimiter(content, at)
		if start < 0 {
			break
		}
		line, next := nextLine(content, start)
		at = next
		found, last := r.match(line)
		if found < 0 {
			continue
		}
		r.end(start)
		r.levels = r.levels[:found+1]
		of := &r.levels[found]
		if of.isClosed = last; last {
			continue
		}
		if r.count++; r.count > r.limit {
			return nil, false, &document.LimitError{Detail: fmt.Sprintf("the mail has more than %d parts", r.limit)}
		}
		child := &entity{}
		of.entity.children = append(of.entity.children, child)
		standard := "text/plain"
		if of.entity.kind == "multipart/digest" {
			standard = "message/rfc822"
		}
		at = r.begin(child, next, standard)
	}
	r.end(len(content))
	fixMultiparts(root)
	return root, root.isMultipart() && !r.levels[0].isClosed, nil
}

// delimiter returns the start of the next line with two dashes, or -1.
func delimiter(content []byte, at int) int {
	if bytes.HasPrefix(content[at:], []byte("--")) && (at == 0 || content[at-1] == '\n') {
		return at
	}
	next := bytes.Index(content[at:], []byte("\n--"))
	if next < 0 {
		return -1
	}
	return at + next + 1
}

// begin reads the header of a part and returns the start of its body.
func (r *partReader) begin(e *entity, at int, standard string) int {
	e.header, e.start = readHeader(r.content, at, func(line []byte) bool {
		if len(r.levels) == 0 || !bytes.HasPrefix(line, []byte("--")) {
			return false
		}
		found, _ := r.match(line)
		return found >= 0
	})
	e.kind, e.parameters = mediaType(e.header["content-type"])
	if !strings.Contains(e.kind, "/") {
		e.kind = standard
	}
	r.open = e
	if !strings.HasPrefix(e.kind, "multipart/") {
		return e.start
	}
	boundary := []byte(strings.TrimRight(e.parameters["boundary"], " \t"))
	if len(boundary) == 0 {
		boundary = r.guessBoundary(e.start)
	}
	switch {
	case len(boundary) == 0:
		e.kind = "text/plain"
	case len(r.levels) >= maxMultiparts:
		e.tooDeep = true
	default:
		r.levels = append(r.levels, level{entity: e, boundary: boundary})
	}
	return e.start
}

// guessBoundary returns the first line with two dashes as the boundary of a multipart that declares none.
func (r *partReader) guessBoundary(at int) []byte {
	for range 20 {
		if at >= len(r.content) {
			break
		}
		line, next := nextLine(r.content, at)
		at = next
		if name, found := bytes.CutPrefix(bytes.TrimRight(line, " \t"), []byte("--")); found && len(name) > 0 {
			return name
		}
	}
	return nil
}

// match returns the index of the open multipart whose delimiter a line is, or -1, and whether it is the last delimiter.
func (r *partReader) match(line []byte) (found int, last bool) {
	name := bytes.TrimRight(line[min(2, len(line)):], " \t\r")
	for i := len(r.levels) - 1; i >= 0; i-- {
		boundary := r.levels[i].boundary
		switch {
		case len(name) == len(boundary) && bytes.Equal(name, boundary):
			return i, false
		case len(name) == len(boundary)+2 && bytes.HasPrefix(name, boundary) && bytes.HasSuffix(name, []byte("--")):
			return i, true
		}
	}
	return -1, false
}

// end ends the body of the open part. The line end before a delimiter belongs to the delimiter.
func (r *partReader) end(at int) {
	if r.open == nil {
		return
	}
	body := r.content[min(r.open.start, at):at]
	if at < len(r.content) {
		body = bytes.TrimSuffix(bytes.TrimSuffix(body, []byte("\n")), []byte("\r"))
	}
	r.open.body = body
	r.open = nil
}

// fixMultiparts turns multiparts without parts into plain text.
func fixMultiparts(e *entity) {
	if e.isMultipart() && len(e.children) == 0 {
		e.kind = "text/plain"
	}
	for _, child := range e.children {
		fixMultiparts(child)
	}
}

// headerStart returns the start of a mail's header, after blank lines and the lines that mailboxes and some programs
// put before it.
func headerStart(content []byte) int {
	at := 0
	if bytes.HasPrefix(content, []byte("\xEF\xBB\xBF")) {
		at = 3
	}
	for at < len(content) {
		line, next := nextLine(content, at)
		if len(bytes.TrimSpace(line)) > 0 && !bytes.HasPrefix(line, []byte("From ")) && !bytes.HasPrefix(line, []byte(">From ")) {
			break
		}
		at = next
	}
	return at
}
