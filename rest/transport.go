package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/viewer"
)

// KeyAuthenticator authenticates API keys. [authn.Keys] implements it.
type KeyAuthenticator interface {
	// Authenticate returns the key. Its errors have the code unauthorized,
	// invalid_key or key_expired.
	Authenticate(ctx context.Context, presented string) (authn.Key, error)
}

// SessionAuthenticator authenticates session tokens. [authn.Accounts] implements it.
type SessionAuthenticator interface {
	Authenticate(ctx context.Context, bearer string) (viewer.Viewer, error)
}

// LeakRecorder records secret keys that a browser page has sent. [authn.Keys]
// implements it.
type LeakRecorder interface {
	ReportLeak(ctx context.Context, key authn.Key, origin string)
}

// Limiter limits the requests of a minute. [ratelimit.Limiter] implements it.
type Limiter interface {
	// Allow counts a request and returns the state of the key.
	Allow(ctx context.Context, key string, perMinute int) (ratelimit.Result, error)
	// Peek returns the state of the key without counting.
	Peek(ctx context.Context, key string, perMinute int) (ratelimit.Result, error)
	// AllowOnce reports true once for a key in a period. ResetOnce reverts it.
	AllowOnce(ctx context.Context, key string, period time.Duration) (bool, error)
	ResetOnce(ctx context.Context, key string, period time.Duration)
}

// Limits has the limits of requests. Zero means the default in the comment.
type Limits struct {
	Body        int64         // bytes of a body; default 1 MiB
	File        int64         // bytes of one uploaded file; default 100 MiB
	Upload      int64         // bytes of one upload request; default 1 GiB
	Files       int           // files of one upload request; default 1,000
	Publishable int           // requests a minute of a publishable key and IP address; default 60, negative: no limit
	Secret      int           // requests a minute of a secret key; default 600, negative: no limit
	Request     time.Duration // timeout of one operation except streams and uploads; default 60 s
	Write       time.Duration // timeout of one write to the client; default 30 s
	Read        time.Duration // timeout of reading a body, or a block of an upload; default 30 s
	KeepAlive   time.Duration // time between comment lines of an idle stream; default 15 s
}

// Options configures a Transport. Schema, Keys and Sessions are required.
type Options struct {
	Schema   *ast.Schema // the schema of the GraphQL server
	Keys     KeyAuthenticator
	Sessions SessionAuthenticator
	Leaks    LeakRecorder // nil: not recorded
	Limiter  Limiter      // nil: in this process
	Limits   Limits
	// Secure means that browsers use https only.
	Secure bool
	// PublicURL is the URL at which browsers reach the service. Pages of its origin may
	// keep sessions in a cookie. Empty means that of each request.
	PublicURL string
	// AllowReplays allows a signature more than once.
	AllowReplays bool
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Origins are the origins of browser pages that may call the dashboard surface;
	// "*" is any. Pages of the same origin always may.
	Origins []string
	// UploadDir is the folder of temporary files for large uploads; empty means the
	// system's temporary folder.
	UploadDir string
	Log       *slog.Logger     // nil: discarded
	Now       func() time.Time // nil: time.Now
	NewID     func() string    // creates request IDs; nil: random UUIDs
}

// Transport serves REST requests on a GraphQL server. It must be added before
// gqlgen's own transports, whose Supports only checks the content type.
type Transport struct {
	schema     *ast.Schema
	matcher    *matcher
	operations map[string]*operation
	keys       KeyAuthenticator
	sessions   SessionAuthenticator
	leaks      LeakRecorder
	limiter    Limiter
	limits     Limits
	secure     bool   // browsers use https only
	origin     string // of the service; empty if unknown
	cookieName string // of the cookie of a session
	replays    bool   // a signature is allowed more than once
	proxies    []netip.Prefix
	origins    []string
	uploadDir  string
	log        *slog.Logger
	now        func() time.Time
	newID      func() string
}

var _ graphql.Transport = (*Transport)(nil)

// New returns a transport. It fails when a stored operation is not valid for the
// schema, or a route for its operation.
func New(o Options) (*Transport, error) {
	switch {
	case o.Schema == nil:
		return nil, errors.New("rest: Options.Schema is required")
	case o.Keys == nil:
		return nil, errors.New("rest: Options.Keys is required")
	case o.Sessions == nil:
		return nil, errors.New("rest: Options.Sessions is required")
	}
	operations, err := loadOperations(stored, o.Schema)
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	table := newTable()
	for _, r := range table {
		if err := r.validate(o.Schema, operations); err != nil {
			return nil, fmt.Errorf("rest: %s %s: %w", r.Method, r.Pattern, err)
		}
	}
	t := &Transport{
		schema: o.Schema, matcher: newMatcher(table), operations: operations,
		keys: o.Keys, sessions: o.Sessions, leaks: o.Leaks, limiter: o.Limiter, limits: o.Limits.WithDefaults(),
		secure: o.Secure, replays: o.AllowReplays,
		proxies: o.TrustedProxies, origins: o.Origins, uploadDir: o.UploadDir,
		log: o.Log, now: o.Now, newID: o.NewID,
	}
	t.origin = ownOrigin(o.PublicURL)
	t.cookieName = sessionCookieName(t.origin, t.secure)
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if t.now == nil {
		t.now = time.Now
	}
	if t.newID == nil {
		t.newID = requestid.New
	}
	if t.limiter == nil {
		t.limiter = ratelimit.New(ratelimit.Options{Log: t.log, Now: t.now})
	}
	return t, nil
}

// WithDefaults returns the limits with the defaults in the place of zeros.
func (l Limits) WithDefaults() Limits {
	l.Body = orElse(l.Body, 1<<20)
	l.File = orElse(l.File, 100<<20)
	l.Upload = orElse(l.Upload, 1<<30)
	l.Files = orElse(l.Files, 1000)
	l.Publishable = orElse(l.Publishable, 60)
	l.Secret = orElse(l.Secret, 600)
	l.Request = orElse(l.Request, time.Minute)
	l.Write = orElse(l.Write, 30*time.Second)
	l.Read = orElse(l.Read, 30*time.Second)
	l.KeepAlive = orElse(l.KeepAlive, 15*time.Second)
	return l
}

func orElse[T int | int64 | time.Duration](value, fallback T) T {
	if value == 0 {
		return fallback
	}
	return value
}

// Owns reports whether a path belongs to the REST interface, with a route or not.
func Owns(path string) bool {
	for _, root := range []string{"/v1", "/api/v1"} {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}

// Supports reports whether the path of a request belongs to the REST interface.
func (t *Transport) Supports(r *http.Request) bool { return Owns(r.URL.Path) }

// validate checks a route against its operation: every field has a variable, and
// every required variable has a field.
func (r *route) validate(schema *ast.Schema, operations map[string]*operation) error {
	o := operations[r.Operation]
	if o == nil {
		return fmt.Errorf("no stored operation %s", r.Operation)
	}
	given := map[string]bool{}
	for _, s := range r.segments {
		if s.parameter != "" && r.nameVariable == "" {
			given[s.parameter] = true
		}
	}
	if r.input {
		given["input"] = true
	}
	if r.pages != "" {
		given["limit"] = true
		if s := o.shape.lookup(r.pages); s == nil || s.kind != connection {
			return fmt.Errorf("%s of %s is not a connection", r.pages, o.name)
		}
	}
	if r.file != "" {
		given["limit"] = true
		if s := o.shape.lookup(r.fileConnection); s == nil || s.kind != connection {
			return fmt.Errorf("%s of %s is not a connection", r.fileConnection, o.name)
		}
	}
	if r.from == multipartForm {
		given["files"], given["paths"] = true, true
	}
	find := func(path string) *ast.Type { return o.typeAt(schema, path) }
	if err := validateFields(schema, find, r, r.fields, given); err != nil {
		return err
	}
	for name, v := range o.variables {
		if v.Type.NonNull && v.DefaultValue == nil && !given[name] {
			return fmt.Errorf("no field for the required variable %s of %s", name, o.name)
		}
	}
	for name := range given {
		if o.variables[name] == nil {
			return fmt.Errorf("%s has no variable %s", o.name, name)
		}
	}
	if r.nameVariable != "" && o.typeAt(schema, r.nameVariable) == nil {
		return fmt.Errorf("%s has no variable %s", o.name, r.nameVariable)
	}
	if r.redirect != "" && o.shape.lookup(r.redirect) == nil {
		return fmt.Errorf("the result of %s has no %s", o.name, r.redirect)
	}
	if r.answer != "." && !o.stream && o.shape.lookup(r.answer) == nil {
		return fmt.Errorf("the result of %s has no %s", o.name, r.answer)
	}
	return nil
}

// validateFields checks that find returns a type for each field: of a variable of
// the operation, or of a field of an array's items.
func validateFields(schema *ast.Schema, find func(path string) *ast.Type, r *route, fields []field, given map[string]bool) error {
	for _, f := range fields {
		if f.kind == group {
			if err := validateFields(schema, find, r, f.fields, given); err != nil {
				return err
			}
			continue
		}
		t := find(f.variable)
		if t == nil {
			return fmt.Errorf("%s has no variable %s for %s", r.Operation, f.variable, f.name)
		}
		if root, _, nested := strings.Cut(f.variable, "."); !nested && f.required {
			given[root] = true
		}
		if f.kind != objects {
			continue
		}
		switch {
		case t.Elem == nil || schema.Types[t.Elem.NamedType] == nil:
			return fmt.Errorf("%s of %s is not a list of objects", f.variable, r.Operation)
		case r.from != body:
			return fmt.Errorf("%s: an array of objects is only possible in a body", f.name)
		case f.single != "" && find(f.single) == nil:
			return fmt.Errorf("%s has no variable %s for a single item of %s", r.Operation, f.single, f.name)
		}
		item := schema.Types[t.Elem.NamedType]
		inside := func(path string) *ast.Type { return fieldType(schema, item, path) }
		if err := validateFields(schema, inside, r, f.fields, map[string]bool{}); err != nil {
			return err
		}
	}
	return nil
}
