package googledrive_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	. "github.com/magpie-search/magpie/internal/testkit/driveserver"
)

func header(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		h.Set(name, strings.TrimSpace(value))
	}
	return h
}

// The examples of Google's guide to push notifications.
func publishedChange() (http.Header, []byte) {
	return header("Content-Type: application/json; utf-8", "Content-Length: 0", "X-Goog-Channel-ID: 4ba78bf0-6a47-11e2-bcfd-0800200c9a66",
		"X-Goog-Channel-Token: 398348u3tu83ut8uu38", "X-Goog-Channel-Expiration: Tue, 19 Nov 2013 01:13:52 GMT", "X-Goog-Resource-ID:  ret08u3rv24htgh289g",
		"X-Goog-Resource-URI: https://www.googleapis.com/drive/v3/changes", "X-Goog-Resource-State:  change", "X-Goog-Message-Number: 23"), []byte(`{"kind": "drive#changes"}`)
}

func publishedSync() http.Header {
	h, _ := publishedChange()
	h.Set("X-Goog-Resource-State", "sync")
	h.Set("X-Goog-Message-Number", "1")
	return h
}

func TestPublishedDeliveriesAreRead(t *testing.T) {
	t.Parallel()
	hook := kind().Webhook
	change, body := publishedChange()
	keys, err := hook.Route(change, body)
	if err != nil || !slices.Equal(keys, []string{"4ba78bf0-6a47-11e2-bcfd-0800200c9a66"}) {
		t.Errorf("the keys are %q, %v", keys, err)
	}
	if err := hook.Verify("398348u3tu83ut8uu38", change, body, time.Now()); err != nil {
		t.Errorf("the token: %v", err)
	}
	for _, secret := range []string{"", "398348u3tu83ut8uu3", "398348u3tu83ut8uu38 ", "other"} {
		if err := hook.Verify(secret, change, body, time.Now()); !errors.Is(err, connectors.ErrSignature) {
			t.Errorf("the token %q: %v", secret, err)
		}
	}
	if err := hook.Verify("", http.Header{}, nil, time.Now()); !errors.Is(err, connectors.ErrSignature) {
		t.Errorf("no token and no secret: %v", err)
	}
	delivery, err := hook.Parse(change, body)
	if err != nil || !delivery.AllChanged || delivery.ID != "4ba78bf0-6a47-11e2-bcfd-0800200c9a66/23" {
		t.Errorf("the change is %+v, %v", delivery, err)
	}
	delivery, err = hook.Parse(publishedSync(), nil)
	if err != nil || delivery.AllChanged || delivery.PermissionsChanged || len(delivery.Items) > 0 || delivery.ID == "" {
		t.Errorf("the first message is %+v, %v", delivery, err)
	}
	for _, wrong := range []http.Header{{}, header("X-Goog-Channel-ID: a"), header("X-Goog-Resource-State: change")} {
		if _, err := hook.Route(wrong, nil); !errors.Is(err, connectors.ErrDelivery) {
			t.Errorf("%v is routed: %v", wrong, err)
		}
		if _, err := hook.Parse(wrong, nil); !errors.Is(err, connectors.ErrDelivery) {
			t.Errorf("%v is read: %v", wrong, err)
		}
	}
	id := uuid.NewString()
	if keys := hook.Keys(connectors.Settings{ConnectorID: id}); !slices.Equal(keys, []string{id}) {
		t.Errorf("the keys of a connector are %q", keys)
	}
	if !hook.ProbesAddress {
		t.Error("the address is not probed")
	}
}

func channelIDs(p *place) (ids []string) {
	for _, c := range p.Channels() {
		ids = append(ids, c.ID)
	}
	return ids
}

const hookAddress = "https://magpie.example.com/webhooks/connectors/google_drive/x"

func TestChannelsAreRenewedWithoutAGap(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.AddDrive("Second", Permission{Type: "user", Email: ada})
	var mutex sync.Mutex
	var deliveries []http.Header
	p.Notify = func(_ string, h http.Header) {
		mutex.Lock()
		defer mutex.Unlock()
		deliveries = append(deliveries, h)
	}
	s := p.settings(nil)
	s.ConnectorID = uuid.NewString()
	source := open(t, s)
	subscriber, ok := source.(connectors.Subscriber)
	if !ok {
		t.Fatal("the source is no Subscriber")
	}
	subscribe := func(address, secret string) connectors.Subscription {
		t.Helper()
		made, err := subscriber.Subscribe(t.Context(), address, secret)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	made := subscribe(hookAddress, "first secret")
	first := channelIDs(p)
	if life := time.Until(made.Expires); made.ID != hookAddress || life < 6*24*time.Hour || life > 7*24*time.Hour || len(first) != 3 {
		t.Fatalf("the subscription is %+v with the channels %+v", made, first)
	}
	hook := kind().Webhook
	mutex.Lock()
	for _, h := range deliveries {
		keys, err := hook.Route(h, nil)
		delivery, parseErr := hook.Parse(h, nil)
		if err != nil || parseErr != nil || !slices.Equal(keys, []string{s.ConnectorID}) || hook.Verify("first secret", h, nil, time.Now()) != nil || delivery.AllChanged {
			t.Errorf("the first message %v: %q %+v", h, keys, delivery)
		}
	}
	count := len(deliveries)
	mutex.Unlock()
	if count != 3 {
		t.Errorf("%d first messages", count)
	}
	p.Add(File{Name: "a.md", Parent: p.drive})
	mutex.Lock()
	if delivery, err := hook.Parse(deliveries[len(deliveries)-1], nil); len(deliveries) != 4 || err != nil || !delivery.AllChanged {
		t.Errorf("%d messages, the last %+v", len(deliveries), delivery)
	}
	mutex.Unlock()

	// A check before half of the life changes nothing.
	if subscribe(hookAddress, "first secret"); !slices.Equal(channelIDs(p), first) {
		t.Errorf("a check replaces channels: %+v", p.Channels())
	}
	// Another secret replaces them: the new ones are made before the old ones stop.
	order := []string{}
	p.Fail(func(r *http.Request) *Fault {
		if r.Method == http.MethodPost {
			order = append(order, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
		}
		return nil
	})
	subscribe(hookAddress, "second secret")
	p.Fail(nil)
	if want := []string{"watch", "watch", "watch", "stop", "stop", "stop"}; !slices.Equal(order, want) {
		t.Errorf("the requests are %q", order)
	}
	for _, c := range p.Channels() {
		if c.Token != "second secret" || slices.Contains(first, c.ID) {
			t.Errorf("an old channel is left: %+v", c)
		}
	}
	// A failure to stop an old channel is repeated.
	p.Fail(func(r *http.Request) *Fault {
		if strings.HasSuffix(r.URL.Path, "/channels/stop") {
			return &Fault{Status: 503}
		}
		return nil
	})
	if _, err := subscriber.Subscribe(t.Context(), hookAddress, "third secret"); err == nil {
		t.Error("channels that did not stop are no error")
	}
	p.Fail(nil)
	if subscribe(hookAddress, "third secret"); len(p.Channels()) != 3 || p.Channels()[0].Token != "third secret" {
		t.Errorf("after a failure: %+v", p.Channels())
	}
	if err := subscriber.Unsubscribe(t.Context(), made); err != nil || len(p.Channels()) != 0 {
		t.Errorf("after the end: %+v, %v", p.Channels(), err)
	}
	if err := subscriber.Unsubscribe(t.Context(), made); err != nil {
		t.Errorf("a second end: %v", err)
	}
	if _, err := subscriber.Subscribe(t.Context(), "http://magpie.example.com", "x"); !connectors.IsFatal(err) || !strings.Contains(err.Error(), "https") {
		t.Errorf("an address without TLS: %v", err)
	}
}

// At half of its life a channel is replaced.
func TestChannelsAreReplacedAtHalfLife(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.settings(map[string]any{"includeSharedDrives": false})
	subscriber, _ := open(t, s).(connectors.Subscriber)
	if _, err := subscriber.Subscribe(t.Context(), hookAddress, "secret"); err != nil {
		t.Fatal(err)
	}
	before := p.Channels()
	var channels []map[string]any
	if _, err := connectors.GetJSON(t.Context(), s.State, "channels", &channels); err != nil || len(channels) != 1 {
		t.Fatalf("the state has %v, %v", channels, err)
	}
	channels[0]["created"], channels[0]["expires"] = time.Now().Add(-4*24*time.Hour), time.Now().Add(3*24*time.Hour)
	if err := connectors.PutJSON(t.Context(), s.State, "channels", channels); err != nil {
		t.Fatal(err)
	}
	if _, err := subscriber.Subscribe(t.Context(), hookAddress, "secret"); err != nil {
		t.Fatal(err)
	}
	if after := p.Channels(); len(after) != 1 || after[0].ID == before[0].ID {
		t.Errorf("the channels are %+v", after)
	}
}

func FuzzDelivery(f *testing.F) {
	f.Add("4ba78bf0-6a47-11e2-bcfd-0800200c9a66", "token", "change", "1")
	f.Add("", "", "sync", "x")
	hook := kind().Webhook
	f.Fuzz(func(t *testing.T, channel, token, state, number string) {
		h := http.Header{"X-Goog-Channel-Id": {channel}, "X-Goog-Channel-Token": {token}, "X-Goog-Resource-State": {state}, "X-Goog-Message-Number": {number}}
		keys, routeErr := hook.Route(h, nil)
		delivery, err := hook.Parse(h, nil)
		if (routeErr == nil) != (err == nil) || len(keys) > 1 || delivery.AllChanged && state == "sync" {
			t.Errorf("%v: %q %v, %+v %v", h, keys, routeErr, delivery, err)
		}
		if (hook.Verify("secret", h, nil, time.Now()) == nil) != (token == "secret") {
			t.Errorf("the token %q", token)
		}
	})
}

func FuzzCursor(f *testing.F) {
	p := newPlace(f)
	file := p.Add(File{Name: "a.md", Parent: p.drive})
	source := open(f, p.settings(nil))
	for _, seed := range []string{"", `{"u":"user","s":"f"}`, `{"u":"drive:x","s":"d","t":"1"}`, `{"u":"folder:x","s":"f","a":"z","r":9}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		for range 20 {
			page, err := source.Walk(t.Context(), cursor)
			for _, item := range page.Items {
				if item.ID != file {
					t.Errorf("%q gave %q", cursor, item.ID)
				}
			}
			if err != nil || page.Done {
				return
			}
			if page.Next == cursor {
				t.Errorf("%q leads to itself", cursor)
			}
			cursor = page.Next
		}
		t.Errorf("the walk does not end: %q", cursor)
	})
}

func FuzzToken(f *testing.F) {
	p := newPlace(f)
	follower := follow(f, open(f, p.settings(nil)))
	f.Add(follower.token)
	f.Add(`{"v":1,"s":{"user":"x"},"a":"user","m":["1"]}`)
	feeder, _ := follower.source.(connectors.Feeder)
	f.Fuzz(func(t *testing.T, token string) {
		if page, err := feeder.Changes(t.Context(), token); err == nil && (len(page.Items) > 0 || len(page.Gone) > 0) {
			t.Errorf("%q gave %+v", token, page)
		}
	})
}
