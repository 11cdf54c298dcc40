package rest

import (
	"net/http"

	"github.com/rs/cors"

	"github.com/magpie-search/magpie/internal/request/requestid"
)

// corsAge is how long a browser may keep the answer to a preflight, in seconds.
const corsAge = 600

// PublicCORS lets pages of any origin use /v1: its authentication is a header
// that a page has to send itself, and no cookie.
func PublicCORS() *cors.Cors {
	return cors.New(cors.Options{
		AllowedOrigins: []string{"*"},
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{conversationHeader, requestid.Header, limitHeader, remainingHeader, resetHeader, "Retry-After"},
		MaxAge:         corsAge,
	})
}

// DashboardCORS lets pages of the given origins use /api/v1 and /graphql; "*" is
// any origin. Without any it lets none, which is not what an empty list means
// to the library.
func DashboardCORS(origins []string) *cors.Cors { return cors.New(dashboardCORS(origins)) }

func dashboardCORS(origins []string) cors.Options {
	o := cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{"Accept", "Authorization", "Content-Type", requestid.Header},
		ExposedHeaders: []string{requestid.Header, "Retry-After"},
		MaxAge:         corsAge,
	}
	if len(origins) == 0 {
		o.AllowOriginFunc = func(string) bool { return false }
	}
	return o
}

// keepingCORS is DashboardCORS for a path whose cookie the browser has to keep.
func keepingCORS(origins []string) *cors.Cors {
	o := dashboardCORS(origins)
	o.AllowCredentials = true
	return cors.New(o)
}

// Handler serves the REST interface through server, which t has been added to,
// with CORS and request ids, and hands every other request to next. It goes by
// the path as it came: a ServeMux before it would answer some with redirects.
func (t *Transport) Handler(server, next http.Handler) http.Handler {
	public, dashboard := PublicCORS().Handler(server), DashboardCORS(t.origins).Handler(server)
	keeping := keepingCORS(t.origins).Handler(server)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := t.identify(r)
		w.Header().Set(requestid.Header, id)
		r = r.WithContext(requestid.With(r.Context(), id))
		switch {
		case !Owns(r.URL.Path):
			next.ServeHTTP(w, r)
		case t.takesCookies(r.URL.Path):
			keeping.ServeHTTP(w, r)
		case isDashboard(r.URL.Path):
			dashboard.ServeHTTP(w, r)
		default:
			public.ServeHTTP(w, r)
		}
	})
}
