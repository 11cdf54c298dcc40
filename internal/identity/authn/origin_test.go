package authn_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/patch"
)

func TestFormsOfHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		entry string
		yes   string // origins that it covers, by blanks
		no    string
	}{
		{"example.com", "https://example.com http://example.com:8080 https://EXAMPLE.com https://example.com.", "https://www.example.com https://example.co https://example.com.evil.net https://xexample.com"},
		{"Example.COM.", "https://example.com", "https://example.org"},
		{"example.com:8443", "https://example.com:8443 http://example.com:8443", "https://example.com http://example.com:8080"},
		{"example.com:443", "https://example.com https://example.com:443", "http://example.com"},
		{"example.com:80", "http://example.com", "https://example.com"},
		{"example.com:*", "http://example.com https://example.com:1234", "https://example.org"},
		{"https://example.com", "https://example.com http://example.com", "https://example.com.evil.net"},
		{"https://example.com:8443/", "https://example.com:8443", "https://example.com"},
		{"*.example.com", "https://a.example.com https://a.b.example.com:1", "https://example.com https://xexample.com https://.example.com https://a.example.com.evil.net"},
		{"*.Example.com:8080", "http://a.example.com:8080", "http://a.example.com"},
		{"*", "https://anything.example http://10.0.0.1:1 http://[2001:db8::1]", "null file:///x chrome-extension://abc https:// http://:80"},
		{"*:8080", "http://a.example:8080", "http://a.example"},
		{"localhost", "http://localhost:5173 http://LOCALHOST", "http://localhost.evil.net http://127.0.0.1"},
		{"127.0.0.1", "http://127.0.0.1 http://127.0.0.1:3000", "http://127.0.0.2 http://1127.0.0.1 http://127.0.0.1.evil.net"},
		{"[::1]", "http://[::1] http://[::1]:3000 http://[0:0:0:0:0:0:0:1]", "http://[::2] http://127.0.0.1"},
		{"::1", "http://[::1]:3000", "http://[::11]"},
		{"[2001:DB8::1]:8443", "https://[2001:db8:0::1]:8443", "https://[2001:db8::1]"},
		{"bücher.example", "https://xn--bcher-kva.example https://bücher.example https://BÜCHER.example", "https://bucher.example https://xn--bcher-kva.example.evil.net"},
		{"xn--bcher-kva.example", "https://xn--bcher-kva.example https://bücher.example", "https://bcher-kva.example"},
		{"*.bücher.example", "https://a.xn--bcher-kva.example", "https://xn--bcher-kva.example"},
		{"例え。テスト", "https://xn--r8jz45g.xn--zckzah", "https://xn--r8jz45g"},
		{"my_host.example", "https://my_host.example", "https://my-host.example"},
		{"xn--mgberp4a5d4ar", "http://xn--mgberp4a5d4ar", "http://a.xn--mgberp4a5d4ar"},
	} {
		key := authn.Key{Publishable: true, Hosts: []string{c.entry}}
		for want, list := range map[bool]string{true: c.yes, false: c.no} {
			for _, origin := range strings.Fields(list) {
				if err := key.CheckOrigin(http.Header{"Origin": {origin}}); (err == nil) != want {
					t.Errorf("%s and the origin %s: %v", c.entry, origin, err)
				}
				if strings.HasPrefix(origin, "http") {
					if err := key.CheckOrigin(http.Header{"Referer": {origin + "/a/b?c#d"}}); (err == nil) != want {
						t.Errorf("%s and the referer of %s: %v", c.entry, origin, err)
					}
				}
			}
		}
	}
}

func TestMalformedOriginsAreRefused(t *testing.T) {
	t.Parallel()
	key := authn.Key{Publishable: true, Hosts: []string{"example.com"}}
	for _, origin := range []string{"https://example.com/page", "https://example.com?x", "https://example.com#x", "https://user@example.com", "https://user:p@example.com",
		"example.com", "//example.com", "https:example.com", "https:///example.com", "https://example.com https://example.com", "ftp://example.com",
		"https://example.com:port", "https://example.com:99999999", "https://example.com\\@evil.net", "https://evil.net\\.example.com", "https://exa%6dple.com", "https://[example.com]", "https://[::1%25lo]", "\x00", "null"} {
		if err := key.CheckOrigin(http.Header{"Origin": {origin}}); code(err) != apierr.Forbidden {
			t.Errorf("%q: %v", origin, err)
		}
	}
	// The Origin header takes precedence over the Referer.
	if err := key.CheckOrigin(http.Header{"Origin": {"null"}, "Referer": {"https://example.com/"}}); code(err) != apierr.Forbidden {
		t.Errorf("an opaque origin: %v", err)
	}
}

func TestFormsOfReferers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ entry, yes, no string }{
		{"https://example.com/docs", "https://example.com/docs https://example.com/docs/a?q=1 https://example.com/ https://example.com https://EXAMPLE.com:443/docs/a",
			"http://example.com/docs https://example.com:8443/docs https://example.com/doc https://example.com/docs2 https://example.com/docs/../secret https://example.com/docs/%2e%2e/secret https://example.com/docs%2f..%2fsecret https://evil.net/docs"},
		{"https://example.com/docs/", "https://example.com/docs/a", "https://example.com/docs2"},
		{"https://example.com/docs/*", "https://example.com/docs/a", "https://example.com/docs2"},
		{"https://example.com/a/../docs", "https://example.com/docs/a", "https://example.com/a"},
		{"https://example.com", "https://example.com/a https://example.com/", "http://example.com/a https://www.example.com/a"},
		{"https://example.com/*", "https://example.com/a", "https://www.example.com/a"},
		{"https://*.example.com/docs", "https://a.example.com/docs/a", "https://example.com/docs/a https://a.example.com/b"},
		{"http://example.com:80/docs", "http://example.com/docs", "https://example.com/docs"},
		{"http://localhost:5173/docs", "http://localhost:5173/docs", "http://localhost/docs"},
		{"https://bücher.example/größe", "https://xn--bcher-kva.example/gr%C3%B6%C3%9Fe/a", "https://xn--bcher-kva.example/gr"},
		{"HTTPS://example.com/docs", "https://example.com/docs", "http://example.com/docs"},
	} {
		key := authn.Key{Publishable: true, Hosts: []string{"*"}, Referers: []string{c.entry}}
		for want, list := range map[bool]string{true: c.yes, false: c.no} {
			for _, referer := range strings.Fields(list) {
				if err := key.CheckOrigin(http.Header{"Referer": {referer}}); (err == nil) != want {
					t.Errorf("%s and %s: %v", c.entry, referer, err)
				}
			}
		}
	}
}

func FuzzCheckOrigin(f *testing.F) {
	for _, s := range []string{"https://example.com", "http://[::1]:3", "null", "https://bücher.example/größe", "https://a\\b", "http://%zz", "*.x", "xn--a", "https://xn--\xff"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, entry, seen string) {
		for _, header := range []string{"Origin", "Referer"} {
			h := http.Header{header: {seen}}
			// An origin that "*" refuses must be refused.
			any := authn.Key{Publishable: true, Hosts: []string{"*"}}
			key := authn.Key{Publishable: true, Hosts: []string{entry}, Referers: []string{entry}}
			if key.CheckOrigin(h) == nil && any.CheckOrigin(h) != nil {
				t.Fatalf("%q lets %s %q pass", entry, header, seen)
			}
		}
	})
}

// problem returns the code and the field of an error.
func problem(err error) string {
	if err == nil {
		return ""
	}
	e := apierr.From(err)
	return string(e.Code) + " " + e.Field
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	_, theirs := h.workspace(t, "eve@example.com")
	keys := h.node(t, authn.WithChatModels([]string{"small", "large"}))
	text := func(s string) *string { return &s }
	number := func(n int) *int { return &n }
	plain := h.create(ctx, t, newKey(c))
	for what, try := range map[string]struct {
		change func(*authn.KeyDraft)
		want   string
	}{
		"no host":               {func(k *authn.KeyDraft) { k.Hosts = nil }, "invalid_request allowedHosts"},
		"blank hosts":           {func(k *authn.KeyDraft) { k.Hosts = []string{" ", ""} }, "invalid_request allowedHosts"},
		"path":                  {func(k *authn.KeyDraft) { k.Hosts = []string{"example.com/docs"} }, "invalid_request allowedHosts"},
		"path of a URL":         {func(k *authn.KeyDraft) { k.Hosts = []string{"https://example.com/docs"} }, "invalid_request allowedHosts"},
		"scheme":                {func(k *authn.KeyDraft) { k.Hosts = []string{"ftp://example.com"} }, "invalid_request allowedHosts"},
		"star inside":           {func(k *authn.KeyDraft) { k.Hosts = []string{"a.*.com"} }, "invalid_request allowedHosts"},
		"star at a word":        {func(k *authn.KeyDraft) { k.Hosts = []string{"*example.com"} }, "invalid_request allowedHosts"},
		"two stars":             {func(k *authn.KeyDraft) { k.Hosts = []string{"**"} }, "invalid_request allowedHosts"},
		"star and dot":          {func(k *authn.KeyDraft) { k.Hosts = []string{"*."} }, "invalid_request allowedHosts"},
		"port 0":                {func(k *authn.KeyDraft) { k.Hosts = []string{"example.com:0"} }, "invalid_request allowedHosts"},
		"port":                  {func(k *authn.KeyDraft) { k.Hosts = []string{"example.com:http"} }, "invalid_request allowedHosts"},
		"large port":            {func(k *authn.KeyDraft) { k.Hosts = []string{"example.com:65536"} }, "invalid_request allowedHosts"},
		"half an IPv4":          {func(k *authn.KeyDraft) { k.Hosts = []string{"10.1"} }, "invalid_request allowedHosts"},
		"subdomains of an IPv4": {func(k *authn.KeyDraft) { k.Hosts = []string{"*.10.0.0.1"} }, "invalid_request allowedHosts"},
		"zone":                  {func(k *authn.KeyDraft) { k.Hosts = []string{"[fe80::1%eth0]"} }, "invalid_request allowedHosts"},
		"open bracket":          {func(k *authn.KeyDraft) { k.Hosts = []string{"[::1"} }, "invalid_request allowedHosts"},
		"no address":            {func(k *authn.KeyDraft) { k.Hosts = []string{"[example.com]"} }, "invalid_request allowedHosts"},
		"user":                  {func(k *authn.KeyDraft) { k.Hosts = []string{"me@example.com"} }, "invalid_request allowedHosts"},
		"blank inside":          {func(k *authn.KeyDraft) { k.Hosts = []string{"a b.com"} }, "invalid_request allowedHosts"},
		"empty label":           {func(k *authn.KeyDraft) { k.Hosts = []string{"a..com"} }, "invalid_request allowedHosts"},
		"long label":            {func(k *authn.KeyDraft) { k.Hosts = []string{strings.Repeat("a", 64) + ".com"} }, "invalid_request allowedHosts"},
		"one bad among good":    {func(k *authn.KeyDraft) { k.Hosts = []string{"example.com", "?"} }, "invalid_request allowedHosts"},
		"too many hosts":        {func(k *authn.KeyDraft) { k.Hosts = manyHosts(101) }, "invalid_request allowedHosts"},
		"long host":             {func(k *authn.KeyDraft) { k.Hosts = []string{strings.Repeat("a.", 2000) + "com"} }, "invalid_request allowedHosts"},
		"referer without host":  {func(k *authn.KeyDraft) { k.Referers = []string{"/docs"} }, "invalid_request allowedReferers"},
		"referer, scheme":       {func(k *authn.KeyDraft) { k.Referers = []string{"ftp://example.com"} }, "invalid_request allowedReferers"},
		"referer, query":        {func(k *authn.KeyDraft) { k.Referers = []string{"https://example.com/?a"} }, "invalid_request allowedReferers"},
		"referer, user":         {func(k *authn.KeyDraft) { k.Referers = []string{"https://me@example.com/"} }, "invalid_request allowedReferers"},
		"referer, star":         {func(k *authn.KeyDraft) { k.Referers = []string{"https://example.com/a*"} }, "invalid_request allowedReferers"},
		"long name":             {func(k *authn.KeyDraft) { k.Name = strings.Repeat("é", 201) }, "invalid_request name"},
		"NUL in the name":       {func(k *authn.KeyDraft) { k.Name = "a\x00" }, "invalid_request name"},
		"no model":              {func(k *authn.KeyDraft) { k.ChatModel = text("huge") }, "invalid_request widgetModelId"},
		"long context":          {func(k *authn.KeyDraft) { k.ChatContext = text(strings.Repeat("é", 8001)) }, "invalid_request widgetContext"},
		"NUL in the context":    {func(k *authn.KeyDraft) { k.ChatContext = text("a\x00") }, "invalid_request widgetContext"},
		"rate":                  {func(k *authn.KeyDraft) { k.RatePerMinute = number(1_000_001) }, "invalid_request rateLimitPerMinute"},
		"no collection":         {func(k *authn.KeyDraft) { k.Collections = nil }, "invalid_request allowedCollections"},
		"unknown collection":    {func(k *authn.KeyDraft) { k.Collections = []uuid.UUID{uuid.New()} }, "not_found "},
		"foreign collection":    {func(k *authn.KeyDraft) { k.Collections = append(k.Collections, theirs.ID) }, "not_found "},
		"default out of reach":  {func(k *authn.KeyDraft) { k.Default = &theirs.ID }, "invalid_request defaultCollection"},
		"foreign default":       {func(k *authn.KeyDraft) { k.Default, k.AllCollections = &theirs.ID, true }, "not_found "},

		"good hosts": {func(k *authn.KeyDraft) {
			k.Hosts = []string{" Example.com ", "*.example.com:8080", "[::1]:3000", "bücher.example", "https://example.org/"}
		}, ""},
		"a hundred hosts": {func(k *authn.KeyDraft) { k.Hosts = manyHosts(100) }, ""},
		"characters, not bytes": {func(k *authn.KeyDraft) {
			k.Name, k.ChatContext = strings.Repeat("é", 200), text(strings.Repeat("é", 8000))
		}, ""},
		"a model":        {func(k *authn.KeyDraft) { k.ChatModel = text("large") }, ""},
		"a blank model":  {func(k *authn.KeyDraft) { k.ChatModel = text(" ") }, ""},
		"the same twice": {func(k *authn.KeyDraft) { k.Collections = append(k.Collections, k.Collections...) }, ""},
		"all and some":   {func(k *authn.KeyDraft) { k.AllCollections = true }, ""},
	} {
		in := newKey(c)
		try.change(&in)
		made, err := keys.Create(ctx, in)
		if got := problem(err); got != try.want {
			t.Errorf("%s, created: %q, not %q (%v)", what, got, try.want, err)
		}
		if err == nil && len(made.Row.AllowedCollections) != 1 {
			t.Errorf("%s: %v", what, made.Row.AllowedCollections)
		}
		change := authn.KeyChange{ // the same settings as a change
			Name: patch.Field[string]{Given: true, Value: in.Name}, Collections: patch.Field[[]uuid.UUID]{Given: true, Value: in.Collections},
			AllCollections: patch.Field[bool]{Given: true, Value: in.AllCollections}, Default: patch.Field[*uuid.UUID]{Given: true, Value: in.Default},
			Hosts: patch.Field[[]string]{Given: true, Value: in.Hosts}, Referers: patch.Field[[]string]{Given: true, Value: in.Referers},
			ChatModel: patch.Field[*string]{Given: true, Value: in.ChatModel}, ChatContext: patch.Field[*string]{Given: true, Value: in.ChatContext},
			RatePerMinute: patch.Field[*int]{Given: true, Value: in.RatePerMinute},
		}
		if _, err := keys.Update(ctx, plain.Row.ID, change); problem(err) != try.want {
			t.Errorf("%s, changed: %q, not %q (%v)", what, problem(err), try.want, err)
		}
	}
	_, err := keys.Update(ctx, plain.Row.ID, authn.KeyChange{ChatModel: patch.Field[*string]{Given: true, Value: text("huge")}})
	if err == nil || !strings.Contains(apierr.From(err).Message, "small, large") {
		t.Errorf("the models that there are are not named: %v", err)
	}
}

func manyHosts(n int) []string {
	hosts := make([]string, n)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("h%d.example", i)
	}
	return hosts
}

func TestAChangeLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	gone, err := h.db.Ent.Collection.Create().SetName("Gone").SetEmbeddingModel("m").Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stranger := uuid.New()
	text, seven, end := "text", 7, h.clock.now().Add(time.Hour)
	in := authn.KeyDraft{
		Name: "Site", Collections: []uuid.UUID{c.ID, gone.ID}, Default: &c.ID, Hosts: []string{"example.com"}, Referers: []string{"https://example.com/docs"},
		ChatModel: &text, ChatContext: &text, RequireSignature: true, DatabaseTools: true, RatePerMinute: &seven, ExpiresAt: &end,
	}
	made := h.create(ctx, t, in)
	if err := h.db.Ent.Collection.DeleteOne(gone).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	h.clock.add(2 * time.Hour) // an expired key can be changed
	row, err := h.keys.Update(ctx, made.Row.ID, authn.KeyChange{Name: patch.Field[string]{Given: true, Value: " Page "}})
	if err != nil {
		t.Fatal(err)
	}
	want := made.Row
	want.Name, want.UpdatedAt = "Page", row.UpdatedAt
	same := func(a, b *ent.APIKey) bool {
		return a.String() == b.String() && slices.Equal(a.SecretHash, b.SecretHash) && slices.Equal(a.PublishableHash, b.PublishableHash)
	}
	if stored := h.row(t, made.Row.ID); !same(stored, want) || !same(row, stored) {
		t.Errorf("%v\n%v\n%v", stored, row, want)
	}
	if h.keys.Status(row) != authn.StatusExpired {
		t.Errorf("its status is %s", h.keys.Status(row))
	}
	row, err = h.keys.Update(ctx, made.Row.ID, authn.KeyChange{
		Default: patch.Field[*uuid.UUID]{Given: true}, ChatModel: patch.Field[*string]{Given: true}, ChatContext: patch.Field[*string]{Given: true},
		RatePerMinute: patch.Field[*int]{Given: true}, ExpiresAt: patch.Field[*time.Time]{Given: true}, Referers: patch.Field[[]string]{Given: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if row.DefaultCollection != nil || row.WidgetModelID != nil || row.WidgetContext != nil || row.RateLimitPerMinute != nil || row.ExpiresAt != nil || len(row.AllowedReferers) > 0 {
		t.Errorf("not cleared: %+v", row)
	}
	if got := answers(t, h.keys, made.Secret); got != "ok" || h.keys.Status(row) != authn.StatusActive {
		t.Errorf("without an end it is %s, %s", got, h.keys.Status(row))
	}
	// The combination of settings is checked after the change.
	if _, err := h.keys.Update(ctx, made.Row.ID, authn.KeyChange{Collections: patch.Field[[]uuid.UUID]{Given: true}}); problem(err) != "invalid_request allowedCollections" {
		t.Errorf("no collection at all: %v", err)
	}
	if _, err := h.keys.Update(ctx, made.Row.ID, authn.KeyChange{Default: patch.Field[*uuid.UUID]{Given: true, Value: &stranger}}); problem(err) != "invalid_request defaultCollection" {
		t.Errorf("a default out of reach: %v", err)
	}
	if _, err := h.keys.Revoke(ctx, made.Row.ID); err != nil || h.keys.Status(h.row(t, made.Row.ID)) != authn.StatusRevoked {
		t.Errorf("%v", err)
	}
}
