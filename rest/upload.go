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
)

const (
	// inMemory is how much of an uploaded file is kept in memory; more goes to a
	// temporary file.
	inMemory = 256 << 10
	// pathLength bounds one value of the paths field, in bytes.
	pathLength = 4 << 10
)

// uploads are the files of one request, until it has been answered.
type uploads struct{ files []*os.File }

// discard closes and removes what was spooled. It does nothing for nil.
func (u *uploads) discard() {
	if u == nil {
		return
	}
	for _, f := range u.files {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
}

// upload reads a multipart body part by part: files, repeated, and optionally
// paths, one for each file in the same order. Nothing is stored before all of
// it has been read.
func (x *exchange) upload(values variables) (*uploads, error) {
	parts, end, err := x.multipartReader()
	if err != nil {
		return nil, err
	}
	u := &uploads{}
	var files, paths []any
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) && end.seen {
			break
		}
		if err != nil {
			return u, x.unreadable(err)
		}
		switch strings.TrimSuffix(part.FormName(), "[]") {
		case "files":
			if len(files) == x.t.limits.Files {
				return u, apierr.New(apierr.TooLarge, fmt.Sprintf("One request may upload at most %d files", x.t.limits.Files))
			}
			file, err := x.uploadedFile(part, u)
			if err != nil {
				return u, err
			}
			files = append(files, file)
		case "paths":
			path, err := x.uploadedPath(part)
			if err != nil {
				return u, err
			}
			paths = append(paths, path)
		}
	}
	switch {
	case len(files) == 0:
		return u, apierr.Invalid("files", "is required: one part of this name for each file")
	case len(paths) > 0 && len(paths) != len(files):
		return u, apierr.Invalid("paths", fmt.Sprintf("must be given once for each file, or not at all: there are %d for %d files", len(paths), len(files)))
	}
	values["files"] = files
	if len(paths) > 0 {
		values["paths"] = paths
	}
	return u, nil
}

func (x *exchange) multipartReader() (*multipart.Reader, *endReader, error) {
	const wanted = "send the files as Content-Type: multipart/form-data with a boundary"
	kind, parameters, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || parameters["boundary"] == "" {
		return nil, nil, apierr.New(apierr.UnsupportedMediaType, wanted)
	}
	body := http.MaxBytesReader(x.w, x.r.Body, x.t.limits.Upload)
	end := &endReader{from: &patientReader{x: x, from: body}, mark: []byte("--" + parameters["boundary"] + "--")}
	return multipart.NewReader(end, parameters["boundary"]), end, nil
}

// endReader watches for the closing boundary go by: the library takes a body
// that was cut off between two parts for a whole one.
type endReader struct {
	from io.Reader
	mark []byte
	tail []byte // the last bytes read, where the mark may have begun
	seen bool
}

func (e *endReader) Read(b []byte) (int, error) {
	n, err := e.from.Read(b)
	if n > 0 && !e.seen {
		window := append(e.tail, b[:n]...)
		e.seen = bytes.Contains(window, e.mark)
		e.tail = append(e.tail[:0], window[max(0, len(window)-len(e.mark)+1):]...)
	}
	return n, err
}

// patientReader gives each read of a long body its own time, so that a large
// upload may take as long as it keeps coming.
type patientReader struct {
	x    *exchange
	from io.Reader
}

func (p *patientReader) Read(b []byte) (int, error) {
	_ = p.x.control.SetReadDeadline(time.Now().Add(p.x.t.limits.Read)) // the wall clock: it is the connection's
	n, err := p.from.Read(b)
	if err != nil {
		_ = p.x.control.SetReadDeadline(time.Time{}) // else it would end the request as if the client had left
	}
	return n, err
}

func (x *exchange) unreadable(err error) error {
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return apierr.New(apierr.TooLarge, "One upload may have at most "+bytesText(x.t.limits.Upload))
	}
	return apierr.New(apierr.InvalidRequest, "The multipart body is malformed or ends too early")
}

// uploadedFile takes one file: small ones into memory, others onto disk.
func (x *exchange) uploadedFile(part *multipart.Part, u *uploads) (graphql.Upload, error) {
	name := part.FileName()
	if name == "" || name == "." || name == "/" || badText(name) != "" {
		return graphql.Upload{}, apierr.Invalid("files", "every part needs a file name")
	}
	made := graphql.Upload{Filename: name, ContentType: part.Header.Get("Content-Type")}
	if badText(made.ContentType) != "" {
		made.ContentType = ""
	}
	var head bytes.Buffer
	n, err := io.CopyN(&head, part, min(inMemory, x.t.limits.File+1))
	if err != nil && !errors.Is(err, io.EOF) {
		return graphql.Upload{}, x.unreadable(err)
	}
	made.Size, made.File = n, bytes.NewReader(head.Bytes())
	if err == nil && n <= x.t.limits.File { // there may be more
		made.File, made.Size, err = x.spool(head.Bytes(), part, u)
		if err != nil {
			return graphql.Upload{}, err
		}
	}
	if made.Size > x.t.limits.File {
		return graphql.Upload{}, apierr.New(apierr.TooLarge, "A file may have at most "+bytesText(x.t.limits.File)+": "+strconv.Quote(name))
	}
	return made, nil
}

// spool puts a large file's beginning and rest into a temporary file.
func (x *exchange) spool(head []byte, part io.Reader, u *uploads) (*os.File, int64, error) {
	f, err := os.CreateTemp(x.t.uploadDir, "magpie-upload-*")
	if err != nil {
		return nil, 0, apierr.Wrap("make a temporary file", err)
	}
	u.files = append(u.files, f)
	body := &countedReader{from: io.LimitReader(io.MultiReader(bytes.NewReader(head), part), x.t.limits.File+1)}
	n, err := io.Copy(f, body)
	switch {
	case body.failed != nil:
		return nil, 0, x.unreadable(body.failed)
	case err != nil:
		return nil, 0, apierr.Wrap("write a temporary file", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, 0, apierr.Wrap("rewind a temporary file", err)
	}
	return f, n, nil
}

// countedReader remembers a failure to read, to tell it from one to write.
type countedReader struct {
	from   io.Reader
	failed error
}

func (c *countedReader) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n, err
}

func (x *exchange) uploadedPath(part io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(part, pathLength+1))
	if err != nil {
		return "", x.unreadable(err)
	}
	if len(raw) > pathLength {
		return "", apierr.Invalid("paths", fmt.Sprintf("must have at most %d bytes each", pathLength))
	}
	if wrong := badText(string(raw)); wrong != "" {
		return "", apierr.Invalid("paths", wrong)
	}
	return string(raw), nil
}

// bytesText writes a size for people.
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
