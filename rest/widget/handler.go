package widget

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// The places of the files.
const (
	ClientPath = "/magpie.js"
	TypesPath  = "/magpie.d.ts"
	ScriptPath = "/widget.js"
)

const (
	javaScript = "text/javascript; charset=utf-8"
	typeScript = "text/x.typescript; charset=utf-8"
	// keep lets a browser use a file for an hour, and for a day more while it
	// asks whether there is a new one: pages name the files without a version.
	keep = "public, max-age=3600, stale-while-revalidate=86400"
)

// Handler answers the files at their places, and 404 elsewhere. Any site may
// load them. It is safe for use by many requests.
type Handler struct {
	files map[string]file
}

type file struct {
	kind          string
	plain, zipped body
}

// body is a form in which a file is sent.
type body struct {
	content []byte
	tag     string // of exactly these bytes
}

// New makes the handler. An error is one of the program itself.
func New() (*Handler, error) {
	joined, err := script()
	if err != nil {
		return nil, err
	}
	client, err := asset("client.js")
	if err != nil {
		return nil, err
	}
	types, err := asset("magpie.d.ts")
	if err != nil {
		return nil, err
	}
	h := &Handler{files: make(map[string]file)}
	for path, f := range map[string]struct {
		kind    string
		content []byte
	}{ScriptPath: {javaScript, joined}, ClientPath: {javaScript, client}, TypesPath: {typeScript, types}} {
		zipped, err := compress(f.content)
		if err != nil {
			return nil, err
		}
		h.files[path] = file{f.kind, newBody(f.content), newBody(zipped)}
	}
	return h, nil
}

// Serves reports whether a path is one of the files'.
func (h *Handler) Serves(path string) bool {
	_, ok := h.files[path]
	return ok
}

// ServeHTTP answers GET and HEAD; other methods are for the caller to refuse.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := h.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	sent := f.plain
	header.Set("Vary", "Accept-Encoding")
	if accepts(r.Header, "gzip") {
		sent = f.zipped
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("Content-Type", f.kind)
	header.Set("Cache-Control", keep)
	header.Set("ETag", sent.tag)
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if r.URL.Path == ClientPath {
		header.Set("X-TypeScript-Types", "."+TypesPath)
		header.Set("Access-Control-Expose-Headers", "X-TypeScript-Types")
	}
	if matches(r.Header, sent.tag) {
		header.Del("Content-Encoding") // it says how the body is, and there is none
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(sent.content)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(sent.content) // nothing can be done when the client has left
}

func newBody(content []byte) body {
	sum := sha256.Sum256(content)
	return body{content, `"` + hex.EncodeToString(sum[:16]) + `"`}
}

func compress(content []byte) ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = zip.Write(content)
	}
	if err == nil {
		err = zip.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compress the widget: %w", err)
	}
	return out.Bytes(), nil
}

// accepts reports whether a coding is named as welcome.
func accepts(h http.Header, coding string) bool {
	for _, line := range h.Values("Accept-Encoding") {
		for offer := range strings.SplitSeq(line, ",") {
			name, rest, _ := strings.Cut(offer, ";")
			if !strings.EqualFold(strings.TrimSpace(name), coding) {
				continue
			}
			quality, given := strings.CutPrefix(strings.TrimSpace(rest), "q=")
			weight, err := strconv.ParseFloat(quality, 64)
			return !given || err == nil && weight > 0
		}
	}
	return false
}

// matches reports whether the client has the file with this tag already.
func matches(h http.Header, tag string) bool {
	for _, line := range h.Values("If-None-Match") {
		for candidate := range strings.SplitSeq(line, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == tag || candidate == "*" {
				return true
			}
		}
	}
	return false
}
