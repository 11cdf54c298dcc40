package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
)

// schemaPath is the path of the GraphQL schema in the schema definition language.
const schemaPath = "/schema.graphql"

// schemaHandler serves the schema to those who may read it by introspection: signed-in
// people. Their programs may keep it and revalidate it by its ETag.
func schemaHandler(o Options) http.Handler {
	sum := sha256.Sum256(o.Schema)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Values("Authorization")
		if len(given) != 1 {
			writeError(w, apierr.New(apierr.Unauthorized, "Session required"))
			return
		}
		if _, err := bearer(r.Context(), o.Accounts, given[0]); err != nil {
			writeError(w, err)
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/graphql; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "private, no-cache")
		h.Set("Vary", "Authorization")
		h.Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(o.Schema))
	})
}
