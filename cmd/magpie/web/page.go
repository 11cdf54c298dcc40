package web

import (
	"embed"
	"net/http"
	"strings"

	"github.com/magpie-search/magpie/internal/apierr"
)

//go:embed page
var page embed.FS

// servePage serves the playground. Its content security policy allows no other host.
func servePage(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/playground"), "/")
	if r.URL.Path == "/playground" {
		// The paths of its files are relative.
		http.Redirect(w, r, "/playground/", http.StatusMovedPermanently)
		return
	}
	media := "text/html; charset=utf-8"
	switch name {
	case "":
		name = "index.html"
	case "widget.html":
	case "app.js", "widget-demo.js":
		media = "text/javascript; charset=utf-8"
	case "style.css":
		media = "text/css; charset=utf-8"
	default:
		writeError(w, apierr.NotFound("Page"))
		return
	}
	content, err := page.ReadFile("page/" + name)
	if err != nil {
		writeError(w, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", media)
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ws://"+r.Host+
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-cache")
	_, _ = w.Write(content) //nolint:gosec // an embedded page; the client may have disconnected
}
