package sample

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Server is a running server with the settings of a connector to it.
type Server struct {
	Kind        string
	Config      map[string]any
	Credentials map[string]string

	stops []func()
}

// Cleanup adds a function that Close calls.
func (s *Server) Cleanup(stop func()) { s.stops = append(s.stops, stop) }

// Close stops the server.
func (s *Server) Close() {
	for _, stop := range slices.Backward(s.stops) {
		stop()
	}
	s.stops = nil
}

// starters returns the functions that start a server, by kind.
func starters() map[string]func(s *Server) {
	return map[string]func(s *Server){
		"confluence": startConfluence, "github": startGitHub, "gitlab": startGitLab, "google_drive": startDrive, "hubspot": startHubSpot, "jira": startJira,
		"notion": startNotion, "salesforce": startSalesforce, "servicenow": startServiceNow, "sharepoint": startSharePoint, "slack": startSlack,
	}
}

// Kinds returns the kinds of which there is a server, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(starters())) }

// Start starts the server of a kind on the loopback interface. The caller closes it.
func Start(kind string) (*Server, error) {
	start, ok := starters()[kind]
	if !ok {
		return nil, fmt.Errorf("there is no stand-in for %q; there are %s", kind, strings.Join(Kinds(), ", "))
	}
	s := &Server{Kind: kind, Config: map[string]any{}, Credentials: map[string]string{}}
	start(s)
	return s, nil
}
