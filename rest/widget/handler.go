package widget

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/request/compress"
)

// Paths of the files.
const (
	ClientPath = "/magpie.js"
	TypesPath  = "/magpie.d.ts"
	ScriptPath = "/widget.js"
)

const (
	// labelsFolder has the labels of the widget in other languages than English.
	labelsFolder = "/widget/"

	jsonType   = "application/json; charset=utf-8"
	javaScript = "text/javascript; charset=utf-8"
	typeScript = "text/x.typescript; charset=utf-8"
	// cacheControl allows browsers to use a file for an hour, and for another day while
	// they revalidate it, since the paths have no version.
	cacheControl = "public, max-age=3600, stale-while-revalidate=86400"
)

// Handler serves the files to pages of any origin, and 404 for other paths. It is
// safe for concurrent use.
type Handler struct {
	files map[string]file
}

type file struct {
	kind          string
	plain, zipped body
}

// body is an encoding of a file.
type body struct {
	content []byte
	tag     string // the ETag of the content
}

// New returns a handler. It fails only when the program was built incorrectly.
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
	catalogues, err := fs.Glob(assets, "asset/labels/*.json")
	if err != nil {
		return nil, fmt.Errorf("list the labels: %w", err)
	}
	for _, name := range catalogues {
		content, err := asset(strings.TrimPrefix(name, "asset/"))
		if err != nil {
			return nil, err
		}
		h.files[labelsFolder+path.Base(name)] = file{jsonType, newBody(content), newBody(compress.Gzip(content))}
	}
	for at, f := range map[string]struct {
		kind    string
		content []byte
	}{ScriptPath: {javaScript, joined}, ClientPath: {javaScript, client}, TypesPath: {typeScript, types}} {
		h.files[at] = file{f.kind, newBody(f.content), newBody(compress.Gzip(f.content))}
	}
	return h, nil
}

// Serves reports whether the path is that of a file.
func (h *Handler) Serves(path string) bool {
	_, ok := h.files[path]
	return ok
}

// ServeHTTP serves GET and HEAD. The caller must reject other methods.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := h.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	response := f.plain
	header.Set("Vary", "Accept-Encoding")
	if compress.AcceptsGzip(r.Header) {
		response = f.zipped
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("Content-Type", f.kind)
	header.Set("Cache-Control", cacheControl)
	header.Set("ETag", response.tag)
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if r.URL.Path == ClientPath {
		header.Set("X-TypeScript-Types", "."+TypesPath)
		header.Set("Access-Control-Expose-Headers", "X-TypeScript-Types")
	}
	if matches(r.Header, response.tag) {
		header.Del("Content-Encoding") // the response has no body
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(response.content)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(response.content) // the client may have disconnected
}

func newBody(content []byte) body {
	sum := sha256.Sum256(content)
	return body{content, `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// matches reports whether If-None-Match contains the ETag.
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
