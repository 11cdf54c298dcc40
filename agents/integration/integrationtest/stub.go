package integrationtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// A Stub is the stand-in of a platform with a JSON API. Every request needs the
// authorization of a person, has a route, and has no parameters or fields that the
// route does not know.
type Stub struct {
	// Authorized returns the person of a request, "" for none.
	Authorized func(r *http.Request) string
	// Failure returns the body of an unsuccessful answer. Nil gives {"message": text}.
	Failure func(status int, text string) any
	// Unstatused says that the platform answers failures with the status 200.
	Unstatused bool

	mu  sync.Mutex // held by handlers
	mux http.ServeMux
}

// An Answer is the answer of a route. Status 0 is 200. A nil Body is none.
type Answer struct {
	Status int
	Body   any
}

// Refused returns an unsuccessful answer.
func Refused(status int, text string) Answer { return Answer{status, refusal(text)} }

type refusal string

// A Call is a request to a route.
type Call struct {
	*http.Request
	Person string
	Query  url.Values
	// Content is the body.
	Content []byte

	failed error
}

// Decode decodes the JSON body, which has no other fields than out.
func (c *Call) Decode(out any) bool {
	d := json.NewDecoder(bytes.NewReader(c.Content))
	d.DisallowUnknownFields()
	if mediaType, _, _ := mime.ParseMediaType(c.Header.Get("Content-Type")); mediaType != "application/json" {
		c.failed = fmt.Errorf("the content type is %q", mediaType)
	} else if err := d.Decode(out); err != nil {
		c.failed = err
	}
	return c.failed == nil
}

// Invalid returns the answer to a body that Decode refused.
func (c *Call) Invalid() Answer { return Refused(http.StatusBadRequest, fmt.Sprint(c.failed)) }

// Bearer returns an Authorized for bearer tokens, by person.
func Bearer(people map[string]string) func(r *http.Request) string {
	return Header("Authorization", "Bearer ", people)
}

// Header returns an Authorized for tokens in a header, by person.
func Header(name, prefix string, people map[string]string) func(r *http.Request) string {
	return func(r *http.Request) string {
		for token, person := range people {
			if r.Header.Get(name) == prefix+token {
				return person
			}
		}
		return ""
	}
}

// Basic returns an Authorized for basic authentication: "user:password", by person.
func Basic(people map[string]string) func(r *http.Request) string {
	return func(r *http.Request) string {
		user, password, _ := r.BasicAuth()
		return people[user+":"+password]
	}
}

// Any returns an Authorized that accepts what one of others does.
func Any(others ...func(r *http.Request) string) func(r *http.Request) string {
	return func(r *http.Request) string {
		for _, other := range others {
			if person := other(r); person != "" {
				return person
			}
		}
		return ""
	}
}

// Handle adds a route, a pattern of [http.ServeMux] with the names of its query
// parameters after spaces, such as "GET /items/{id} page limit".
func (s *Stub) Handle(route string, do func(c *Call) Answer) {
	parts := strings.Fields(route)
	s.mux.HandleFunc(parts[0]+" "+parts[1], func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answer(w, s.serve(r, parts[2:], do))
	})
}

func (s *Stub) serve(r *http.Request, known []string, do func(c *Call) Answer) Answer {
	c := &Call{Request: r, Person: s.Authorized(r), Query: r.URL.Query()}
	if c.Person == "" {
		return Refused(http.StatusUnauthorized, "unauthorized")
	}
	for name := range c.Query {
		if !slices.Contains(known, name) {
			return Refused(http.StatusBadRequest, "unknown parameter "+name)
		}
	}
	var err error
	if c.Content, err = io.ReadAll(r.Body); err != nil {
		return Refused(http.StatusBadRequest, "no body")
	}
	return do(c)
}

func (s *Stub) answer(w http.ResponseWriter, a Answer) {
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	if text, ok := a.Body.(refusal); ok {
		a.Body = map[string]any{"message": string(text)}
		if s.Failure != nil {
			a.Body = s.Failure(a.Status, string(text))
		}
		if s.Unstatused {
			a.Status = http.StatusOK
		}
	}
	if a.Body == nil {
		w.WriteHeader(a.Status)
		return
	}
	text, err := json.Marshal(a.Body)
	if err != nil {
		http.Error(w, errors.New("the stub cannot encode its answer").Error(), http.StatusTeapot)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(a.Status)
	_, _ = w.Write(text)
}

// ServeHTTP implements [http.Handler]. A path without a route is not found.
func (s *Stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.answer(w, s.serve(r, nil, func(*Call) Answer { return Refused(http.StatusNotFound, "no such path "+r.URL.Path) }))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Object is a JSON object.
type Object = map[string]any
