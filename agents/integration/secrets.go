package integration

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	minSecret = 6 // bytes; shorter ones occur in ordinary words
	hidden    = "[hidden]"
)

// secrets hides the secrets of one call in texts.
type secrets struct {
	mu    sync.Mutex
	forms []string
}

// add adds a secret and the forms in which it occurs in requests and answers.
func (s *secrets) add(secret string) {
	if len(secret) < minSecret {
		return
	}
	quoted, err := json.Marshal(secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forms = append(s.forms, secret, url.QueryEscape(secret), url.PathEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)))
	if err == nil {
		s.forms = append(s.forms, strings.Trim(string(quoted), `"`))
	}
	for line := range strings.Lines(secret) { // of a private key
		if line = strings.TrimSpace(line); line != secret && len(line) >= 2*minSecret {
			s.forms = append(s.forms, line)
		}
	}
}

func (s *secrets) hide(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, form := range s.forms {
		text = strings.ReplaceAll(text, form, hidden)
	}
	return text
}

func (s *secrets) result(r loop.Result) loop.Result {
	r.Text, r.Summary = safetext.Truncate(s.hide(r.Text), MaxResult), s.hide(r.Summary)
	return r
}

// error returns an error whose text, for people and for the log, has no secret.
func (s *secrets) error(err error) error {
	if err == nil {
		return nil
	}
	out := *apierr.From(err)
	out.Message, out.Field = s.hide(out.Message), s.hide(out.Field)
	text := string(out.Code)
	if out.Cause != nil {
		text = out.Cause.Error()
	}
	out.Cause = quiet{text: s.hide(text), cause: err}
	return &out
}

// quiet is an error with another text.
type quiet struct {
	text  string
	cause error
}

func (q quiet) Error() string { return q.text }
func (q quiet) Unwrap() error { return q.cause }
