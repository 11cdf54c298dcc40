package rest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/rs/cors"

	"github.com/magpie-search/magpie/internal/request/requestid"
)

// documentAge is how long a copy of the description may be used unasked, in seconds.
const documentAge = 300

// OpenAPI serves the interface's description, an OpenAPI 3.1 document of both
// surfaces, to anybody: GET and HEAD, pages of any origin. It is written once,
// here; version is the program's. It fails when a route cannot be described.
func (t *Transport) OpenAPI(version string) (http.Handler, error) {
	made, err := t.describe(newTable(), version)
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(made); err != nil {
		return nil, fmt.Errorf("rest: write the description: %w", err)
	}
	document := written.Bytes()
	sum := sha256.Sum256(document)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/json; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", documentAge))
		h.Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(document))
	})
	return cors.New(cors.Options{
		AllowedOrigins: []string{"*"},
		AllowedMethods: []string{http.MethodGet, http.MethodHead},
		AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{"ETag", requestid.Header},
		MaxAge:         corsAge,
	}).Handler(serve), nil
}
