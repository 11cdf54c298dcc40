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

// documentAge is the max-age of a published document in seconds.
const documentAge = 300

// OpenAPI returns a handler that publishes the OpenAPI 3.1 document of both surfaces.
// The document is built once, with the version of the program. It fails when a route
// cannot be described.
func (t *Transport) OpenAPI(version string) (http.Handler, error) {
	out, err := t.describe(newTable(), version)
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(out); err != nil {
		return nil, fmt.Errorf("rest: encode the OpenAPI document: %w", err)
	}
	return Publish("application/json", buffer.Bytes()), nil
}

// Publish returns a handler that serves a document of UTF-8 text without authentication
// and for any origin, with an ETag.
func Publish(mediaType string, document []byte) http.Handler {
	sum := sha256.Sum256(document)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", mediaType+"; charset=utf-8")
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
	}).Handler(serve)
}
