package dashboard_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// desk is a stand-in of a help desk that agents act on.
type desk struct {
	url string

	mu     sync.Mutex
	bodies []string
}

// openDesk starts a help desk. It has an OpenAPI document at /openapi.json.
func openDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, openAPI) // the reader may be gone
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what has come counts
		d.mu.Lock()
		d.bodies = append(d.bodies, string(body))
		d.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id": 7}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	d.url = server.URL
	return d
}

// received returns the bodies of the requests since the last call.
func (d *desk) received() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	bodies := d.bodies
	d.bodies = nil
	return bodies
}

// openAPI describes two operations of the desk.
const openAPI = `{
  "openapi": "3.0.3",
  "info": {"title": "Desk", "version": "1"},
  "paths": {
    "/lamps": {
      "get": {"operationId": "listLamps", "summary": "List the lamps", "responses": {"200": {"description": "The lamps"}}}
    },
    "/lamps/{id}": {
      "delete": {"operationId": "removeLamp", "summary": "Remove a lamp", "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
        "responses": {"200": {"description": "It is gone"}}}
    }
  }
}`
