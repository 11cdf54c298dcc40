package authserver

import (
	"fmt"
	"net/http"
	"time"
)

// Fault describes the failure of one request.
type Fault struct {
	// Status and Error are the answer, an OAuth error. Without Error, the answer is
	// the HTML page of a proxy. With status 0 the request succeeds.
	Status int
	Error  string
	// Hold delays the request until it is closed or the client disconnects.
	Hold <-chan struct{}
	// After processes the request and then closes the connection without an answer.
	After bool
}

// Fail makes the next requests to a path fail, each with one of the faults.
func (s *Server) Fail(path string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[path] = append(s.faults[path], faults...)
}

// fail counts the request and applies the next fault of its path. It reports
// whether the request is finished.
func (s *Server) fail(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	s.requests[r.URL.Path]++
	queue := s.faults[r.URL.Path]
	var fault Fault
	if len(queue) > 0 {
		fault, s.faults[r.URL.Path] = queue[0], queue[1:]
	}
	s.mu.Unlock()
	if fault.Hold != nil {
		timer := time.NewTimer(time.Minute) // in case the test does not close it
		defer timer.Stop()
		select {
		case <-fault.Hold:
		case <-r.Context().Done():
			return true
		case <-timer.C:
		}
	}
	switch {
	case fault.After:
		s.token(discardWriter{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	case fault.Status == 0:
		return false
	case fault.Error != "":
		writeError(w, fault.Status, fault.Error, "injected fault")
	default:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(fault.Status)
		_, _ = fmt.Fprint(w, "<html><body>Something is broken here.</body></html>") // the client has left
	}
	return true
}

// discardWriter discards the answer.
type discardWriter struct{ header http.Header }

func (d discardWriter) Header() http.Header         { return d.header }
func (d discardWriter) Write(b []byte) (int, error) { return len(b), nil }
func (d discardWriter) WriteHeader(int)             {}
