package s3_test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/s3"
	"github.com/magpie-search/magpie/internal/httpx"
)

// settingsFor returns settings for a server that misbehaves.
func settingsFor(endpoint string) connectors.Settings {
	return connectors.Settings{
		Config:      map[string]any{"bucket": "broken", "region": "us-east-1", "endpoint": endpoint},
		Credentials: map[string]string{"accessKeyId": "key", "secretAccessKey": "the-secret"},
	}
}

func newBrokenService(t *testing.T, handler http.HandlerFunc) connectors.Settings {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return settingsFor(server.URL)
}

func respondWithError(status int, code string, header http.Header) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>a message</Message></Error>", code)
	}
}

func TestErrorsOfTheServiceAreClassified(t *testing.T) {
	t.Parallel()
	const retryable, auth, fatal, plain = "retryable", "auth", "fatal", "plain"
	for name, c := range map[string]struct {
		status int
		code   string
		header http.Header
		want   string
		after  time.Duration
	}{
		"slow down":            {503, "SlowDown", http.Header{"Retry-After": {"7"}}, retryable, 7 * time.Second},
		"slow down, no header": {503, "SlowDown", nil, retryable, 0},
		"until a date": {503, "ServiceUnavailable", http.Header{
			"Date": {"Wed, 21 Oct 2015 07:28:00 GMT"}, "Retry-After": {"Wed, 21 Oct 2015 07:29:30 GMT"},
		}, retryable, 90 * time.Second},
		"until far away":     {429, "TooManyRequests", http.Header{"Retry-After": {"999999999"}}, retryable, time.Hour},
		"nonsense to wait":   {429, "TooManyRequests", http.Header{"Retry-After": {"soon"}}, retryable, 0},
		"internal error":     {500, "InternalError", nil, retryable, 0},
		"bad gateway":        {502, "", nil, retryable, 0},
		"timeout":            {408, "RequestTimeout", nil, retryable, 0},
		"unknown key":        {403, "InvalidAccessKeyId", nil, auth, 0},
		"wrong secret":       {403, "SignatureDoesNotMatch", nil, auth, 0},
		"expired":            {400, "ExpiredToken", nil, auth, 0},
		"account closed":     {403, "AccountProblem", nil, auth, 0},
		"unauthorized":       {401, "Unauthorized", nil, auth, 0},
		"no bucket":          {404, "NoSuchBucket", nil, fatal, 0},
		"clock":              {403, "RequestTimeTooSkewed", nil, fatal, 0},
		"elsewhere":          {301, "PermanentRedirect", http.Header{"X-Amz-Bucket-Region": {"eu-west-1"}}, fatal, 0},
		"another region":     {400, "AuthorizationHeaderMalformed", nil, fatal, 0},
		"something it knows": {400, "InvalidArgument", nil, plain, 0},
		"not implemented":    {501, "NotImplemented", nil, plain, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := open(t, newBrokenService(t, respondWithError(c.status, c.code, c.header)))
			_, walked := source.Walk(t.Context(), "")
			_, opened := source.Open(t.Context(), connectors.Item{ID: "a.md", Version: "1"})
			for call, err := range map[string]error{"walk": walked, "open": opened} {
				if err == nil {
					t.Errorf("%s succeeded", call)
					continue
				}
				after, again := connectors.RetryAfterOf(err)
				got := plain
				switch {
				case again:
					got = retryable
				case connectors.IsNeedsAuth(err):
					got = auth
				case connectors.IsFatal(err):
					got = fatal
				}
				if got != c.want || after != c.after {
					t.Errorf("%s: %v is %s after %v, want %s after %v", call, err, got, after, c.want, c.after)
				}
				if strings.Contains(err.Error(), "the-secret") {
					t.Errorf("%s: the error shows the secret: %v", call, err)
				}
			}
		})
	}
}

// Other objects may be readable. If none is, Check and the next walk fail.
func TestDeniedObjectFailsAlone(t *testing.T) {
	t.Parallel()
	denied := func(keys ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Query().Has("list-type"):
				respondWithListing(w, false, "a.md", "b.md", "c.md", "d.md")
			case slices.Contains(keys, strings.TrimPrefix(r.URL.Path, "/broken/")):
				respondWithError(403, "AccessDenied", nil)(w, r)
			default:
				w.Header().Set("ETag", `"1"`)
				w.Header().Set("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")
				_, _ = io.WriteString(w, "x")
			}
		}
	}
	some := open(t, newBrokenService(t, denied("a.md")))
	_, err := some.Open(t.Context(), connectors.Item{ID: "a.md", Version: "1"})
	if _, again := connectors.RetryAfterOf(err); err == nil || again || connectors.IsNeedsAuth(err) || connectors.IsFatal(err) ||
		!strings.Contains(err.Error(), "s3:GetObject") {
		t.Errorf("open: got %v, want an error of this object only that names the right it needs", err)
	}
	if err := some.Check(t.Context()); err != nil {
		t.Errorf("check with one object denied: %v", err)
	}
	all := open(t, newBrokenService(t, denied("a.md", "b.md", "c.md", "d.md")))
	if err := all.Check(t.Context()); !connectors.IsNeedsAuth(err) {
		t.Errorf("check with all objects denied: got %v, want it to ask for rights", err)
	}
	whole := open(t, newBrokenService(t, respondWithError(403, "AccessDenied", nil)))
	if _, err := whole.Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) {
		t.Errorf("walk: got %v, want it to ask for rights", err)
	}
}

func TestArchivedObjectFailsAlone(t *testing.T) {
	t.Parallel()
	source := open(t, newBrokenService(t, respondWithError(403, "InvalidObjectState", nil)))
	_, err := source.Open(t.Context(), connectors.Item{ID: "a.md"})
	if _, again := connectors.RetryAfterOf(err); err == nil || again || connectors.IsNeedsAuth(err) || connectors.IsFatal(err) {
		t.Errorf("got %v, want an error of this object only", err)
	}
}

func TestUnreachableServicesAreExplained(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // it complains of clients that distrust it
	secure.StartTLS()
	defer secure.Close()
	for name, c := range map[string]struct {
		endpoint string
		fatal    bool
		says     string
	}{
		"nobody listens":  {"http://" + closed, false, "refused"},
		"no https there":  {strings.TrimPrefix(plain.URL, "http://"), true, "http://"},
		"own certificate": {secure.URL, true, "certificate"},
		"metadata":        {"http://169.254.169.254", true, "ALLOWED_PRIVATE_NETWORKS"},
		"private":         {"http://10.0.0.1:9000", true, "ALLOWED_PRIVATE_NETWORKS"},
	} {
		err := open(t, settingsFor(c.endpoint)).Check(t.Context())
		if err == nil {
			t.Errorf("%s: the check succeeded", name)
			continue
		}
		if _, again := connectors.RetryAfterOf(err); again == c.fatal || connectors.IsFatal(err) != c.fatal || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, fatal %v", name, err, connectors.IsFatal(err))
		}
	}
}

func TestEveryConnectionUsesTheDialer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	source, err := s3.Kind(httpx.NewGuard(nil).DialContext).New(t.Context(), settingsFor(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	if _, err := source.Walk(t.Context(), ""); !errors.Is(err, httpx.ErrRefused) || !connectors.IsFatal(err) {
		t.Errorf("got %v, want the guard's refusal", err)
	}
}

type object struct {
	Key          string
	ETag         string
	Size         int
	LastModified string
}

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string   `xml:",omitempty"`
	Contents              []object `xml:"Contents"`
}

func respondWithListing(w http.ResponseWriter, truncated bool, keys ...string) {
	answer := listing{IsTruncated: truncated}
	if truncated {
		answer.NextContinuationToken = "more"
	}
	for _, key := range keys {
		answer.Contents = append(answer.Contents, object{Key: key, ETag: `"1"`, Size: 1, LastModified: "2024-01-01T00:00:00.000Z"})
	}
	encoded, _ := xml.Marshal(answer)
	_, _ = w.Write(encoded)
}

// A service that lists in another order than the protocol's cannot be walked
// page by page: keys would be skipped after a cursor, and their documents deleted.
func TestUnorderedListingsOfSeveralPagesAreRefused(t *testing.T) {
	t.Parallel()
	var many []string
	for number := range connectors.MaxPageItems + 1 {
		many = append(many, fmt.Sprintf("v1/%04d.md", number))
	}
	many[0], many[1] = many[1], many[0]
	large := open(t, newBrokenService(t, func(w http.ResponseWriter, _ *http.Request) { respondWithListing(w, false, many...) }))
	if page, err := large.Walk(t.Context(), ""); !connectors.IsFatal(err) {
		t.Errorf("a large one: %d items, %v; want a fatal error", len(page.Items), err)
	}
	small := open(t, newBrokenService(t, func(w http.ResponseWriter, _ *http.Request) {
		respondWithListing(w, false, "v1/a.md", "v1.1/a.md", "v1/b.md")
	}))
	if page, err := small.Walk(t.Context(), ""); err != nil || len(page.Items) != 3 || !page.Done {
		t.Errorf("a small one: %d items, done %v, %v", len(page.Items), page.Done, err)
	}
	if page, err := small.Walk(t.Context(), "v1/a.md"); !connectors.IsFatal(err) {
		t.Errorf("start-after ignored: %d items, %v; want a fatal error", len(page.Items), err)
	}
}

func TestHostileListingsEnd(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"for ever truncated": func(w http.ResponseWriter, _ *http.Request) { respondWithListing(w, true) },
		"ignores the prefix": func(w http.ResponseWriter, _ *http.Request) { respondWithListing(w, false, "a.md", "elsewhere.md") },
		"endless body": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<ListBucketResult><Contents><Key>")
			filler := strings.Repeat("k", 1<<16)
			for {
				if _, err := io.WriteString(w, filler); err != nil {
					return
				}
			}
		},
		"no XML": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"a web page": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html><body><p>hello</body></html>")
		},
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<ListBucketResult><Contents><Key>a")
		},
		"empty body": func(http.ResponseWriter, *http.Request) {},
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		},
		"nonsense code": respondWithError(400, strings.Repeat("x\n", 5000), nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := newBrokenService(t, handler)
			settings.Config["prefix"] = "a"
			page, err := open(t, settings).Walk(t.Context(), "")
			if err == nil {
				t.Fatalf("the walk succeeded with %d items, done %v", len(page.Items), page.Done)
			}
			if len(err.Error()) > 1000 || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is not fit to be shown: %.200q", err.Error())
			}
		})
	}
}

func TestTruncatedContentIsRetryable(t *testing.T) {
	t.Parallel()
	source := open(t, newBrokenService(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")
		_, _ = io.WriteString(w, "only this much")
	}))
	content, err := source.Open(t.Context(), connectors.Item{ID: "a.md", Version: "1"})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer func() { _ = content.Close() }()
	got, err := io.ReadAll(content)
	if _, again := connectors.RetryAfterOf(err); !again {
		t.Errorf("got %q, %v; want a retryable error", got, err)
	}
}

func TestCancellationEndsASilentExchange(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	source := open(t, newBrokenService(t, func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	canceled, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-asked
		cancel()
	}()
	if _, err := source.Walk(canceled, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config      map[string]any
		credentials map[string]string
		field       string
	}{
		"bucket missing":       {nil, nil, "config.bucket"},
		"bucket empty":         {map[string]any{"bucket": ""}, nil, "config.bucket"},
		"bucket null":          {map[string]any{"bucket": nil}, nil, "config.bucket"},
		"bucket of a number":   {map[string]any{"bucket": 5.0}, nil, "config.bucket"},
		"bucket as address":    {map[string]any{"bucket": "s3://docs"}, nil, "config.bucket"},
		"bucket with a path":   {map[string]any{"bucket": "docs/a"}, nil, "config.bucket"},
		"bucket climbing up":   {map[string]any{"bucket": "docs..up"}, nil, "config.bucket"},
		"bucket too short":     {map[string]any{"bucket": "ab"}, nil, "config.bucket"},
		"typing error":         {map[string]any{"bucket": "docs", "regoin": "x"}, nil, "config.regoin"},
		"region":               {map[string]any{"bucket": "docs", "region": "eu west"}, nil, "config.region"},
		"prefix too long":      {map[string]any{"bucket": "docs", "prefix": strings.Repeat("p", 1025)}, nil, "config.prefix"},
		"prefix as list":       {map[string]any{"bucket": "docs", "prefix": []any{"a"}}, nil, "config.prefix"},
		"endpoint scheme":      {map[string]any{"bucket": "docs", "endpoint": "ftp://host"}, nil, "config.endpoint"},
		"endpoint with path":   {map[string]any{"bucket": "docs", "endpoint": "https://host/docs"}, nil, "config.endpoint"},
		"endpoint with query":  {map[string]any{"bucket": "docs", "endpoint": "https://host?x=1"}, nil, "config.endpoint"},
		"endpoint with a user": {map[string]any{"bucket": "docs", "endpoint": "https://me:hunter2@host"}, nil, "config.endpoint"},
		"endpoint hostless":    {map[string]any{"bucket": "docs", "endpoint": "https://"}, nil, "config.endpoint"},
		"endpoint bad port":    {map[string]any{"bucket": "docs", "endpoint": "https://host:port"}, nil, "config.endpoint"},
		"key without secret":   {map[string]any{"bucket": "docs"}, map[string]string{"accessKeyId": "a"}, "credentials.secretAccessKey"},
		"secret without key":   {map[string]any{"bucket": "docs"}, map[string]string{"secretAccessKey": "hunter2"}, "credentials.accessKeyId"},
		"unknown credential":   {map[string]any{"bucket": "docs"}, map[string]string{"password": "hunter2"}, "credentials.password"},
	} {
		err := s3.Kind(dial).Validate(c.config, c.credentials)
		if wrong, ok := errors.AsType[*connectors.OptionError](err); !ok || wrong.Field != c.field {
			t.Errorf("%s: got %v, want an error of %s", name, err, c.field)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows a secret: %v", name, err)
		}
	}
	for _, endpoint := range []string{"", "http://127.0.0.1:9000", "https://host/", "host", "host:9000", " https://host ", "[::1]:9000", "localhost:9000"} {
		if err := s3.Kind(dial).Validate(map[string]any{"bucket": "my.bucket-1", "endpoint": endpoint}, nil); err != nil {
			t.Errorf("endpoint %q: %v", endpoint, err)
		}
	}
}

func TestItemsHaveWebAddresses(t *testing.T) {
	t.Parallel()
	server := newBrokenService(t, func(w http.ResponseWriter, _ *http.Request) { respondWithListing(w, false, "dir/ü.md") })
	endpoint, _ := server.Config["endpoint"].(string)
	// All hosts are the server above.
	redirected := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dial(ctx, network, strings.TrimPrefix(endpoint, "http://"))
	}
	for want, asked := range map[string]string{
		"http://store.example/docs/dir/%C3%BC.md":      "http://store.example",
		"http://store.example:8080/docs/dir/%C3%BC.md": "http://store.example:8080/",
	} {
		source, err := s3.Kind(redirected).New(t.Context(), connectors.Settings{
			Config: map[string]any{"bucket": "docs", "region": "us-east-1", "endpoint": asked},
		})
		if err != nil {
			t.Fatal(err)
		}
		page, err := source.Walk(t.Context(), "")
		if err != nil || len(page.Items) != 1 || page.Items[0].URL != want {
			t.Errorf("walk: %v, %v; want one item with the address %q", page.Items, err, want)
		}
		if err := source.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// The library follows a listing that leads to itself without end.
func TestListingThatLeadsToItselfFails(t *testing.T) {
	t.Parallel()
	asked := 0
	source := open(t, newBrokenService(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		respondWithListing(w, true, fmt.Sprintf("%04d.md", asked))
	}))
	_, err := source.Walk(t.Context(), "")
	if _, again := connectors.RetryAfterOf(err); !again || asked > 3 || !strings.Contains(err.Error(), `round in circles: it is followed by "more"`) {
		t.Errorf("after %d requests: %v", asked, err)
	}
}

// A listing has as many keys as its KeyCount.
func TestListingWithMissingKeysFails(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"fewer keys than it says": "<ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>3</KeyCount><Contents><Key>a</Key></Contents></ListBucketResult>",
		"no word of its end":      "<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>",
		"another root":            "<ListAllMyBucketsResult><IsTruncated>false</IsTruncated></ListAllMyBucketsResult>",
		"a page":                  "<html><body>Please wait</body></html>",
	} {
		source := open(t, newBrokenService(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			_, _ = io.WriteString(w, answer)
		}))
		page, err := source.Walk(t.Context(), "")
		if _, again := connectors.RetryAfterOf(err); !again || !strings.Contains(err.Error(), "check config.endpoint") {
			t.Errorf("%s: %d items, done %v, %v", name, len(page.Items), page.Done, err)
		}
	}
}
