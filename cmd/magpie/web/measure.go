package web

import (
	"net/http"

	"github.com/magpie-search/magpie/cmd/magpie/metrics"
)

// measure counts and times requests by surface.
func measure(m *metrics.Metrics, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ended := m.Request(surfaceOf(r.URL.Path), methodOf(r.Method))
		defer func() {
			status := http.StatusOK
			if r, ok := w.(*recorder); ok {
				status = r.status()
			}
			ended(status)
		}()
		next.ServeHTTP(w, r)
	})
}

func surfaceOf(path string) string {
	switch {
	case path == "/graphql":
		return "graphql"
	case below(path, "/v1"):
		return "public"
	case below(path, "/api/v1"):
		return "dashboard"
	case below(path, "/webhooks"):
		return "webhooks"
	default:
		return "other"
	}
}

func methodOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "other"
	}
}
