package dashboard_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// vectors is a stand-in of an embedding service. Its answers about lamps can be held: those about documents, and not those
// with which a model is tried before a change to it.
type vectors struct {
	url string

	mu   sync.Mutex
	held chan struct{} // nil while texts are answered
}

func newVectors(t *testing.T) *vectors {
	t.Helper()
	v := &vectors{}
	server := httptest.NewServer(v)
	t.Cleanup(func() { v.release(); server.Close() })
	v.url = server.URL + "/v1"
	return v
}

func (v *vectors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	v.mu.Lock()
	held := v.held
	v.mu.Unlock()
	if held != nil && slices.ContainsFunc(request.Input, func(text string) bool { return strings.Contains(text, "lamp") }) {
		select {
		case <-held:
		case <-r.Context().Done():
			return
		}
	}
	rows := make([]object, len(request.Input))
	for i, text := range request.Input {
		rows[i] = object{"object": "embedding", "index": i, "embedding": []int{1, len(text) % 7, len(text) % 11, len(text) % 13}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"object": "list", "data": rows})
}

// hold keeps the answers until release.
func (v *vectors) hold() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.held = make(chan struct{})
}

func (v *vectors) release() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.held != nil {
		close(v.held)
	}
	v.held = nil
}
