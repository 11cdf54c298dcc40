package all_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/all"
	"github.com/magpie-search/magpie/internal/httpx"
)

// optionsByDestination lists the options of each kind that decide where credentials
// are sent, and the others. A new option must be added to one of the two.
func optionsByDestination() map[string]struct{ steers, others []string } {
	tables := []string{"database", "includeTables", "excludeTables", "sampleRows", "allowWriteAccess"}
	return map[string]struct{ steers, others []string }{
		"confluence": {[]string{"instanceUrl"}, []string{"spaceKeys", "deployment", "includeAttachments", "includeBlogPosts", "includeComments", "includePersonalSpaces", "includeArchived", "labels", "cql"}},
		"jira":       {[]string{"instanceUrl", "apiUrl"}, []string{"projectKeys", "jql", "includeComments", "includeAttachments", "commentAuthorsExcluded", "deployment"}},
		"notion":     {[]string{"apiUrl"}, []string{"rootPages", "databases", "includeComments", "includeFiles"}},
		"servicenow": {[]string{"instanceUrl"}, []string{"tables", "knowledgeBases", "query", "fields", "includeAttachments"}},
		"hubspot":    {[]string{"apiUrl"}, []string{"objects", "properties", "includeAssociations", "apiVersion"}},
		// A region and a bucket select hosts of the same service, and requests are signed.
		"s3":           {[]string{"endpoint"}, []string{"bucket", "region", "prefix"}},
		"github":       {[]string{"apiUrl"}, []string{"repos", "branch", "pathFilter", "content", "includeClosed", "since", "includeArchived", "includeForks"}},
		"gitlab":       {[]string{"instanceUrl", "apiUrl"}, []string{"projects", "groups", "branch", "pathFilter", "includeFiles", "includeIssues", "includeMergeRequests", "includeWikis", "includeSnippets"}},
		"slack":        {[]string{"apiUrl"}, []string{"channels", "dateRange", "includePrivate", "includeArchived", "includeFiles", "includeBots", "joinPublic", "teamId"}},
		"web_crawler":  {[]string{"startUrls"}, []string{"scope", "maxPages", "maxDepth", "delayMs", "useSitemaps", "userAgent"}},
		"postgresql":   {[]string{"host", "port", "sslMode", "caCertificate"}, append([]string{"schema"}, tables...)},
		"mysql":        {[]string{"host", "port", "tls", "caCertificate"}, tables},
		"mssql":        {[]string{"host", "port", "encrypt", "trustServerCertificate", "caCertificate"}, []string{"database", "schema", "includeTables", "excludeTables", "sampleRows"}},
		"clickhouse":   {[]string{"host", "port", "secure", "caCertificate"}, tables},
		"google_drive": {[]string{"apiUrl", "authUrl", "directoryUrl"}, []string{"includeMyDrive", "includeSharedDrives", "includeSharedWithMe", "sharedDrives", "folders", "users", "exportFormat", "treatLinkAsPublic"}},
		"sharepoint": {[]string{"graphUrl", "authUrl", "domainSuffix"}, []string{
			"siteUrl", "sites", "libraries", "includePages", "includeLists", "includePersonalSites", "users", "excludedSites", "excludedPaths", "treatLinkAsPublic"}},
		"salesforce": {[]string{"instanceUrl", "authUrl"}, []string{
			"objects", "includeCustomObjects", "soqlFilter", "fields", "includeComments", "includeEmails", "includeTasks", "includeFiles", "knowledgeLanguages",
			"knowledgeForReaders", "hierarchyObjects", "quotaShare", "apiVersion", "sandbox"}},
		"file_upload": {others: []string{"baseUrl", "indexPages", "stripExtension"}},
	}
}

func kinds(t *testing.T, d all.Deps) []connectors.Kind {
	t.Helper()
	registry, err := all.Registry(d)
	if err != nil {
		t.Fatal(err)
	}
	return registry.Kinds()
}

func TestDestinationOptionsAreMarked(t *testing.T) {
	t.Parallel()
	known := optionsByDestination()
	for _, kind := range kinds(t, all.Deps{}) {
		want, listed := known[kind.Name]
		if !listed {
			t.Errorf("%s is not listed", kind.Name)
		}
		delete(known, kind.Name)
		var steers, others []string
		for _, option := range kind.Options {
			if option.Destination {
				steers = append(steers, option.Name)
			} else {
				others = append(others, option.Name)
			}
			if place := option.Format == connectors.FormatURL || option.Format == connectors.FormatHostname; place && !option.Destination {
				t.Errorf("%s: config.%s is a place and not marked", kind.Name, option.Name)
			}
		}
		for what, lists := range map[string][2][]string{"marked": {steers, want.steers}, "not marked": {others, want.others}} {
			slices.Sort(lists[0])
			slices.Sort(lists[1])
			if !slices.Equal(lists[0], lists[1]) {
				t.Errorf("%s: %s are %q, not %q", kind.Name, what, lists[0], lists[1])
			}
		}
	}
	if len(known) > 0 {
		t.Errorf("there are no such kinds: %v", slices.Collect(maps.Keys(known)))
	}
}

func TestChangedDestinations(t *testing.T) {
	t.Parallel()
	type config = map[string]any
	const first, second = "-----BEGIN CERTIFICATE-----\nA\n", "-----BEGIN CERTIFICATE-----\nB\n"
	cases := map[string]struct {
		before     config
		same, away []config
	}{
		"confluence": {config{"instanceUrl": "https://acme.atlassian.net/wiki"},
			[]config{
				{"instanceUrl": "https://ACME.atlassian.net:443/"}, {"instanceUrl": "acme.atlassian.net"}, {"instanceUrl": "https://acme.atlassian.net./wiki/"},
				{"instanceUrl": "https://acme.atlassian.net/wiki", "spaceKeys": []any{"A"}},
			},
			[]config{
				{"instanceUrl": "https://acme.atlassian.net.evil.example"}, {"instanceUrl": "http://acme.atlassian.net/wiki"}, {"instanceUrl": "https://acme.atlassian.net:8443/wiki"},
				{"instanceUrl": "https://acme.atlassian.net@evil.example/wiki"},
			}},
		"jira": {config{"instanceUrl": "https://acme.atlassian.net", "apiUrl": "https://gateway.example.com"},
			[]config{{"instanceUrl": "acme.atlassian.net/browse/ENG-1", "apiUrl": "https://gateway.example.com/ex", "jql": "a = b"}},
			[]config{
				{"instanceUrl": "https://acme.atlassian.net"}, {"instanceUrl": "https://acme.atlassian.net", "apiUrl": "https://evil.example.com"},
				{"instanceUrl": "http://acme.atlassian.net", "apiUrl": "https://gateway.example.com"},
			}},
		"notion": {config{"databases": []any{"1a2b3c4d5e6f708192a3b4c5d6e7f809"}},
			[]config{{"apiUrl": "https://api.notion.com"}, {"apiUrl": "https://API.notion.com:443/v1"}, {"apiUrl": ""}, {"apiUrl": nil}},
			[]config{{"apiUrl": "https://notion.example.com"}, {"apiUrl": "http://api.notion.com"}}},
		"servicenow": {config{"instanceUrl": "https://acme.service-now.com"},
			[]config{{"instanceUrl": "https://ACME.service-now.com:443/"}, {"instanceUrl": "https://acme.service-now.com", "tables": []any{"incident"}}},
			[]config{{"instanceUrl": "https://evil.example.com"}, {"instanceUrl": "http://acme.service-now.com"}}},
		"hubspot": {config{"objects": []any{"deals"}},
			[]config{{"apiUrl": "https://api.hubapi.com"}, {"apiUrl": "https://API.hubapi.com:443/"}, {"apiUrl": "", "objects": []any{"tickets"}}, {"apiVersion": "v3"}},
			[]config{{"apiUrl": "https://hubspot.example.com"}, {"apiUrl": "http://api.hubapi.com"}}},
		"github": {config{"repos": []any{"a/b"}},
			[]config{{"apiUrl": "https://api.github.com"}, {"apiUrl": "https://API.GitHub.com:443/"}, {"apiUrl": ""}, {"apiUrl": nil}},
			[]config{{"apiUrl": "https://github.example.com/api/v3"}, {"apiUrl": "http://api.github.com"}}},
		"gitlab": {config{"projects": []any{"a/b"}},
			[]config{{"instanceUrl": "https://GitLab.com:443/"}, {"instanceUrl": "", "groups": []any{"a"}}},
			[]config{{"instanceUrl": "https://gitlab.example.com"}, {"instanceUrl": "http://gitlab.com"}, {"apiUrl": "https://gitlab.example.com"}}},
		"slack": {config{"apiUrl": "https://slack-gov.com/api"},
			[]config{{"apiUrl": "https://slack-gov.com/api/"}, {"apiUrl": "https://slack-gov.com/other"}},
			[]config{{}, {"apiUrl": nil}, {"apiUrl": "https://slack.com/api"}, {"apiUrl": "https://slack-gov.com:444/api"}}},
		"s3": {config{"endpoint": "https://minio.example.com:9000", "bucket": "docs"},
			[]config{{"endpoint": "minio.example.com:9000", "bucket": "other", "region": "eu-west-1", "prefix": "p"}},
			[]config{{"bucket": "docs"}, {"endpoint": "https://minio.example.com"}, {"endpoint": "http://minio.example.com:9000"}}},
		"web_crawler": {config{"startUrls": []any{"https://docs.example.com/a", "https://help.example.com/"}},
			[]config{{"startUrls": []any{"https://DOCS.example.com:443/b"}}, {"startUrls": []any{"https://help.example.com/", "https://docs.example.com/"}, "scope": "domain"}},
			[]config{{"startUrls": []any{"https://docs.example.com/a", "https://evil.example.com/"}}, {"startUrls": []any{"http://docs.example.com/a"}}}},
		"postgresql": {config{"host": "db.example.com", "database": "a", "sslMode": "verify-full", "caCertificate": first},
			[]config{{"host": "DB.example.com.", "port": 5432.0, "database": "b", "sslMode": "verify-full", "caCertificate": strings.ReplaceAll(first, "\n", "\r\n")}},
			[]config{
				{"host": "evil.example.com", "sslMode": "verify-full", "caCertificate": first}, {"host": "db.example.com", "port": 6432.0, "sslMode": "verify-full", "caCertificate": first},
				{"host": "db.example.com", "sslMode": "disable", "caCertificate": first}, {"host": "db.example.com", "caCertificate": first},
				{"host": "db.example.com", "sslMode": "verify-full", "caCertificate": second}, {"host": "db.example.com", "sslMode": "verify-full"},
			}},
		"mysql": {config{"host": "db.example.com", "port": 3306.0},
			[]config{{"host": "db.example.com", "database": "b"}, {"host": "db.example.com", "tls": "verify-full"}, {"host": "db.example.com", "tls": "prefer"}},
			[]config{{"host": "10.0.0.1"}, {"host": "db.example.com", "port": 3307.0}, {"host": "db.example.com", "tls": "disable"}}},
		"mssql": {config{"host": "db.example.com"},
			[]config{{"host": "DB.example.com.", "port": 1433.0, "database": "b", "schema": "sales"}},
			[]config{{"host": "10.0.0.1"}, {"host": "db.example.com", "port": 1434.0}, {"host": "db.example.com", "encrypt": "false"}, {"host": "db.example.com", "trustServerCertificate": true}}},
		"clickhouse": {config{"host": "db.example.com", "port": 8443.0},
			[]config{{"host": "DB.example.com.", "port": 8443.0, "secure": true, "database": "b"}},
			[]config{{"host": "10.0.0.1", "port": 8443.0}, {"host": "db.example.com", "port": 9443.0}, {"host": "db.example.com", "port": 8443.0, "secure": false}}},
		"google_drive": {config{"apiUrl": "https://proxy.example.com/google"},
			[]config{{"apiUrl": "https://PROXY.example.com:443/"}, {"apiUrl": "https://proxy.example.com", "users": []any{"ada@example.com"}}},
			[]config{{}, {"apiUrl": "http://proxy.example.com"}, {"apiUrl": "https://proxy.example.com", "authUrl": "https://evil.example.com"}, {"apiUrl": "https://proxy.example.com", "directoryUrl": "https://evil.example.com"}}},
		"salesforce": {config{"instanceUrl": "https://acme.my.salesforce.com"},
			[]config{{"instanceUrl": "https://ACME.my.salesforce.com:443/", "objects": []any{"Case"}}},
			[]config{{"instanceUrl": "https://evil.my.salesforce.com"}, {"instanceUrl": "https://acme.my.salesforce.com", "authUrl": "https://evil.example.com"}}},
		"sharepoint": {config{"sites": []any{"https://acme.sharepoint.com/sites/a"}},
			[]config{{"graphUrl": "https://graph.microsoft.com/"}, {"graphUrl": "https://graph.microsoft.com:443/v1.0"}, {"sites": []any{"https://acme.sharepoint.com/sites/b"}}},
			[]config{{"graphUrl": "https://graph.microsoft.us"}, {"authUrl": "https://login.microsoftonline.us"}, {"domainSuffix": "sharepoint.us"}}},
		"file_upload": {config{}, []config{{}}, nil},
	}
	for _, kind := range kinds(t, all.Deps{}) {
		c, listed := cases[kind.Name]
		if !listed {
			t.Errorf("%s has no case", kind.Name)
		}
		for _, after := range c.same {
			if field := kind.ChangedDestination(c.before, after); field != "" {
				t.Errorf("%s: %v is moved by %s", kind.Name, after, field)
			}
		}
		for _, after := range c.away {
			if kind.ChangedDestination(c.before, after) == "" {
				t.Errorf("%s: %v is not moved", kind.Name, after)
			}
		}
	}
}

// word is a part of all secret credentials.
const word = "s3cretword"

// settingsFor returns settings of a kind that uses HTTP, with the service at an
// address.
func settingsFor(t *testing.T, kind, address string) connectors.Settings {
	t.Helper()
	s := map[string]connectors.Settings{
		"confluence": {Config: map[string]any{"instanceUrl": address}, Credentials: map[string]string{"personalAccessToken": word}},
		"jira":       {Config: map[string]any{"instanceUrl": address}, Credentials: map[string]string{"personalAccessToken": word}},
		"notion":     {Config: map[string]any{"apiUrl": address}, Credentials: map[string]string{"integrationToken": word}},
		"github":     {Config: map[string]any{"repos": []any{"a/b"}, "apiUrl": address}, Credentials: map[string]string{"token": word}},
		"gitlab":     {Config: map[string]any{"instanceUrl": address}, Credentials: map[string]string{"token": word}},
		"slack":      {Config: map[string]any{"apiUrl": address + "/api"}, Credentials: map[string]string{"botToken": "xoxb-" + word}},
		"servicenow": {Config: map[string]any{"instanceUrl": address}, Credentials: map[string]string{"username": "u", "password": word}},
		"hubspot":    {Config: map[string]any{"apiUrl": address}, Credentials: map[string]string{"accessToken": word}},
		"s3": {Config: map[string]any{"bucket": "docs", "endpoint": address, "region": "eu-west-1"},
			Credentials: map[string]string{"accessKeyId": word + "id", "secretAccessKey": word}},
		"salesforce": {Config: map[string]any{"instanceUrl": address}, Credentials: map[string]string{"clientId": "app", "clientSecret": word}},
		"sharepoint": {Config: map[string]any{"graphUrl": address, "authUrl": address},
			Credentials: map[string]string{"tenantId": "acme", "clientId": "app", "clientSecret": word}},
		"web_crawler": {Config: map[string]any{"startUrls": []any{address + "/"}}, Credentials: map[string]string{"bearerToken": word}},
	}[kind]
	if kind == "google_drive" {
		s = connectors.Settings{Config: map[string]any{"apiUrl": address}, Token: func(context.Context, string) (string, map[string]string, error) { return word, nil, nil }}
	}
	if s.Config == nil {
		t.Fatalf("there are no settings of %s", kind)
	}
	return s
}

func usesHTTP(kind connectors.Kind) bool {
	return slices.ContainsFunc(kind.Options, func(o connectors.Option) bool { return o.Format == connectors.FormatURL })
}

// The credentials of a service that redirects to another host are not sent there,
// in a header, a body or a URL.
func TestCredentialsAreNotSentToRedirects(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds(t, all.Deps{Dial: new(net.Dialer).DialContext}) {
		if !usesHTTP(kind) {
			continue
		}
		for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			t.Run(fmt.Sprint(kind.Name, " ", status), func(t *testing.T) {
				t.Parallel()
				var mutex sync.Mutex
				asked, given := 0, false
				other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					all := fmt.Sprint(r.URL, r.Header, string(body))
					if strings.Contains(all, word) || r.Header.Get("Authorization") != "" {
						t.Errorf("another host got %s", all)
					}
					_, _ = io.WriteString(w, "{}")
				}))
				defer other.Close()
				service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					mutex.Lock()
					asked++
					given = given || r.Header.Get("Authorization") != "" || r.Header.Get("Private-Token") != "" || strings.Contains(string(body), word)
					mutex.Unlock()
					if r.URL.Path == "/robots.txt" {
						http.NotFound(w, r)
						return
					}
					http.Redirect(w, r, other.URL+r.URL.RequestURI(), status)
				}))
				defer service.Close()
				check(t, kind, settingsFor(t, kind.Name, service.URL))
				mutex.Lock()
				defer mutex.Unlock()
				if asked == 0 || !given {
					t.Errorf("the service was asked %d times, with credentials: %v", asked, given)
				}
			})
		}
	}
}

// check opens a source or database and calls Check. It returns the text of the error
// and its class, "" for no error.
func check(t *testing.T, kind connectors.Kind, s connectors.Settings) (text string, class string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var place interface {
		Check(ctx context.Context) error
		Close() error
	}
	var err error
	if kind.AttachesDatabase() {
		place, err = kind.Attach(ctx, s)
	} else {
		place, err = kind.New(ctx, s)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = place.Close() }()
	if err = place.Check(ctx); err == nil {
		return "", ""
	}
	_, retryable := connectors.RetryAfterOf(err)
	return err.Error(), fmt.Sprint(connectors.IsFatal(err), connectors.IsNeedsAuth(err), retryable)
}

// A person who tries addresses does not learn which names an internal network has
// or who resolves them.
func TestErrorsDoNotRevealInternalNames(t *testing.T) {
	t.Parallel()
	server, resolver := newResolver(t, map[string]netip.Addr{"private.example.": netip.MustParseAddr("10.1.2.3")})
	guard := httpx.NewGuardWithResolver(nil, resolver)
	tried := 0
	for _, kind := range kinds(t, all.Deps{Dial: guard.DialContext}) {
		if kind.AcceptsFiles {
			continue
		}
		tried++
		at := func(host string) connectors.Settings {
			if !kind.AttachesDatabase() {
				return settingsFor(t, kind.Name, "https://"+host)
			}
			return connectors.Settings{Config: map[string]any{"host": host, "database": "a"}, Credentials: map[string]string{kind.Credentials[0].Name: "u", "password": "p"}}
		}
		missing, class := check(t, kind, at("missing.example"))
		private, other := check(t, kind, at("private.example"))
		if missing == "" || strings.ReplaceAll(missing, "missing", "private") != private || class != other {
			t.Errorf("%s says %q (%s) and %q (%s)", kind.Name, missing, class, private, other)
		}
		for _, secret := range []string{server, "10.1.2.3", "lookup", "no such host", "127.0.0.1"} {
			if strings.Contains(missing+private, secret) {
				t.Errorf("%s reveals %q: %s", kind.Name, secret, missing)
			}
		}
	}
	if tried != 17 {
		t.Errorf("%d kinds were tried", tried)
	}
}

// Unencrypted connections with credentials are only made to networks that the
// operator allowed. The address is reserved for documentation; the dialer claims to
// have connected to it.
func TestCredentialsAreNotSentUnencryptedOverTheInternet(t *testing.T) {
	t.Parallel()
	var listeners sync.WaitGroup
	public := func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		listeners.Go(func() {
			defer func() { _ = theirs.Close() }()
			buffer := make([]byte, 4096)
			_ = theirs.SetDeadline(time.Now().Add(5 * time.Second))
			if n, _ := theirs.Read(buffer); strings.Contains(string(buffer[:n]), word) {
				t.Errorf("it was sent: %s", buffer[:n])
			}
		})
		return publicConn{ours}, nil
	}
	for _, kind := range kinds(t, all.Deps{Dial: public}) {
		if !usesHTTP(kind) || kind.Name == "s3" { // which signs, and does not send
			continue
		}
		if text, _ := check(t, kind, settingsFor(t, kind.Name, "http://service.example")); !strings.Contains(text, "https://") || !strings.Contains(text, "over http") {
			t.Errorf("%s: %q", kind.Name, text)
		}
	}
	listeners.Wait()
}

// A publicConn claims to be a connection to a public address.
type publicConn struct{ net.Conn }

func (publicConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("93.184.215.14:80"))
}

// newResolver returns a resolver with a table of addresses, and the address of its
// DNS server.
func newResolver(t *testing.T, table map[string]netip.Addr) (string, *net.Resolver) {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		buffer := make([]byte, 1500)
		for {
			n, peer, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			var query dnsmessage.Message
			if query.Unpack(buffer[:n]) != nil || len(query.Questions) != 1 {
				continue
			}
			question := query.Questions[0]
			reply := dnsmessage.Message{Header: dnsmessage.Header{ID: query.ID, Response: true, RecursionAvailable: true}, Questions: query.Questions}
			at, known := table[strings.TrimPrefix(strings.ToLower(question.Name.String()), "docs.")]
			switch {
			case !known:
				reply.RCode = dnsmessage.RCodeNameError
			case question.Type == dnsmessage.TypeA:
				reply.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class, TTL: 1}, Body: &dnsmessage.AResource{A: at.As4()},
				}}
			}
			if packed, err := reply.Pack(); err == nil {
				_, _ = socket.WriteTo(packed, peer)
			}
		}
	}()
	t.Cleanup(func() { _ = socket.Close(); <-served })
	return socket.LocalAddr().String(), &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
}
