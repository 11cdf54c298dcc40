package web

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/magpie-search/magpie/internal/apierr"
)

// profilesPath is the path below which the tool pprof expects profiles.
const profilesPath = "/debug/pprof/"

// NewProfiles returns the handler of profiles of the process, for a listener that only
// operators reach. Unlike the handlers of net/http/pprof it does not show the command
// line, which may have passwords.
func NewProfiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+profilesPath, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		switch strings.TrimPrefix(r.URL.Path, profilesPath) {
		case "profile":
			pprof.Profile(w, r)
		case "trace":
			pprof.Trace(w, r)
		case "symbol":
			pprof.Symbol(w, r)
		case "cmdline":
			writeError(w, apierr.NotFound("Profile"))
		default:
			pprof.Index(w, r)
		}
	})
	mux.HandleFunc("POST "+profilesPath+"symbol", pprof.Symbol)
	return mux
}
