package dashboard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/internal/request/compress"
)

const (
	indexName   = "index.html"
	assetFolder = "assets/"
	// placeholder is the text of the page that the nonce of a response replaces.
	placeholder = "__CSP_NONCE__"
	svg         = "image/svg+xml"
	html        = "text/html; charset=utf-8"
	// maxFiles is the maximum number of files of a site.
	maxFiles = 2000
)

// Values of Cache-Control. The name of an asset has the hash of its content; the page
// names the assets of this version.
const (
	forever = "public, max-age=31536000, immutable"
	anHour  = "public, max-age=3600"
	never   = "no-store"
)

// policy is the content security policy of the page, around the nonce for the styles
// that its scripts add.
const (
	policyBefore = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-"
	policyAfter  = "'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

// Policies of files that are documents when they are opened. The site's own pages of
// HTML are shown inside the dashboard: the preview of the widget, which needs scripts
// and requests to this service.
const (
	policyOfPictures = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
	policyOfPages    = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)

// kinds are the media types of the files of a site, by extension.
func kinds() map[string]string {
	return map[string]string{
		".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": svg, ".html": html, ".json": "application/json",
		".webmanifest": "application/manifest+json", ".txt": "text/plain; charset=utf-8", ".png": "image/png", ".ico": "image/x-icon", ".woff2": "font/woff2",
	}
}

// Handler serves a site: its files by ServeHTTP, and its page by Page. It is safe for
// concurrent use.
type Handler struct {
	files map[string]*file // by path
	page  []string         // the parts of the page between nonces
}

// file is a file of a site.
type file struct {
	kind, cache string
	plain       []byte
	// zipped returns the content in gzip, which is made once; nil if it is not smaller.
	zipped func() []byte
}

// New returns a handler of a built site: index.html with a placeholder for the nonce,
// the folder assets, and further files beside index.html. Hidden files and GraphQL
// documents are for tests, and are not served. It fails for a file of an unknown kind.
func New(site fs.FS) (*Handler, error) {
	index, err := fs.ReadFile(site, indexName)
	if err != nil {
		return nil, fmt.Errorf("read the dashboard: %w", err)
	}
	h := &Handler{files: map[string]*file{}, page: strings.Split(string(index), placeholder)}
	if len(h.page) < 2 {
		return nil, errors.New("the page of the dashboard has no " + placeholder)
	}
	err = fs.WalkDir(site, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == indexName || strings.HasPrefix(path.Base(name), ".") || path.Ext(name) == ".graphql" {
			return err
		}
		if len(h.files) == maxFiles {
			return fmt.Errorf("there are more than %d files", maxFiles)
		}
		f, err := read(site, name)
		h.files["/"+name] = f
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the dashboard: %w", err)
	}
	return h, nil
}

// read reads a file of a site.
func read(site fs.FS, name string) (*file, error) {
	kind, ok := kinds()[path.Ext(name)]
	if !ok {
		return nil, fmt.Errorf("%s: files of this kind have no media type", name)
	}
	content, err := fs.ReadFile(site, name)
	if err != nil {
		return nil, err
	}
	f := &file{kind: kind, cache: anHour, plain: content}
	if strings.HasPrefix(name, assetFolder) {
		f.cache = forever
	}
	f.zipped = sync.OnceValue(func() []byte { return compress.Gzip(content) })
	return f, nil
}

// Serves reports whether the path is that of a file of the site.
func (h *Handler) Serves(path string) bool { return h.files[path] != nil }

// ServeHTTP serves a file to GET and HEAD, and 404 for other paths. The caller must
// reject other methods.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := h.files[r.URL.Path]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	content := f.plain
	header.Set("Vary", "Accept-Encoding")
	if compress.AcceptsGzip(r.Header) {
		if zipped := f.zipped(); zipped != nil {
			content = zipped
			header.Set("Content-Encoding", "gzip")
		}
	}
	header.Set("Content-Type", f.kind)
	header.Set("Cache-Control", f.cache)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	switch f.kind {
	case svg:
		header.Set("Content-Security-Policy", policyOfPictures)
	case html:
		header.Set("Content-Security-Policy", policyOfPages)
		header.Set("Referrer-Policy", "same-origin")
	}
	write(w, r, content)
}

// Page serves the page to GET and HEAD, whatever the path: scripts in it show what the
// path names.
func (h *Handler) Page(w http.ResponseWriter, r *http.Request) {
	nonce := rand.Text()
	header := w.Header()
	header.Set("Content-Type", html)
	header.Set("Cache-Control", never)
	header.Add("Vary", "Accept")
	header.Set("Content-Security-Policy", policyBefore+nonce+policyAfter)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	write(w, r, []byte(strings.Join(h.page, nonce)))
}

// write writes a response with a length, and for GET its content.
func write(w http.ResponseWriter, r *http.Request, content []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(content) // the client may have disconnected
}

// Navigates reports whether a request is a browser that opens a page: it accepts HTML.
func Navigates(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	for _, line := range r.Header.Values("Accept") {
		for offer := range strings.SplitSeq(line, ",") {
			kind, _, _ := strings.Cut(offer, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "text/html") {
				return true
			}
		}
	}
	return false
}
