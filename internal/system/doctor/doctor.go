package doctor

import (
	"context"
	"fmt"
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

// timeout bounds one check, serviceTimeout what one service of models may take of theirs.
const (
	timeout        = 10 * time.Second
	serviceTimeout = 3 * time.Second
)

// A Finding is a line of the report. Its texts contain no secret of the settings.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Text   string `json:"text"`
	// Action says what to do; empty for ok.
	Action string `json:"action,omitempty"`
	// Form is Text as a format of package fmt, and Values what it contains: a report for
	// strangers keeps the form, and of the values what tells nothing about anybody. Form is
	// empty for a text of another package.
	Form   string `json:"-"`
	Values []any  `json:"-"`
}

// Known is a value of a finding that comes from the program itself, such as the name of a
// setting.
type Known string

// Options say what is checked. Config and Now are required; without a client or an opener,
// what needs it is left out.
type Options struct {
	Config *config.Config
	Redis  func(address string) (redis.UniversalClient, error)
	Blobs  func(context.Context) (blob.Store, error)
	// Engine returns the nodes of the search engine.
	Engine func(context.Context) ([]EngineNode, error)
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

func (r *report) ok(form string, values ...any) { r.add(OK, form, "", values) }

func (r *report) warn(form, action string, values ...any) { r.add(Warning, form, action, values) }

func (r *report) fail(form, action string, values ...any) { r.add(Error, form, action, values) }

func (r *report) add(status Status, form, action string, values []any) {
	text := fmt.Sprintf(form, values...)
	r.findings = append(r.findings, Finding{
		Check: r.check, Status: status, Text: r.Config.Hide(text), Action: r.Config.Hide(action), Form: form, Values: values,
	})
}

// Run makes all checks, each with a limit of its own, and that of models with one for each service.
func Run(ctx context.Context, o Options) []Finding {
	r := &report{Options: o}
	for _, c := range []struct {
		name string
		do   func(context.Context)
	}{
		{"settings", r.settings},
		{"postgresql", r.postgres},
		{"replicas", r.replicas},
		{"schema", r.schema},
		{"search engine", r.engine},
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
		if c.name == "models" {
			c.do(ctx)
			continue
		}
		limited, cancel := context.WithTimeout(ctx, timeout)
		c.do(limited)
		cancel()
	}
	return r.findings
}

// settings checks that what server and worker need is set.
func (r *report) settings(context.Context) {
	missing := false
	for _, name := range []string{"DATABASE_URL", "REDIS_URL", "BLOB_URL", "SECRET_KEYS", "SESSION_KEY"} {
		if err := r.Config.Require(name); err != nil {
			missing = true
			r.fail("%s is not set.", "Set it as docs/configuration.md says.", Known(name))
		}
	}
	if !missing {
		r.ok("All required settings are there and valid.")
	}
	if r.Config.SignUp == "open" {
		r.warn("SIGN_UP is open: everybody who reaches the service may create a workspace.", "Set it to off or first, unless that is wanted.")
	}
}
