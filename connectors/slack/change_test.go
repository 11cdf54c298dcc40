package slack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/slack"
	"github.com/magpie-search/magpie/internal/testkit/slackserver"
)

const secret = "8f742231b10e8888abcd99yyyzzz85a5"

// A testWorkspace has one channel with two members.
type testWorkspace struct {
	world               *slackserver.Server
	ada, grace, general string
}

func newTestWorkspace(t *testing.T) *testWorkspace {
	w := slackserver.New(t)
	o := &testWorkspace{world: w}
	o.ada = w.AddUser(slackserver.User{Name: "ada", RealName: "Ada Lovelace", Email: "Ada@example.com"})
	o.grace = w.AddUser(slackserver.User{Name: "grace", RealName: "Grace Hopper", Email: "grace@example.com"})
	o.general = w.AddChannel(slackserver.Channel{Name: "general", Members: []string{w.BotUser, o.ada, o.grace}})
	w.Events()
	return o
}

func (o *testWorkspace) post(text string) string {
	return o.world.Post(o.general, slackserver.Message{User: o.ada, Text: text})
}

func (o *testWorkspace) reply(root, text string) string {
	return o.world.Post(o.general, slackserver.Message{User: o.grace, Thread: root, Text: text})
}

// deliveries returns the deliveries of the events since the last call.
func (o *testWorkspace) deliveries(t *testing.T) []connectors.Delivery {
	t.Helper()
	hook := slack.Kind(o.world.Dial).Webhook
	now := time.Unix(1_700_000_000, 0)
	var out []connectors.Delivery
	for _, body := range o.world.Events() {
		header := slackserver.Sign(secret, now, body)
		keys, err := hook.Route(header, body)
		if err != nil || !slices.Equal(keys, []string{"t024be7ld"}) {
			t.Fatalf("route: %q, %v", keys, err)
		}
		if err := hook.Verify(secret, header, body, now); err != nil {
			t.Fatalf("verify: %v", err)
		}
		d, err := hook.Parse(header, body)
		if err != nil || d.ID == "" || d.ChangedAt.IsZero() {
			t.Fatalf("read: %+v, %v", d, err)
		}
		out = append(out, d)
	}
	return out
}

func (o *testWorkspace) resolve(t *testing.T, source connectors.Source, d connectors.Delivery) (map[string]connectors.Item, []string) {
	t.Helper()
	found, missing, err := source.(connectors.Resolver).Resolve(t.Context(), d.Items)
	if err != nil {
		t.Fatal(err)
	}
	items := make(map[string]connectors.Item)
	for _, item := range found {
		items[item.ID] = item
	}
	return items, missing
}

func TestEveryChangeIsDeliveredAndResolved(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	source := openWith(t, o.world, settings(o.world, nil))
	day := o.general + "/2024-05-01"
	type change struct {
		name    string
		items   []string // that the event names
		missing []string
		says    string // the first item found
	}
	var first, answer, broadcast, file string
	// Each change returns what it needs of the changes before.
	for _, c := range []func() change{
		func() change { first = o.post("first words"); return change{"post", []string{day}, nil, "first words"} },
		func() change {
			o.world.Edit(o.general, first, "other words")
			return change{"edit", []string{day}, nil, "other words"}
		},
		func() change {
			answer = o.reply(first, "an answer")
			return change{"reply", []string{o.general + "/" + first, day}, nil, "an answer"}
		},
		func() change {
			o.world.Edit(o.general, answer, "a better answer")
			return change{"edit a reply", []string{o.general + "/" + first, day}, nil, "a better answer"}
		},
		func() change {
			broadcast = o.world.Post(o.general, slackserver.Message{User: o.grace, Thread: first, Broadcast: true, Text: "to all"})
			return change{"broadcast", []string{o.general + "/" + first, day}, nil, "to all"}
		},
		func() change {
			o.world.Delete(o.general, broadcast)
			return change{"delete the broadcast", []string{o.general + "/" + first, day}, nil, "a better answer"}
		},
		func() change {
			o.world.Delete(o.general, first)
			return change{"delete the root", []string{o.general + "/" + first, day}, []string{day}, "a better answer"}
		},
		func() change {
			o.world.Delete(o.general, answer)
			return change{"delete the last reply", []string{o.general + "/" + first, day}, []string{o.general + "/" + first, day}, ""}
		},
		func() change {
			file, _ = o.world.Share(o.general, slackserver.File{Name: "a.txt", MediaType: "text/plain", User: o.ada, Content: []byte("in a file")})
			o.world.Events()
			o.world.EditFile(file, []byte("changed in a file"))
			return change{"file", []string{file}, nil, "changed in a file"}
		},
		func() change {
			o.world.DeleteFile(file)
			return change{"delete a file", []string{file}, []string{file}, ""}
		},
	} {
		want := c()
		changes := o.deliveries(t)
		if len(changes) != 1 || !slices.Equal(changes[0].Items, want.items) {
			t.Errorf("%s: changes %+v, want %q", want.name, changes, want.items)
			continue
		}
		items, missing := o.resolve(t, source, changes[0])
		if !slices.Equal(missing, want.missing) {
			t.Errorf("%s: missing %q, want %q", want.name, missing, want.missing)
		}
		if want.says != "" && !strings.Contains(content(t, source, items[want.items[0]]), want.says) {
			t.Errorf("%s: %s says %q", want.name, want.items[0], content(t, source, items[want.items[0]]))
		}
		// The next walk lists the same versions.
		walked, _ := walk(t, source)
		for id, item := range items {
			if walked[id].Version != item.Version {
				t.Errorf("%s: %s has the version %s when walked, %s when resolved", want.name, id, walked[id].Version, item.Version)
			}
		}
	}
}

func TestVersionsChangeWithContent(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	source := openWith(t, o.world, settings(o.world, nil))
	root := o.post("a question")
	answer := o.reply(root, "an answer")
	other := o.post("else")
	seen := map[string]bool{}
	versions := func() string {
		items, _ := walk(t, source)
		return items[o.general+"/2024-05-01"].Version + " " + items[o.general+"/"+root].Version
	}
	seen[versions()] = true
	if !seen[versions()] {
		t.Error("the versions change without a change")
	}
	for name, change := range map[string]func(){
		"edit the root": func() { o.world.Edit(o.general, root, "another question") },
		"reply":         func() { o.reply(root, "yes") },
		"post":          func() { o.post("more") },
		"edit":          func() { o.world.Edit(o.general, other, "else again") },
		"delete":        func() { o.world.Delete(o.general, answer) },
	} {
		change()
		now := versions()
		if seen[now] {
			t.Errorf("%s: the versions are as before", name)
		}
		seen[now] = true
	}
	// A conversation that continued is another version.
	items, _ := walk(t, source)
	o.reply(root, "and more")
	if _, err := source.Open(t.Context(), items[o.general+"/"+root]); err == nil {
		t.Error("a thread that went on was opened")
	} else if _, retryable := connectors.RetryAfterOf(err); !retryable {
		t.Errorf("open a thread that went on: %v", err)
	}
	// A new name of a user changes no version.
	if first, second := versions(), func() string {
		o.world.AddUser(slackserver.User{ID: o.ada, RealName: "Ada King"})
		source = openWith(t, o.world, settings(o.world, nil)) // has loaded no names
		return versions()
	}(); first != second {
		t.Error("a new name makes new versions")
	}
}

func TestDeliveriesAreVerified(t *testing.T) {
	t.Parallel()
	hook := slack.Kind(nil).Webhook
	// The example in Slack's documentation.
	body := []byte("token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c")
	published := func() http.Header {
		return http.Header{
			"X-Slack-Request-Timestamp": {"1531420618"},
			"X-Slack-Signature":         {"v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"},
		}
	}
	at := time.Unix(1531420618, 0)
	if err := hook.Verify(secret, published(), body, at.Add(4*time.Minute)); err != nil {
		t.Errorf("the published example: %v", err)
	}
	if _, err := hook.Route(published(), body); !errors.Is(err, connectors.ErrDelivery) {
		t.Errorf("a command is taken for an event: %v", err)
	}
	with := func(name, value string) http.Header {
		h := published()
		h.Set(name, value)
		return h
	}
	without := func(name string) http.Header { h := published(); h.Del(name); return h }
	for name, c := range map[string]struct {
		secret string
		header http.Header
		body   []byte
		now    time.Time
	}{
		"another secret":     {"8f742231b10e8888abcd99yyyzzz85a6", published(), body, at},
		"no secret":          {"", published(), body, at},
		"another body":       {secret, published(), append(slices.Clone(body), ' '), at},
		"too old":            {secret, published(), body, at.Add(5*time.Minute + time.Second)},
		"too new":            {secret, published(), body, at.Add(-5*time.Minute - time.Second)},
		"another time":       {secret, with("X-Slack-Request-Timestamp", "1531420619"), body, at},
		"a time with a sign": {secret, with("X-Slack-Request-Timestamp", "+1531420618"), body, at},
		"no time":            {secret, without("X-Slack-Request-Timestamp"), body, at},
		"no signature":       {secret, without("X-Slack-Signature"), body, at},
		"another scheme":     {secret, with("X-Slack-Signature", "v1=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"), body, at},
		"half a signature":   {secret, with("X-Slack-Signature", "v0=a2114d57"), body, at},
	} {
		if err := hook.Verify(c.secret, c.header, c.body, c.now); !errors.Is(err, connectors.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDeliveriesAreParsed(t *testing.T) {
	t.Parallel()
	hook := slack.Kind(nil).Webhook
	event := func(e string) string {
		return `{"type":"event_callback","team_id":"T1","event_id":"Ev1","event_time":1714557600,"event":` + e + `}`
	}
	for name, c := range map[string]struct {
		body string
		want connectors.Delivery
		err  error
	}{
		"challenge":        {`{"token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}`, connectors.Delivery{Response: []byte("3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P")}, nil},
		"no challenge":     {`{"type":"url_verification"}`, connectors.Delivery{}, connectors.ErrDelivery},
		"hostile one":      {`{"type":"url_verification","challenge":"<script>\n"}`, connectors.Delivery{}, connectors.ErrDelivery},
		"dropped":          {`{"type":"app_rate_limited","team_id":"T1","minute_rate_limited":1518467820}`, connectors.Delivery{AllChanged: true}, nil},
		"another type":     {`{"type":"block_actions"}`, connectors.Delivery{}, connectors.ErrDelivery},
		"no JSON":          {`payload=%7B%7D`, connectors.Delivery{}, connectors.ErrDelivery},
		"nothing":          {``, connectors.Delivery{}, connectors.ErrDelivery},
		"another shape":    {`{"type":"event_callback","event":[]}`, connectors.Delivery{}, connectors.ErrDelivery},
		"rename":           {event(`{"type":"channel_rename","channel":{"id":"C01","name":"new"}}`), connectors.Delivery{AllChanged: true}, nil},
		"somebody joined":  {event(`{"type":"member_joined_channel","user":"U1","channel":"C01"}`), connectors.Delivery{PermissionsChanged: true}, nil},
		"somebody left":    {event(`{"type":"member_left_channel","user":"U1","channel":"C01"}`), connectors.Delivery{PermissionsChanged: true}, nil},
		"channel is gone":  {event(`{"type":"channel_deleted","channel":"C01"}`), connectors.Delivery{PermissionsChanged: true}, nil},
		"a new status":     {event(`{"type":"user_change","user":{"id":"U1","deleted":false}}`), connectors.Delivery{}, nil},
		"somebody is out":  {event(`{"type":"user_change","user":{"id":"U1","deleted":true}}`), connectors.Delivery{PermissionsChanged: true}, nil},
		"a direct message": {event(`{"type":"message","channel":"D01","channel_type":"im","ts":"1714557600.000100"}`), connectors.Delivery{}, nil},
		"a joined channel": {event(`{"type":"message","subtype":"channel_join","channel":"C01","ts":"1714557600.000100"}`), connectors.Delivery{}, nil},
		"a made-up time":   {event(`{"type":"message","channel":"C01","ts":"../../etc"}`), connectors.Delivery{}, nil},
		"with files": {event(`{"type":"message","subtype":"file_share","channel":"C01","ts":"1714557600.000100","files":[{"id":"F01"},{"id":"../x"},7]}`),
			connectors.Delivery{Items: []string{"C01/2024-05-01", "F01"}}, nil},
		"a file is shared": {event(`{"type":"file_shared","file_id":"F01","channel_id":"C01"}`), connectors.Delivery{Items: []string{"F01"}}, nil},
		"another event":    {event(`{"type":"reaction_added"}`), connectors.Delivery{}, nil},
	} {
		got, err := hook.Parse(nil, []byte(c.body))
		if !errors.Is(err, c.err) || (c.err == nil && err != nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(c.body, "event_callback") && err == nil {
			c.want.ID, c.want.ChangedAt = "Ev1", time.Unix(1714557600, 0).UTC()
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	again, err := hook.Parse(nil, []byte(event(`{"type":"message","channel":"C01","ts":"1714557600.000100"}`)))
	if err != nil || again.ID != "Ev1" {
		t.Errorf("a delivery made again: %+v, %v", again, err)
	}
	if keys := hook.Keys(connectors.Settings{Config: map[string]any{"teamId": "T024BE7LD"}}); !slices.Equal(keys, []string{"t024be7ld"}) {
		t.Errorf("the keys are %q", keys)
	}
	if keys := hook.Keys(connectors.Settings{}); len(keys) != 0 {
		t.Errorf("without a workspace's id the keys are %q", keys)
	}
}

func FuzzDelivery(f *testing.F) {
	hook := slack.Kind(nil).Webhook
	f.Add([]byte(`{"type":"event_callback","team_id":"T1","event":{"type":"message","channel":"C01","ts":"1714557600.000100","files":[{"id":"F01"}]}}`))
	f.Add([]byte(`{"type":"event_callback","event":{"type":"message","subtype":"message_changed","channel":"C01","message":{"ts":"1.000001","thread_ts":"1.000001"}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		header := http.Header{"X-Slack-Signature": {"v0="}}
		if _, err := hook.Route(header, body); err != nil && !errors.Is(err, connectors.ErrDelivery) {
			t.Errorf("route: %v", err)
		}
		d, err := hook.Parse(header, body)
		if err != nil && !errors.Is(err, connectors.ErrDelivery) {
			t.Errorf("read: %v", err)
		}
		for _, id := range d.Items {
			if len(id) > 64 || !json.Valid([]byte(`"`+id+`"`)) {
				t.Errorf("the item %q", id)
			}
		}
	})
}
