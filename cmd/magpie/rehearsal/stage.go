package rehearsal

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/testkit/smtpserver"
)

// A Point is a moment at which a worker can be killed.
type Point string

// The points that stand-ins see. At each the worker waits for an answer, which it does not
// get if it is killed.
const (
	PointQuestion  Point = "the model is asked what to do"
	PointAnswer    Point = "the model is in the middle of its answer"
	PointPosting   Point = "the approval is on its way to Slack"
	PointPosted    Point = "Slack has the approval, and has not confirmed it"
	PointSending   Point = "the mail server has the reply announced, but not its text"
	PointDelivered Point = "the mail server has the whole reply, and has not confirmed it"
)

// A Stage has the stand-ins around a Magpie. It is safe for concurrent use.
type Stage struct {
	model *model
	slack *slack
	mail  *smtpserver.Server

	servers []*http.Server

	mu    sync.Mutex
	armed Point
	hit   chan struct{} // closed when the armed point is reached
	gone  chan struct{} // closed when the worker is dead
}

// Build starts the stand-ins. The caller closes the Stage.
func Build(ctx context.Context) (*Stage, error) {
	s := &Stage{}
	s.model, s.slack = &model{stage: s}, newSlack(s)
	modelURL, err := s.serve(ctx, s.model)
	if err != nil {
		return nil, err
	}
	slackURL, err := s.serve(ctx, s.slack)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.model.url, s.slack.url = modelURL+"/v1", slackURL+"/api"
	if s.mail, err = smtpserver.Start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.mail.At = s.atMail
	return s, nil
}

// serve serves a stand-in at an address of its own.
func (s *Stage) serve(ctx context.Context, handler http.Handler) (url string, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	s.servers = append(s.servers, server)
	go func() { _ = server.Serve(listener) }() // ends with Close
	return "http://" + listener.Addr().String(), nil
}

// Close ends the stand-ins.
func (s *Stage) Close() error {
	var failures []error
	for _, server := range s.servers {
		failures = append(failures, server.Close())
	}
	if s.mail != nil {
		s.mail.Close()
	}
	return errors.Join(failures...)
}

// Settings are the settings of a Magpie between the stand-ins. Workers count as dead after
// the shortest possible time.
func (s *Stage) Settings() map[string]string {
	return map[string]string{
		"LLM_BASE_URL": s.model.url, "LLM_API_KEY": "stand-in", "LLM_MODEL": "stand-in",
		"SMTP_URL": s.mail.URL, "SMTP_FROM": "Support <support@acme.example>",
		"WORKER_LOST_AFTER": "10s",
	}
}

// arm lets the next call that reaches a point wait until release, and returns a channel
// that is closed then.
func (s *Stage) arm(p Point) (hit <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed, s.hit, s.gone = p, make(chan struct{}), make(chan struct{})
	return s.hit
}

// release lets the waiting call go.
func (s *Stage) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.gone)
}

// reach is called by stand-ins at a point. It reports whether the caller was killed, so
// that there is nobody to answer.
func (s *Stage) reach(p Point) (killed bool) {
	s.mu.Lock()
	gone := s.gone
	if s.armed != p {
		s.mu.Unlock()
		return false
	}
	s.armed = ""
	close(s.hit)
	s.mu.Unlock()
	<-gone
	return true
}
