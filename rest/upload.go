package rest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
)

const (
	// maxInMemory is the size of files that are kept in memory. Larger ones are
	// written to a temporary file.
	maxInMemory = 256 << 10
	// maxPathBytes is the maximum length of a value of the field paths.
	maxPathBytes = 4 << 10
)

// uploads has the temporary files of a request.
type uploads struct{ files []*os.File }

// discard closes and removes the files.
func (u uploads) discard() {
	for _, f := range u.files {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
}

// upload reads a multipart body with the repeated fields files and, optionally,
// paths, one for each file in the same order. The operation starts after the whole
// body was read.
func (x *exchange) upload(values variables) (u uploads, err error) {
	parts, end, err := x.multipartReader()
	if err != nil {
		return u, err
	}
	var files, paths []any
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) && end.found {
			break
		}
		if err != nil {
			return u, x.uploadError(err)
		}
		switch strings.TrimSuffix(part.FormName(), "[]") {
		case "files":
			if len(files) == x.t.limits.Files {
				return u, apierr.New(apierr.TooLarge, fmt.Sprintf("One request may upload at most %d files", x.t.limits.Files))
			}
			file, err := x.readFile(part, &u)
			if err != nil {
				return u, err
			}
			files = append(files, file)
		case "paths":
			path, err := x.readFilePath(part)
			if err != nil {
				return u, err
			}
			paths = append(paths, path)
		}
	}
	switch {
	case len(files) == 0:
		return u, apierr.Invalid("files", "is required: one part with this name for each file")
	case len(paths) > 0 && len(paths) != len(files):
		return u, apierr.Invalid("paths", fmt.Sprintf("must be given once for each file, or not at all: there are %d for %d files", len(paths), len(files)))
	}
	values["files"] = files
	if len(paths) > 0 {
		values["paths"] = paths
	}
	return u, nil
}

func (x *exchange) multipartReader() (*multipart.Reader, *boundaryReader, error) {
	const message = "send the files as Content-Type: multipart/form-data with a boundary"
	kind, parameters, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || parameters["boundary"] == "" {
		return nil, nil, apierr.New(apierr.UnsupportedMediaType, message)
	}
	body := http.MaxBytesReader(x.w, x.r.Body, x.t.limits.Upload)
	end := &boundaryReader{from: &deadlineReader{x: x, from: body}, boundary: []byte("--" + parameters["boundary"] + "--")}
	return multipart.NewReader(end, parameters["boundary"]), end, nil
}

// boundaryReader searches for the closing boundary, since mime/multipart accepts a
// body that was truncated between two parts.
type boundaryReader struct {
	from     io.Reader
	boundary []byte
	tail     []byte // the last bytes, which may be the start of the boundary
	found    bool
}

func (e *boundaryReader) Read(b []byte) (int, error) {
	n, err := e.from.Read(b)
	if n > 0 && !e.found {
		window := append(e.tail, b[:n]...)
		e.found = bytes.Contains(window, e.boundary)
		e.tail = append(e.tail[:0], window[max(0, len(window)-len(e.boundary)+1):]...)
	}
	return n, err
}

// deadlineReader sets a new deadline for each read, so that a large upload may take
// any time while it makes progress.
type deadlineReader struct {
	x    *exchange
	from io.Reader
}

func (p *deadlineReader) Read(b []byte) (int, error) {
	_ = p.x.control.SetReadDeadline(time.Now().Add(p.x.t.limits.Read)) // the wall clock, which deadlines use
	n, err := p.from.Read(b)
	if err != nil {
		_ = p.x.control.SetReadDeadline(time.Time{}) // otherwise it would cancel the request like a disconnect
	}
	return n, err
}

// uploadError converts an error of reading a multipart body.
func (x *exchange) uploadError(err error) error {
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return apierr.New(apierr.TooLarge, "One upload may have at most "+bytesText(x.t.limits.Upload))
	}
	return apierr.New(apierr.InvalidRequest, "The multipart body is malformed or ends too early")
}

// readFile reads a file into memory, or into a temporary file when it is large.
func (x *exchange) readFile(part *multipart.Part, u *uploads) (graphql.Upload, error) {
	name := part.FileName()
	if name == "" || name == "." || name == "/" || check.Unstorable(name) != "" {
		return graphql.Upload{}, apierr.Invalid("files", "every part needs a file name")
	}
	file := graphql.Upload{Filename: name, ContentType: part.Header.Get("Content-Type")}
	if check.Unstorable(file.ContentType) != "" {
		file.ContentType = ""
	}
	var head bytes.Buffer
	n, err := io.CopyN(&head, part, min(maxInMemory, x.t.limits.File+1))
	if err != nil && !errors.Is(err, io.EOF) {
		return graphql.Upload{}, x.uploadError(err)
	}
	file.Size, file.File = n, bytes.NewReader(head.Bytes())
	if err == nil && n <= x.t.limits.File { // the file may be longer
		file.File, file.Size, err = x.spool(head.Bytes(), part, u)
		if err != nil {
			return graphql.Upload{}, err
		}
	}
	if file.Size > x.t.limits.File {
		return graphql.Upload{}, apierr.New(apierr.TooLarge, "A file may have at most "+bytesText(x.t.limits.File)+": "+strconv.Quote(name))
	}
	return file, nil
}

// spool writes the first bytes and the rest of a large file to a temporary file.
func (x *exchange) spool(head []byte, part io.Reader, u *uploads) (*os.File, int64, error) {
	f, err := os.CreateTemp(x.t.uploadDir, "magpie-upload-*")
	if err != nil {
		return nil, 0, apierr.Wrap("create temporary file", err)
	}
	u.files = append(u.files, f)
	body := &errorReader{from: io.LimitReader(io.MultiReader(bytes.NewReader(head), part), x.t.limits.File+1)}
	n, err := io.Copy(f, body)
	switch {
	case body.err != nil:
		return nil, 0, x.uploadError(body.err)
	case err != nil:
		return nil, 0, apierr.Wrap("write temporary file", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, 0, apierr.Wrap("rewind temporary file", err)
	}
	return f, n, nil
}

// errorReader records a read error, to distinguish it from a write error.
type errorReader struct {
	from io.Reader
	err  error
}

func (c *errorReader) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}

func (x *exchange) readFilePath(part io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(part, maxPathBytes+1))
	if err != nil {
		return "", x.uploadError(err)
	}
	if len(raw) > maxPathBytes {
		return "", apierr.Invalid("paths", fmt.Sprintf("must have at most %d bytes each", maxPathBytes))
	}
	if wrong := check.Unstorable(string(raw)); wrong != "" {
		return "", apierr.Invalid("paths", wrong)
	}
	return string(raw), nil
}

// bytesText formats a size for messages.
func bytesText(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
