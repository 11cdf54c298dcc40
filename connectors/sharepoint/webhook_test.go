package sharepoint_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sharepoint"
)

// A receiver is the address of deliveries, as Magpie serves it.
type receiver struct {
	*httptest.Server
	mutex      sync.Mutex
	bodies     [][]byte
	validation int
	silent     bool
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	hook := sharepoint.Kind(dial).Webhook
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mutex.Lock()
		defer r.mutex.Unlock()
		if r.silent {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		if text, ok := hook.Challenge(req.URL.Query(), req.Header, body); ok {
			r.validation++
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, text)
			return
		}
		r.bodies = append(r.bodies, body)
	}))
	t.Cleanup(r.Close)
	return r
}

func subscribe(t *testing.T, source connectors.Source, address, secret string) connectors.Subscription {
	t.Helper()
	sub, err := source.(connectors.Subscriber).Subscribe(t.Context(), address, secret)
	if err != nil {
		t.Fatalf("Subscribe: %v", err)
	}
	return sub
}

func TestEveryLibraryHasASubscription(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	second := o.AddLibrary(o.site, "Contracts", "Contracts")
	r := newReceiver(t)
	source := open(t, o.settings(nil))
	sub := subscribe(t, source, r.URL, "the-secret")
	made := o.Subscriptions()
	if len(made) != 2 || r.validation != 4 || sub.ID != r.URL || time.Until(sub.Expires) < 28*24*time.Hour || time.Until(sub.Expires) > 30*24*time.Hour {
		t.Fatalf("%+v with %+v, %d validations", sub, made, r.validation)
	}
	for _, one := range made {
		if one.ClientState != "the-secret" || one.NotificationURL != r.URL || one.LifecycleURL != r.URL {
			t.Errorf("the subscription is %+v", one)
		}
	}
	// Again: nothing is made or renewed.
	o.Requests()
	again := subscribe(t, open(t, o.settings(nil)), r.URL, "the-secret")
	for _, request := range o.Requests() {
		if strings.HasPrefix(request, "POST /v1.0/subscriptions") || strings.HasPrefix(request, "PATCH") {
			t.Errorf("a valid subscription caused %s", request)
		}
	}
	if !again.Expires.Equal(sub.Expires) {
		t.Errorf("it expires at %s, then at %s", sub.Expires, again.Expires)
	}
	// After a while it is renewed, not replaced.
	soon := time.Now().Add(28 * 24 * time.Hour)
	for _, one := range made {
		o.SetExpiry(one.ID, soon)
	}
	again = subscribe(t, source, r.URL, "the-secret")
	if renewed := o.Subscriptions(); len(renewed) != 2 || renewed[0].ID != made[0].ID || again.Expires.Before(soon.Add(time.Hour)) {
		t.Errorf("renewed: %+v, %+v", again, renewed)
	}
	// A removed one is made again; that of a removed library ends.
	o.RemoveSubscriptions()
	subscribe(t, source, r.URL, "the-secret")
	if len(o.Subscriptions()) != 2 {
		t.Errorf("after a removal: %+v", o.Subscriptions())
	}
	o.RemoveLibrary(second)
	subscribe(t, source, r.URL, "the-secret")
	if left := o.Subscriptions(); len(left) != 1 || left[0].Resource != "/drives/"+o.drive+"/root" {
		t.Errorf("after the end of a library: %+v", left)
	}
	// Another secret needs another subscription.
	subscribe(t, source, r.URL, "another-secret")
	if left := o.Subscriptions(); len(left) != 1 || left[0].ClientState != "another-secret" {
		t.Errorf("with another secret: %+v", left)
	}
	if err := source.(connectors.Subscriber).Unsubscribe(t.Context(), connectors.Subscription{ID: r.URL}); err != nil || len(o.Subscriptions()) != 0 {
		t.Errorf("Unsubscribe: %v, %+v", err, o.Subscriptions())
	}
	if err := source.(connectors.Subscriber).Unsubscribe(t.Context(), connectors.Subscription{ID: r.URL}); err != nil {
		t.Errorf("Unsubscribe again: %v", err)
	}
}

func TestUnreachableAddressesAreExplained(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	r := newReceiver(t)
	r.silent = true
	_, err := open(t, o.settings(nil)).(connectors.Subscriber).Subscribe(t.Context(), r.URL, "the-secret")
	if _, ok := connectors.RetryAfterOf(err); !ok || !strings.Contains(err.Error(), "cannot reach the address") {
		t.Errorf("Subscribe: %v", err)
	}
	if _, err := open(t, o.settings(nil)).(connectors.Subscriber).Subscribe(t.Context(), r.URL, strings.Repeat("x", 129)); err == nil {
		t.Error("a secret of 129 characters is accepted")
	}
}

func TestDeliveriesAreVerifiedAndRead(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	r := newReceiver(t)
	subscribe(t, open(t, o.settings(nil)), r.URL, "the-secret")
	hook := sharepoint.Kind(dial).Webhook
	want := map[string]bool{"updated": true, "missed": true, "subscriptionRemoved": true, "reauthorizationRequired": false}
	for event, all := range want {
		bodies := o.Lifecycle(event)
		if event == "updated" {
			bodies = o.Notifications(o.drive)
		}
		if err := o.Deliver(context.WithoutCancel(t.Context()), bodies); err != nil {
			t.Fatal(err)
		}
		body := r.bodies[len(r.bodies)-1]
		keys, err := hook.Route(nil, body)
		if err != nil || !slices.Equal(keys, hook.Keys(o.settings(nil))) {
			t.Errorf("%s: the keys are %q, want %q: %v", event, keys, hook.Keys(o.settings(nil)), err)
		}
		if err := hook.Verify("the-secret", nil, body, time.Now()); err != nil {
			t.Errorf("%s: %v", event, err)
		}
		for _, secret := range []string{"", "another", "the-secret2"} {
			if hook.Verify(secret, nil, body, time.Now()) == nil {
				t.Errorf("%s is accepted with the secret %q", event, secret)
			}
		}
		d, err := hook.Parse(nil, body)
		if err != nil || d.AllChanged != all || len(d.Items) != 0 || d.RenewSubscription != (event == "subscriptionRemoved" || event == "reauthorizationRequired") {
			t.Errorf("%s: %+v, %v", event, d, err)
		}
		// An equal notification of a later change is another delivery.
		if again, err := hook.Parse(nil, body); err != nil || again.ID == d.ID || d.ID == "" {
			t.Errorf("%s: the ids are %q and %q: %v", event, d.ID, again.ID, err)
		}
	}
}

// The published example of a notification, of two subscriptions with different
// secrets, and of others that are none.
func TestDeliveriesOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	hook := sharepoint.Kind(dial).Webhook
	const published = `{"value":[{"id":"lsgTZMr9KwAAA","subscriptionId":"7f105c7d-2dc5-4530-97cd-4e7ae6534c07","subscriptionExpirationDateTime":"2026-03-20T11:00:00.0000000Z",` +
		`"clientState":"secretClientValue","changeType":"updated","resource":"drives/b!x/root","tenantId":"84bd8158-6d4d-4958-8b9f-9d6445542f95","resourceData":null}]}`
	if err := hook.Verify("secretClientValue", nil, []byte(published), time.Now()); err != nil {
		t.Errorf("the published example: %v", err)
	}
	if keys, err := hook.Route(nil, []byte(published)); err != nil || !slices.Equal(keys, []string{"tenant:84bd8158-6d4d-4958-8b9f-9d6445542f95"}) {
		t.Errorf("the published example has the keys %q: %v", keys, err)
	}
	mixed := strings.Replace(published, `[{`, `[{"subscriptionId":"x","clientState":"other","tenantId":"t"},{`, 1)
	if hook.Verify("secretClientValue", nil, []byte(mixed), time.Now()) == nil {
		t.Error("a delivery is accepted with one wrong clientState")
	}
	for _, body := range []string{"", "{}", `{"value":[]}`, `{"value":[{}]}`, `{"value":{}}`, "[]", "null", "<html>"} {
		if _, err := hook.Route(nil, []byte(body)); err == nil {
			t.Errorf("Route accepts %q", body)
		}
		if _, err := hook.Parse(nil, []byte(body)); err == nil {
			t.Errorf("Parse accepts %q", body)
		}
		if hook.Verify("s", nil, []byte(body), time.Now()) == nil {
			t.Errorf("Verify accepts %q", body)
		}
	}
}

func TestTheValidationIsAnswered(t *testing.T) {
	t.Parallel()
	hook := sharepoint.Kind(dial).Webhook
	for token, answered := range map[string]bool{
		"Validation: Testing client application reachability for subscription Request-Id: 522a8e7e": true,
		"": false, "a\nb": false, "a\x00b": false, strings.Repeat("x", 4097): false,
	} {
		text, ok := hook.Challenge(map[string][]string{"validationToken": {token}}, nil, nil)
		if ok != answered || ok && text != token {
			t.Errorf("%.40q: %.40q, %v", token, text, ok)
		}
	}
	if _, ok := hook.Challenge(map[string][]string{"validationToken": {"x"}}, nil, []byte(`{"value":[]}`)); ok {
		t.Error("a request with content is a validation")
	}
}

func FuzzDeliveries(f *testing.F) {
	f.Add([]byte(`{"value":[{"subscriptionId":"a","clientState":"s","tenantId":"t"}]}`))
	f.Add([]byte(`{"value":[{"subscriptionId":"a","lifecycleEvent":"missed"}]}`))
	hook := sharepoint.Kind(dial).Webhook
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = hook.Route(nil, body)
		if _, err := hook.Parse(nil, body); err != nil && hook.Verify("secret", nil, body, time.Now()) == nil {
			t.Error("a delivery that cannot be read is verified")
		}
	})
}
