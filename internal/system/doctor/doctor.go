package doctor

import (
	"context"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/connector/blob"
)

// A Status says how a check ended.
type Status string

// The statuses.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Error   Status = "error"
)

// timeout bounds one check.
const timeout = 10 * time.Second

// A Finding is a line of the report. Its texts contain no secret of the settings.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Text   string `json:"text"`
	// Action says what to do; empty for ok.
	Action string `json:"action,omitempty"`
}

// Options say what is checked. Config and Now are required; without a client or an opener,
// what needs it is left out.
type Options struct {
	Config *config.Config
	Redis  func(address string) (redis.UniversalClient, error)
	Blobs  func(context.Context) (blob.Store, error)
	// HTTP asks models and the address of the service.
	HTTP *http.Client
	Now  func() time.Time
}

// A report collects findings.
type report struct {
	Options
	check    string // that runs
	findings []Finding
}

func (r *report) ok(text string) { r.add(OK, text, "") }

func (r *report) warn(text, action string) { r.add(Warning, text, action) }

func (r *report) fail(text, action string) { r.add(Error, text, action) }

func (r *report) add(status Status, text, action string) {
	r.findings = append(r.findings, Finding{r.check, status, r.Config.Hide(text), r.Config.Hide(action)})
}

// Run makes all checks, each with a limit of its own.
func Run(ctx context.Context, o Options) []Finding {
	r := &report{Options: o}
	for _, c := range []struct {
		name string
		do   func(context.Context)
	}{
		{"settings", r.settings},
		{"postgresql", r.postgres},
		{"schema", r.schema},
		{"redis", r.redis},
		{"blob store", r.blobs},
		{"mail", r.mail},
		{"models", r.models},
		{"address", r.address},
		{"machine", r.machine},
	} {
		if ctx.Err() != nil {
			return r.findings
		}
		r.check = c.name
		limited, cancel := context.WithTimeout(ctx, timeout)
		c.do(limited)
		cancel()
	}
	return r.findings
}

// Failed reports whether a finding is an error.
func Failed(findings []Finding) bool {
	for _, f := range findings {
		if f.Status == Error {
			return true
		}
	}
	return false
}

// settings checks that what server and worker need is set.
func (r *report) settings(context.Context) {
	missing := false
	for _, name := range []string{"DATABASE_URL", "REDIS_URL", "BLOB_URL", "SECRET_KEYS", "SESSION_KEY"} {
		if err := r.Config.Require(name); err != nil {
			missing = true
			r.fail(name+" is not set.", "Set it as docs/configuration.md says.")
		}
	}
	if !missing {
		r.ok("All required settings are there and valid.")
	}
	if r.Config.SignUp == "open" {
		r.warn("SIGN_UP is open: everybody who reaches the service may create a workspace.", "Set it to off or first, unless that is wanted.")
	}
}
