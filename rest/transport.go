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
	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// KeyAuthenticator recognises API keys; authn.Keys does.
type KeyAuthenticator interface {
	// Authenticate returns the key; the codes unauthorized, invalid_key and
	// key_expired are shown to the caller.
	Authenticate(ctx context.Context, presented string) (authn.Key, error)
}

// SessionAuthenticator recognises session tokens; authn.Accounts does.
type SessionAuthenticator interface {
	Authenticate(ctx context.Context, bearer string) (viewer.Viewer, error)
}

// LeakNoter is told of secret keys that came from a page in a browser;
// authn.Keys does what is to be done about it.
type LeakNoter interface {
	Leaked(ctx context.Context, key authn.Key, origin string)
}

// Limiter counts requests a minute; ratelimit.Limiter does. The methods answer
// the key's standing, Peek without counting.
type Limiter interface {
	Allow(ctx context.Context, key string, perMinute int) (ratelimit.Result, error)
	Peek(ctx context.Context, key string, perMinute int) (ratelimit.Result, error)
	// Once allows what a key names once in a period; Again takes it back.
	AllowOnce(ctx context.Context, key string, period time.Duration) (bool, error)
	ResetOnce(ctx context.Context, key string, period time.Duration)
}

// Limits bound what a request may cost. Zero takes the value in the comment.
type Limits struct {
	Body        int64         // bytes of a body: 1 MiB
	File        int64         // bytes of one uploaded file: 100 MiB
	Upload      int64         // bytes of one upload request: 1 GiB
	Files       int           // files of one upload request: 1,000
	Publishable int           // requests a minute of a publishable key and IP: 60; negative: no limit
	Secret      int           // requests a minute of a secret key: 600; negative: no limit
	Request     time.Duration // time for one operation: 60 s; streams and uploads have none
	Write       time.Duration // time for one write to a client that does not read: 30 s
	Read        time.Duration // time for a body, or between two parts of an upload's: 30 s
	KeepAlive   time.Duration // between comment lines of a quiet stream: 15 s
}

// Options of a Transport.
type Options struct {
	Schema   *ast.Schema          // that of the server the transport is added to; needed
	Keys     KeyAuthenticator     // needed
	Sessions SessionAuthenticator // needed
	Leaks    LeakNoter            // nil: nobody is told
	Limiter  Limiter              // nil: counts in this process
	Limits   Limits
	// Secure says that browsers reach the service by https alone.
	Secure bool
	// AllowReplays takes the same signature more than once, also by a key that asks
	// for signatures.
	AllowReplays bool
	// TrustedProxies are the addresses whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// Origins may call the dashboard surface from a browser; "*" is any. None: only the same origin.
	Origins []string
	// UploadDir takes uploads too large for memory while they are read; the
	// system's temporary folder when empty.
	UploadDir string
	Log       *slog.Logger     // nil: silent
	Now       func() time.Time // nil: the system's clock
	NewID     func() string    // makes request ids; nil: random UUIDs
}

// Transport answers REST requests on a GraphQL server. It has to be added before
// gqlgen's own transports, which judge by content type and would take its requests.
type Transport struct {
	schema     *ast.Schema
	matcher    *matcher
	operations map[string]*operation
	keys       KeyAuthenticator
	sessions   SessionAuthenticator
	leaks      LeakNoter
	limiter    Limiter
	limits     Limits
	secure     bool // browsers reach the service by https
	replays    bool // the same signature is taken more than once
	proxies    []netip.Prefix
	origins    []string
	uploadDir  string
	log        *slog.Logger
	now        func() time.Time
	newID      func() string
}

var _ graphql.Transport = (*Transport)(nil)

// New makes the transport. It fails when a stored operation does not fit the
// schema or a route does not fit its operation.
func New(o Options) (*Transport, error) {
	switch {
	case o.Schema == nil:
		return nil, errors.New("rest: Options.Schema is needed")
	case o.Keys == nil:
		return nil, errors.New("rest: Options.Keys is needed")
	case o.Sessions == nil:
		return nil, errors.New("rest: Options.Sessions is needed")
	}
	operations, err := loadOperations(stored, o.Schema)
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	table := newTable()
	for _, r := range table {
		if err := r.fits(o.Schema, operations); err != nil {
			return nil, fmt.Errorf("rest: %s %s: %w", r.Method, r.Pattern, err)
		}
	}
	t := &Transport{
		schema: o.Schema, matcher: newMatcher(table), operations: operations,
		keys: o.Keys, sessions: o.Sessions, leaks: o.Leaks, limiter: o.Limiter, limits: o.Limits.withDefaults(),
		secure: o.Secure, replays: o.AllowReplays,
		proxies: o.TrustedProxies, origins: o.Origins, uploadDir: o.UploadDir,
		log: o.Log, now: o.Now, newID: o.NewID,
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if t.now == nil {
		t.now = time.Now
	}
	if t.newID == nil {
		t.newID = uuid.NewString
	}
	if t.limiter == nil {
		t.limiter = ratelimit.New(ratelimit.Options{Log: t.log, Now: t.now})
	}
	return t, nil
}

func (l Limits) withDefaults() Limits {
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

// Owns reports whether a path belongs to the REST interface, known or not.
func Owns(path string) bool {
	for _, root := range []string{"/v1", "/api/v1"} {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}

// Supports reports whether the request is one of the REST interface, by its path.
func (t *Transport) Supports(r *http.Request) bool { return Owns(r.URL.Path) }

// fits checks a route against its operation: every field has a place to go, and
// everything that the operation cannot do without is read.
func (r *route) fits(schema *ast.Schema, operations map[string]*operation) error {
	o := operations[r.Operation]
	if o == nil {
		return fmt.Errorf("there is no stored operation %s", r.Operation)
	}
	given := map[string]bool{}
	for _, s := range r.segments {
		if s.parameter != "" && r.named == "" {
			given[s.parameter] = true
		}
	}
	if r.input {
		given["input"] = true
	}
	if r.pages != "" {
		given["limit"] = true
		if s := o.shape.at(r.pages); s == nil || s.kind != connection {
			return fmt.Errorf("%s of %s is no connection", r.pages, o.name)
		}
	}
	if r.file != "" {
		given["limit"] = true
		if s := o.shape.at(r.whole); s == nil || s.kind != connection {
			return fmt.Errorf("%s of %s is no connection", r.whole, o.name)
		}
	}
	if r.from == multipartForm {
		given["files"], given["paths"] = true, true
	}
	find := func(path string) *ast.Type { return o.typeAt(schema, path) }
	if err := fieldsFit(schema, find, r, r.fields, given); err != nil {
		return err
	}
	for name, v := range o.variables {
		if v.Type.NonNull && v.DefaultValue == nil && !given[name] {
			return fmt.Errorf("nothing gives the variable %s of %s", name, o.name)
		}
	}
	for name := range given {
		if o.variables[name] == nil {
			return fmt.Errorf("%s has no variable %s", o.name, name)
		}
	}
	if r.named != "" && o.typeAt(schema, r.named) == nil {
		return fmt.Errorf("%s has no variable %s", o.name, r.named)
	}
	if r.redirect != "" && o.shape.at(r.redirect) == nil {
		return fmt.Errorf("%s answers no %s", o.name, r.redirect)
	}
	if r.answer != "." && !o.stream && o.shape.at(r.answer) == nil {
		return fmt.Errorf("%s answers no %s", o.name, r.answer)
	}
	return nil
}

// fieldsFit checks that find knows a place for each field, among the operation's
// variables or the fields of an array's items.
func fieldsFit(schema *ast.Schema, find func(path string) *ast.Type, r *route, fields []field, given map[string]bool) error {
	for _, f := range fields {
		if f.kind == group {
			if err := fieldsFit(schema, find, r, f.fields, given); err != nil {
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
			return fmt.Errorf("%s of %s is no list of objects", f.variable, r.Operation)
		case r.from != body:
			return fmt.Errorf("%s: an array of objects can stand in a body only", f.name)
		case f.alone != "" && find(f.alone) == nil:
			return fmt.Errorf("%s has no variable %s for one of %s", r.Operation, f.alone, f.name)
		}
		item := schema.Types[t.Elem.NamedType]
		inside := func(path string) *ast.Type { return fieldType(schema, item, path) }
		if err := fieldsFit(schema, inside, r, f.fields, map[string]bool{}); err != nil {
			return err
		}
	}
	return nil
}
