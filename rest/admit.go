package rest

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The headers of the public surface.
const (
	keyHeader       = "X-Service-Key"
	timestampHeader = "X-Service-Timestamp"
	signatureHeader = "X-Service-Signature"
	userHeader      = "X-Service-User"
	limitHeader     = "X-RateLimit-Limit"
	remainingHeader = "X-RateLimit-Remaining"
	resetHeader     = "X-RateLimit-Reset"
)

// unlimited is what the rate headers say of a key without a limit: clients
// expect a number there.
const unlimited = 1<<31 - 1

// admit finds out who asks and puts the viewer into the context.
func (x *exchange) admit(raw []byte) error {
	if x.route.Surface == viewer.SurfacePublic {
		return x.admitKey(raw)
	}
	return x.admitSession()
}

// admitSession lets signed-in people through, and anybody to an anonymous route;
// at one that takes notice of a session, a session that is given has to be good.
func (x *exchange) admitSession() error {
	if x.route.Anonymous && (!x.route.optional || len(x.r.Header.Values("Authorization")) == 0) {
		x.ctx = viewer.With(x.ctx, viewer.Viewer{Kind: viewer.KindAnonymous, Surface: viewer.SurfaceDashboard})
		return nil
	}
	required := apierr.New(apierr.Unauthorized, "Session required")
	token, ok := bearer(x.r.Header)
	if !ok {
		return required
	}
	v, err := x.t.sessions.Authenticate(x.ctx, token)
	if err != nil {
		if apierr.From(err).Code.Status() == http.StatusUnauthorized {
			return required
		}
		return apierr.Wrap("check the session", err)
	}
	v.Surface = viewer.SurfaceDashboard
	x.ctx = viewer.With(x.ctx, v)
	return nil
}

// bearer takes the token out of the one Authorization header.
func bearer(h http.Header) (string, bool) {
	given := h.Values("Authorization")
	if len(given) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// admitKey checks an API key: the key itself and its time, the signature, the
// host, the rate.
func (x *exchange) admitKey(raw []byte) error {
	key, presented, err := x.key()
	if err != nil {
		x.standing(x.unknownCaller())
		return err
	}
	if origin := x.r.Header.Get("Origin"); origin != "" && !key.Publishable && x.t.leaks != nil {
		x.t.leaks.Leaked(x.ctx, key, origin)
	}
	caller := x.callerOf(key)
	if err := x.signed(key, presented, raw); err != nil {
		x.standing(caller)
		return err
	}
	again, err := x.first(key)
	if err != nil {
		x.standing(caller)
		return err
	}
	if err := key.CheckOrigin(x.r.Header); err != nil {
		x.standing(caller)
		return err
	}
	result, err := x.t.limiter.Allow(x.ctx, caller.key, caller.perMinute)
	if err != nil {
		return apierr.Wrap("count the request", err)
	}
	x.rateHeaders(result)
	if !result.Allowed {
		again()
		return &apierr.Error{Code: apierr.RateLimited, Message: "Rate limit exceeded", RetryAfter: max(result.RetryAfter, 1)}
	}
	v := key.Viewer
	v.Surface = viewer.SurfacePublic
	if v.EndUser, err = x.named(key); err != nil {
		return err
	}
	x.ctx = viewer.With(x.ctx, v)
	return nil
}

// named is whom a request by a secret key says it is for, "" for nobody. Of a
// publishable key, which anybody can read off a page, it is not believed.
func (x *exchange) named(key authn.Key) (string, error) {
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

func (x *exchange) key() (authn.Key, string, error) {
	given := x.r.Header.Values(keyHeader)
	switch {
	case len(given) == 0 || len(given) == 1 && given[0] == "":
		return authn.Key{}, "", apierr.New(apierr.Unauthorized, "API key required")
	case len(given) > 1:
		return authn.Key{}, "", apierr.New(apierr.InvalidKey, "Invalid API key")
	}
	key, err := x.t.keys.Authenticate(x.ctx, given[0])
	if err != nil {
		return authn.Key{}, "", apierr.Wrap("check the API key", err)
	}
	return key, given[0], nil
}

// signed checks a secret key's signature wherever there is one, and its absence
// where the key asks for one. Publishable keys cannot keep a secret, so theirs
// is not looked at.
func (x *exchange) signed(key authn.Key, presented string, raw []byte) error {
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

// seenFor is for how long a signature is remembered: one of a timestamp ahead of
// the clock is valid for twice the skew.
const seenFor = 2 * authn.MaxSkew

// first refuses a signature that was presented before, by a key that asks for
// signatures. It goes by the signature alone, which covers neither the path nor
// the query. Each node remembers it, and all together where rates are counted,
// while that place answers. again forgets it, for a request that is refused and
// may be sent again as it is.
func (x *exchange) first(key authn.Key) (again func(), err error) {
	if !key.RequireSignature || key.Publishable || x.t.replays {
		return func() {}, nil
	}
	// Hexadecimal digits have two cases: one signature has one name.
	name := "signature:" + key.ID.String() + ":" + authn.Fingerprint(strings.ToLower(x.r.Header.Get(signatureHeader)))
	first, err := x.t.limiter.AllowOnce(x.ctx, name, seenFor)
	switch {
	case err != nil:
		return nil, apierr.Wrap("look for the signature", err)
	case !first:
		return nil, apierr.New(apierr.InvalidSignature, "Invalid request signature")
	}
	return func() { x.t.limiter.ResetOnce(x.ctx, name, seenFor) }, nil
}

// caller is who a request is counted for.
type caller struct {
	key       string
	perMinute int // 0 or less: no limit
}

// callerOf counts a secret key by itself and a publishable one for each address.
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

// unknownCaller is one without a key that counts: nothing is counted for it,
// and its standing is that of a publishable key at its first request.
func (x *exchange) unknownCaller() caller {
	return caller{key: "ip:" + ratelimit.ClientOf(x.ctx), perMinute: x.t.limits.Publishable}
}

// standing sets the rate headers of a request that is refused before it counts.
func (x *exchange) standing(c caller) {
	if result, err := x.t.limiter.Peek(x.ctx, c.key, c.perMinute); err == nil {
		x.rateHeaders(result)
	}
}

func (x *exchange) rateHeaders(r ratelimit.Result) {
	if r.Limit <= 0 {
		r.Limit, r.Remaining, r.Reset = unlimited, unlimited, x.t.now()
	}
	h := x.w.Header()
	h.Set(limitHeader, strconv.Itoa(r.Limit))
	h.Set(remainingHeader, strconv.Itoa(r.Remaining))
	reset := r.Reset.Unix()
	if r.Reset.Nanosecond() > 0 {
		reset++ // whoever waits until then has waited enough
	}
	h.Set(resetHeader, strconv.FormatInt(reset, 10))
}
