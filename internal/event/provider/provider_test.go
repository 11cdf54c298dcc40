package provider_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/provider"
)

// moment is the time at which the good deliveries are signed.
func moment() time.Time { return time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC) }

// A sample is a delivery of a provider that can be signed.
type sample struct {
	settings connectors.Settings
	secret   string
	body     string
	// timed says that the scheme has a time.
	timed bool
	// sign returns the request for a body, signed with a secret at a time.
	sign func(body []byte, secret string, at time.Time) *event.Request
	// keys are the names that it has; id and typ are those of its first event.
	keys    []string
	id, typ string
	// content checks its common form.
	content func(t *testing.T, c event.Content)
}

func newRequest(body []byte, address string, header ...string) *event.Request {
	r := &event.Request{Header: http.Header{}, URL: address, Body: body}
	if u, err := url.Parse(address); err == nil {
		r.Query = u.Query()
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func TestEveryProviderHasItsCases(t *testing.T) {
	t.Parallel()
	all, providers := samples(t)
	names := slices.Sorted(maps.Keys(providers))
	if len(names) != 12 {
		t.Errorf("there are %d providers", len(names))
	}
	if cases := slices.Sorted(maps.Keys(all)); !slices.Equal(names, cases) {
		t.Errorf("the providers are\n%v\nand there are cases for\n%v", names, cases)
	}
	// Only schemes without a signed time have no stale case; the id of an event makes a
	// repetition harmless there.
	untimed := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return all[name].timed })
	if want := []string{"confluence", "github", "jira", "postmark", "salesforce", "teams"}; !slices.Equal(untimed, want) {
		t.Errorf("no stale case: %v, want %v", untimed, want)
	}
	for name, s := range all {
		r := s.sign([]byte(s.body), s.secret, moment())
		again, err := providers[name].Receive(t.Context(), s.sign([]byte(s.body), s.secret, moment().Add(time.Minute)), s.settings, s.secret)
		if d, failed := providers[name].Receive(t.Context(), r, s.settings, s.secret); err != nil || failed != nil || len(d.Events) == 0 || len(again.Events) == 0 || d.Events[0].ID != again.Events[0].ID || d.Events[0].ID == "" {
			t.Errorf("%s: a repetition has another id: %v %v", name, err, failed)
		}
		if len(seeds(t, providers[name], s)) == 0 {
			t.Errorf("%s: the fuzz target has no genuine delivery", name)
		}
	}
}

// seeds returns the genuine deliveries that the fuzz target starts from.
func seeds(t testing.TB, p event.Provider, s sample) []*event.Request {
	t.Helper()
	r := s.sign([]byte(s.body), s.secret, moment())
	if _, err := p.Route(r); err != nil || len(r.Body) == 0 {
		return nil
	}
	return []*event.Request{r}
}

func verify(ctx context.Context, p event.Provider, s sample, r *event.Request, secret string) error {
	return p.Verify(ctx, r, s.settings, secret, moment())
}

func TestOnlyGenuineAndRecentDeliveriesAreAccepted(t *testing.T) {
	t.Parallel()
	each, all := samples(t)
	for name, s := range each {
		p := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := s.sign([]byte(s.body), s.secret, moment())
			if err := verify(t.Context(), p, s, good, s.secret); err != nil {
				t.Errorf("good: %v", err)
			}
			refused := func(what string, r *event.Request, secret string, stale bool) {
				t.Helper()
				refusal, ok := errors.AsType[*event.Refusal](verify(t.Context(), p, s, r, secret))
				if !ok || refusal.Stale != stale {
					t.Errorf("%s: accepted, or refused for another reason: %v", what, refusal)
				}
			}
			flipped := s.sign([]byte(s.body), s.secret, moment())
			if covered(p) {
				flipped.Body = bytes.Clone(flipped.Body)
				flipped.Body[len(flipped.Body)/2] ^= 1
			} else {
				flip(t, flipped)
			}
			refused("one bit flipped", flipped, s.secret, false)
			refused("another secret", s.sign([]byte(s.body), s.secret+"x", moment()), s.secret, false)
			if p.Secret != "" {
				refused("an empty secret", s.sign([]byte(s.body), "", moment()), "", false)
			}
			refused("nothing", newRequest([]byte(s.body), address), s.secret, false)
			if s.timed {
				refused("stale", s.sign([]byte(s.body), s.secret, moment().Add(-2*time.Hour)), s.secret, true)
				refused("from the future", s.sign([]byte(s.body), s.secret, moment().Add(2*time.Hour)), s.secret, true)
			}
		})
	}
}

// covered reports whether the proof of a provider covers the body. A password or token
// does not.
func covered(p event.Provider) bool {
	return !slices.Contains([]string{"postmark", "salesforce", "teams", "google_meet"}, p.Name)
}

// flip changes one bit of the proof of a request.
func flip(t *testing.T, r *event.Request) {
	t.Helper()
	switch token := r.Query.Get("token"); {
	case token != "":
		changed := []byte(token)
		changed[len(changed)/2] ^= 1
		r.Query.Set("token", string(changed))
	case r.Header.Get("Authorization") != "":
		changed := []byte(r.Header.Get("Authorization"))
		changed[len(changed)/2] ^= 1
		r.Header.Set("Authorization", string(changed))
	default:
		r.Body = bytes.Replace(r.Body, []byte("clientState\":\""), []byte("clientState\":\"!"), 1)
	}
}

func TestDeliveriesAreRoutedAndRead(t *testing.T) {
	t.Parallel()
	each, all := samples(t)
	for name, s := range each {
		p := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := s.sign([]byte(s.body), s.secret, moment())
			keys, err := p.Route(r)
			if err != nil || !slices.Equal(keys, s.keys) {
				t.Errorf("Route = %q, %v", keys, err)
			}
			own := p.Keys(s.settings)
			if len(s.keys) > 0 && !slices.ContainsFunc(own, func(key string) bool { return slices.Contains(keys, key) }) && p.Family != event.Email {
				t.Errorf("the integration has the keys %q, the delivery %q", own, keys)
			}
			d, err := p.Receive(t.Context(), r, s.settings, s.secret)
			if err != nil || len(d.Events) == 0 {
				t.Fatalf("Receive = %+v, %v", d, err)
			}
			e := d.Events[0]
			if e.ID != s.id || e.Type != s.typ || e.Summary == "" {
				t.Errorf("the event is %q %q %q", e.ID, e.Type, e.Summary)
			}
			body := e.Body
			if body == nil {
				body = r.Body
			}
			kept := event.Payload{Type: e.Type, Header: http.Header{}, Body: body}
			for _, name := range p.Headers {
				if v := r.Header.Values(name); len(v) > 0 {
					kept.Header[http.CanonicalHeaderKey(name)] = v
				}
			}
			content, err := p.Read(kept)
			if err != nil {
				t.Fatal(err)
			}
			s.content(t, content)
		})
	}
}

// The functions that read unverified bytes must neither panic nor accept what is no
// delivery.
func FuzzDeliveries(f *testing.F) {
	all := provider.All(provider.Deps{})
	genuine, _ := samples(f)
	for i, p := range all {
		for _, body := range []string{"", "{}", "[]", "null", `{"a":`, "<a/>", "--x\r\n"} {
			f.Add(uint8(i), []byte(body), "application/json", "issues")
		}
		for _, r := range seeds(f, p, genuine[p.Name]) {
			f.Add(uint8(i), r.Body, r.Header.Get("Content-Type"), r.Header.Get("X-Github-Event"))
		}
	}
	f.Fuzz(func(_ *testing.T, which uint8, body []byte, contentType, name string) {
		p := all[int(which)%len(all)]
		r := newRequest(body, "https://magpie.example.com/x?token=t", "Content-Type", contentType, "X-Github-Event", name, "X-Github-Delivery", "1")
		_, _ = p.Route(r)
		if p.IsChallenge != nil {
			_ = p.IsChallenge(r)
		}
		if p.Open != nil {
			_, _ = p.Open(r)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nothing is fetched
		_ = p.Verify(ctx, r, connectors.Settings{}, "secret", moment())
		d, err := p.Receive(ctx, r, connectors.Settings{}, "secret")
		if err != nil {
			return
		}
		for _, e := range d.Events {
			kept := e.Body
			if kept == nil {
				kept = body
			}
			_, _ = p.Read(event.Payload{Type: e.Type, Header: r.Header, Body: kept})
		}
	})
}
