package rest

import (
	"net/http"

	"github.com/rs/cors"

	"github.com/magpie-search/magpie/internal/request/requestid"
)

// corsAge is the lifetime of a preflight response in seconds.
const corsAge = 600

// PublicCORS returns the CORS policy of /v1, which allows any origin. Its
// authentication is a header and no cookie.
func PublicCORS() *cors.Cors {
	return cors.New(cors.Options{
		AllowedOrigins: []string{"*"},
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{conversationHeader, requestid.Header, limitHeader, remainingHeader, resetHeader, "Retry-After"},
		MaxAge:         corsAge,
	})
}

// DashboardCORS returns the CORS policy of /api/v1 and /graphql, which allows the
// origins; "*" is any. Without origins it allows none, unlike rs/cors.
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

// credentialCORS returns DashboardCORS with credentials, for a path that sets a
// cookie.
func credentialCORS(origins []string) *cors.Cors {
	o := dashboardCORS(origins)
	o.AllowCredentials = true
	return cors.New(o)
}

// Handler returns a handler that serves the REST interface by server, with CORS and
// request IDs, and all other requests by next. The server must have the transport.
// There must be no ServeMux before the handler, since it redirects some paths.
func (t *Transport) Handler(server, next http.Handler) http.Handler {
	public, dashboard := PublicCORS().Handler(server), DashboardCORS(t.origins).Handler(server)
	credentials := credentialCORS(t.origins).Handler(server)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := t.requestID(r)
		w.Header().Set(requestid.Header, id)
		r = r.WithContext(requestid.With(r.Context(), id))
		switch {
		case !Owns(r.URL.Path):
			next.ServeHTTP(w, r)
		case t.allowsCredentials(r.URL.Path):
			credentials.ServeHTTP(w, r)
		case isDashboard(r.URL.Path):
			dashboard.ServeHTTP(w, r)
		default:
			public.ServeHTTP(w, r)
		}
	})
}
