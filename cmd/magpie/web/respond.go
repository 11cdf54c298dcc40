package web

import (
	"encoding/json"
	"net/http"

	"github.com/magpie-search/magpie/internal/apierr"
)

type errorBody struct {
	Code    apierr.Code `json:"code"`
	Message string      `json:"message"`
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
}

// writeError sends an error.
func writeError(w http.ResponseWriter, err error) {
	e := apierr.From(err)
	e.SetRetryAfter(w.Header())
	writeJSON(w, e.Code.Status(), map[string]any{"error": errorBody{e.Code, e.Message}})
}

// writeGraphQLError sends an error, also in the format of GraphQL.
func writeGraphQLError(w http.ResponseWriter, err error) {
	e := apierr.From(err)
	e.SetRetryAfter(w.Header())
	writeJSON(w, e.Code.Status(), map[string]any{
		"error":  errorBody{e.Code, e.Message},
		"errors": []any{map[string]any{"message": e.Message, "extensions": map[string]any{"code": e.Code}}},
	})
}
