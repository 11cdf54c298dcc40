package rest

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/request/accesslog"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Headers of the public surface.
const (
	keyHeader       = "X-Service-Key"
	timestampHeader = "X-Service-Timestamp"
	signatureHeader = "X-Service-Signature"
	userHeader      = "X-Service-User"
	limitHeader     = "X-RateLimit-Limit"
	remainingHeader = "X-RateLimit-Remaining"
	resetHeader     = "X-RateLimit-Reset"
)

// unlimited is the value of the rate headers for a key without a limit, since
// clients expect a number.
const unlimited = 1<<31 - 1

// authenticate authenticates the caller and adds the viewer to the context.
func (x *exchange) authenticate(raw []byte) error {
	if x.route.Surface == viewer.SurfacePublic {
		return x.authenticateKey(raw)
	}
	return x.authenticateSession()
}

// authenticateSession checks the session token, or personal or service token. An anonymous route needs none; one
// with an optional session checks a token that is sent.
func (x *exchange) authenticateSession() error {
	if x.route.Anonymous && (!x.route.optionalSession || len(x.r.Header.Values("Authorization")) == 0) {
		x.admit(viewer.Viewer{Kind: viewer.KindAnonymous, Surface: viewer.SurfaceDashboard})
		return nil
	}
	required := apierr.New(apierr.Unauthorized, "Session required")
	token, ok := bearer(x.r.Header)
	switch {
	case !ok:
		return required
	case authn.IsKey(token):
		return apierr.New(apierr.Unauthorized, "API keys are for /v1; send a session or a token")
	}
	v, err := x.t.sessions.Authenticate(x.ctx, token)
	if err != nil {
		if apierr.From(err).Code.Status() == http.StatusUnauthorized && !authn.IsAccessToken(token) {
			return required
		}
		return apierr.Wrap("check the session", err)
	}
	v.Surface = viewer.SurfaceDashboard
	x.admit(v)
	return nil
}

// admit sets the viewer of the request.
func (x *exchange) admit(v viewer.Viewer) {
	x.ctx = viewer.With(x.ctx, v)
	accesslog.From(x.ctx).SetCaller(v)
}

// bearer returns the token of the only Authorization header.
func bearer(h http.Header) (string, bool) {
	given := h.Values("Authorization")
	if len(given) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// authenticateKey checks an API key, its expiry, the signature, the host and the
// rate limit.
func (x *exchange) authenticateKey(raw []byte) error {
	key, presented, err := x.key()
	if err != nil {
		x.peekRate(x.anonymousCaller())
		return err
	}
	accesslog.From(x.ctx).SetCaller(key.Viewer) // also of a request that is refused below
	if origin := x.r.Header.Get("Origin"); origin != "" && !key.Publishable && x.t.leaks != nil {
		x.t.leaks.ReportLeak(x.ctx, key, origin)
	}
	caller := x.callerOf(key)
	switch {
	case x.typing(raw):
		caller = caller.typing()
	case x.route != nil && x.route.events:
		caller.key += ":events" // visitors read what they have found, whatever they click
	}
	if err := x.checkSignature(key, presented, raw); err != nil {
		x.peekRate(caller)
		return err
	}
	forget, err := x.checkReplay(key)
	if err != nil {
		x.peekRate(caller)
		return err
	}
	if err := key.CheckOrigin(x.r.Header); err != nil {
		x.peekRate(caller)
		return err
	}
	result, err := x.t.limiter.Allow(x.ctx, caller.key, caller.perMinute)
	if err != nil {
		return apierr.Wrap("count the request", err)
	}
	x.rateHeaders(result)
	if !result.Allowed {
		forget()
		return &apierr.Error{Code: apierr.RateLimited, Message: "Rate limit exceeded", RetryAfter: max(result.RetryAfter, 1)}
	}
	v := key.Viewer
	v.Surface = viewer.SurfacePublic
	if v.EndUser, err = x.endUser(key); err != nil {
		return err
	}
	x.admit(v)
	return nil
}

// endUser returns the email address of the end user of a request with a secret
// key, or "". With a publishable key, which is public, the header is ignored.
func (x *exchange) endUser(key authn.Key) (string, error) {
	given := x.r.Header.Values(userHeader)
	if key.Publishable || len(given) == 0 {
		return "", nil
	}
	if len(given) == 1 {
		if mail, err := authn.CleanEmail(given[0]); err == nil {
			return mail, nil
		}
	}
	return "", apierr.Invalid(userHeader, "must be one email address")
}

// key authenticates the API key and returns it with its text. The key is in a header of
// its own, or else in Authorization. Both may have the same one.
func (x *exchange) key() (authn.Key, string, error) {
	given := x.r.Header.Values(keyHeader)
	missing := len(given) == 0 || len(given) == 1 && given[0] == ""
	token, ok := bearer(x.r.Header)
	if !ok {
		token = ""
	}
	switch {
	case missing && authn.IsKey(token):
		given = []string{token}
	case missing && authn.IsAccessToken(token):
		return authn.Key{}, "", apierr.New(apierr.InvalidKey, "Tokens are for /api/v1 and /graphql; send an API key")
	case missing:
		return authn.Key{}, "", apierr.New(apierr.Unauthorized, "API key required")
	case len(given) == 1 && authn.IsKey(token) && token != given[0]:
		return authn.Key{}, "", apierr.New(apierr.InvalidKey, "X-Service-Key and Authorization have different API keys")
	case len(given) > 1:
		return authn.Key{}, "", apierr.New(apierr.InvalidKey, "Invalid API key")
	}
	key, err := x.t.keys.Authenticate(x.ctx, given[0])
	if err != nil {
		return authn.Key{}, "", apierr.Wrap("check the API key", err)
	}
	return key, given[0], nil
}

// checkSignature checks the signature of a request with a secret key. Without a
// signature it fails only when the key requires one. A publishable key is no
// secret, so its signatures are ignored.
func (x *exchange) checkSignature(key authn.Key, presented string, raw []byte) error {
	if key.Publishable {
		return nil
	}
	timestamps, signatures := x.r.Header.Values(timestampHeader), x.r.Header.Values(signatureHeader)
	if len(timestamps) == 0 && len(signatures) == 0 && !key.RequireSignature {
		return nil
	}
	if len(timestamps) != 1 || len(signatures) != 1 {
		return apierr.New(apierr.InvalidSignature, "Invalid request signature")
	}
	return authn.VerifySignature(presented, timestamps[0], signatures[0], raw, x.t.now())
}

// replayWindow is the time for which a signature is remembered. A timestamp in the
// future is valid for twice the skew.
const replayWindow = 2 * authn.MaxSkew

// checkReplay fails for a signature that was used before, if the key requires
// signatures. The signature alone counts, since it covers neither path nor query.
// Used signatures are stored with the rate limits, and in each process. forget
// removes the signature, so that a rejected request can be sent again unchanged.
func (x *exchange) checkReplay(key authn.Key) (forget func(), err error) {
	if !key.RequireSignature || key.Publishable || x.t.replays {
		return func() {}, nil
	}
	// Hexadecimal digits may be upper or lower case.
	name := "signature:" + key.ID.String() + ":" + authn.Fingerprint(strings.ToLower(x.r.Header.Get(signatureHeader)))
	first, err := x.t.limiter.AllowOnce(x.ctx, name, replayWindow)
	switch {
	case err != nil:
		return nil, apierr.Wrap("check the signature for a replay", err)
	case !first:
		return nil, apierr.New(apierr.InvalidSignature, "Invalid request signature")
	}
	return func() { x.t.limiter.ResetOnce(x.ctx, name, replayWindow) }, nil
}

// caller is the subject of a rate limit.
type caller struct {
	key       string
	perMinute int // no limit when 0 or less
}

// callerOf returns the subject of the rate limit: a secret key, or a publishable
// key with the IP address.
func (x *exchange) callerOf(key authn.Key) caller {
	c := caller{key: "key:" + key.ID.String(), perMinute: x.t.limits.Secret}
	if key.Publishable {
		c = caller{key: c.key + ":ip:" + ratelimit.ClientOf(x.ctx), perMinute: x.t.limits.Publishable}
	}
	if key.RatePerMinute != nil {
		c.perMinute = *key.RatePerMinute
	}
	return c
}

// typingFactor is how many searches of a query that is being typed are allowed for each
// request of the rate limit. They have a limit of their own: every search of a person
// takes several, and people of one office share an address.
const typingFactor = 20

// typing returns the subject of the rate limit of searches while a query is typed.
func (c caller) typing() caller {
	return caller{key: c.key + ":typing", perMinute: c.perMinute * typingFactor}
}

// typing reports whether the request searches for a query that is being typed. It reads
// the field as the input is read later; a request with errors is an ordinary one.
func (x *exchange) typing(raw []byte) bool {
	i := -1
	if x.route != nil {
		i = slices.IndexFunc(x.route.fields, func(f field) bool { return f.name == prefixName && f.kind == boolean })
	}
	if i < 0 {
		return x.route != nil && x.route.typing
	}
	values, f := variables{}, x.route.fields[i:i+1]
	switch x.route.from {
	case query:
		if readQuery(x.r.URL.RawQuery, f, values) != nil {
			return false
		}
	case body:
		if !bytes.Contains(raw, []byte(prefixName)) { // the common case; an escaped name is an ordinary request
			return false
		}
		object, err := parseBody(raw)
		if err != nil || readObject(object, f, "", values) != nil {
			return false
		}
	default:
		return false
	}
	typed, _ := values.get(f[0].variable).(bool)
	return typed
}

// anonymousCaller returns the subject of a request without a valid key. Such
// requests are not counted.
func (x *exchange) anonymousCaller() caller {
	return caller{key: "ip:" + ratelimit.ClientOf(x.ctx), perMinute: x.t.limits.Publishable}
}

// peekRate sets the rate headers of a request that fails before it is counted.
func (x *exchange) peekRate(c caller) {
	if result, err := x.t.limiter.Peek(x.ctx, c.key, c.perMinute); err == nil {
		x.rateHeaders(result)
	}
}

func (x *exchange) rateHeaders(r ratelimit.Result) {
	if r.Limit <= 0 {
		r.Limit, r.Remaining, r.Reset = unlimited, unlimited, x.t.now()
	}
	setRateHeaders(x.w.Header(), r)
}

func setRateHeaders(h http.Header, r ratelimit.Result) {
	h.Set(limitHeader, strconv.Itoa(r.Limit))
	h.Set(remainingHeader, strconv.Itoa(r.Remaining))
	reset := r.Reset.Unix()
	if r.Reset.Nanosecond() > 0 {
		reset++ // rounded up, so that waiting until then is enough
	}
	h.Set(resetHeader, strconv.FormatInt(reset, 10))
}

// AdmitKey authenticates a request of another transport of the server by an API
// key, with the checks and the rate headers of the public surface. body is the
// whole body, which a signature covers. The returned context has the viewer.
func (t *Transport) AdmitKey(w http.ResponseWriter, r *http.Request, key string, body []byte) (context.Context, error) {
	r = r.Clone(r.Context())
	r.Header.Set(keyHeader, key)
	client := ratelimit.Client(r, t.proxies)
	x := &exchange{t: t, w: w, r: r, ctx: authn.WithClient(ratelimit.WithClient(r.Context(), client), authn.ClientInfo{Address: client, UserAgent: r.UserAgent()})}
	if err := x.authenticateKey(body); err != nil {
		return nil, err
	}
	return x.ctx, nil
}
