package authserver

import (
	"fmt"
	"net/http"
	"time"
)

// Fault is how the server fails once.
type Fault struct {
	// Status and Error are what is answered, as an error of OAuth; 500 without
	// an error is the page of a broken proxy. 0 answers as always, afterwards.
	Status int
	Error  string
	// Hold is waited for before anything else, at most until the client leaves.
	Hold <-chan struct{}
	// After answers as always, but for the client the answer is lost: what the
	// server did, it did.
	After bool
}

// Fail makes the next requests to a path fail, one after the other.
func (s *Server) Fail(path string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[path] = append(s.faults[path], faults...)
}

// failed counts the request and plays the next fault of its path; true when
// there is nothing more to answer.
func (s *Server) failed(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	s.requests[r.URL.Path]++
	queue := s.faults[r.URL.Path]
	var fault Fault
	if len(queue) > 0 {
		fault, s.faults[r.URL.Path] = queue[0], queue[1:]
	}
	s.mu.Unlock()
	if fault.Hold != nil {
		select {
		case <-fault.Hold:
		case <-r.Context().Done():
			return true
		case <-time.After(time.Minute): // a test that forgot it
		}
	}
	switch {
	case fault.After:
		s.token(discard{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	case fault.Status == 0:
		return false
	case fault.Error != "":
		writeError(w, fault.Status, fault.Error, "as the test wants it")
	default:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(fault.Status)
		_, _ = fmt.Fprint(w, "<html><body>Something is broken here.</body></html>") // the client has left
	}
	return true
}

// discard is an answer that nobody gets.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
