package confluence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// nearLimit is how long a walk lets a site rest that says that it is asked a lot.
const nearLimit = 5 * time.Second

var errLogin = errors.New("the wiki asks to log in instead of answering; enter the credentials again, and use a token where the site signs people in elsewhere")

// api talks to one site.
type api struct {
	site    site
	gateway string
	dial    connectors.Dial
	s       connectors.Settings
	busy    atomic.Bool // the site has said that its limit is near

	mutex  sync.Mutex // of what follows
	client *restapi.Client
	closed []*restapi.Client
}

// of returns the client of the site. That of a grant is known only when the
// site was looked for among those that the grant is for.
func (a *api) of(ctx context.Context) (*restapi.Client, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.client != nil {
		return a.client, nil
	}
	base := a.site.base
	if a.site.grant {
		id, err := a.cloudID(ctx)
		if err != nil {
			return nil, err
		}
		base = strings.TrimRight(a.gateway, "/") + "/ex/confluence/" + url.PathEscape(id) + "/wiki"
	}
	client, err := a.newClient(base)
	if err == nil {
		a.client = client
	}
	return client, err
}

func (a *api) newClient(base string) (*restapi.Client, error) {
	client, err := restapi.New(base, a.dial, restapi.Options{
		Platform: "Confluence", Wait: a.s.Wait, Authorize: a.authorize, RateLimited: limited, ErrorMessage: explain, Advice: "config." + optionURL,
		// Without it, Data Center takes requests of other programs for those of a browser.
		Header: http.Header{"X-Atlassian-Token": {"no-check"}},
	})
	if err != nil {
		return nil, err
	}
	a.closed = append(a.closed, client)
	return client, nil
}

// cloudID is the id of the site that the connector is for.
func (a *api) cloudID(ctx context.Context) (string, error) {
	_, details, err := a.s.Token(ctx, "")
	if err != nil {
		return "", err
	}
	if id := firstOf(details["cloudId"], details["cloud_id"]); id != "" {
		return id, nil
	}
	client, err := a.newClient(strings.TrimRight(a.gateway, "/"))
	if err != nil {
		return "", err
	}
	var sites []struct{ ID, URL string }
	if _, err := client.JSON(ctx, restapi.Request{Path: "oauth/token/accessible-resources"}, &sites); err != nil {
		return "", err
	}
	want, _ := url.Parse(a.site.base)
	for _, one := range sites {
		if at, err := url.Parse(one.URL); err == nil && strings.EqualFold(at.Host, want.Host) {
			return one.ID, nil
		}
	}
	return "", connectors.NeedsAuth(fmt.Errorf("the connected account was not given to %s; connect it again and choose that site", want.Host))
}

func (a *api) authorize(r *http.Request, refused bool) (bool, error) {
	c := a.s.Credentials
	switch {
	case a.site.grant:
		old := ""
		if refused {
			present, _, err := a.s.Token(r.Context(), "")
			if err != nil {
				return false, err
			}
			old = present
		}
		token, _, err := a.s.Token(r.Context(), old)
		if err != nil || refused && token == old {
			return false, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return true, nil
	case refused:
		return false, nil
	case a.site.cloud:
		r.SetBasicAuth(c[credentialEmail], c[credentialKey])
	case c[credentialToken] != "":
		r.Header.Set("Authorization", "Bearer "+c[credentialToken])
	default:
		r.SetBasicAuth(c[credentialUser], c[credentialWord])
	}
	return true, nil
}

// limited reads how both deployments say when to come back: Cloud the time at
// which the count begins anew, Data Center how its bucket fills.
func limited(response *http.Response) (time.Duration, bool) {
	if response.StatusCode != http.StatusTooManyRequests {
		return 0, false
	}
	if after := restapi.RetryAfter(response.Header); after > 0 {
		return after, true
	}
	if reset, err := time.Parse(time.RFC3339, response.Header.Get("X-RateLimit-Reset")); err == nil {
		if now, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			return max(reset.Sub(now), time.Second), true
		}
	}
	if seconds, err := strconv.Atoi(response.Header.Get("X-RateLimit-Interval-Seconds")); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second, true
	}
	return 0, true
}

// explain reads what the site says of a refusal: version 1 and Data Center have
// one message, version 2 a list of errors.
func explain(body []byte) string {
	var said struct {
		Message string
		Reason  string
		Errors  []struct{ Title, Detail, Code string }
	}
	if json.Unmarshal(body, &said) != nil {
		return ""
	}
	for _, e := range said.Errors {
		return firstOf(e.Detail, e.Title, e.Code)
	}
	message := firstOf(said.Message, said.Reason)
	// Old versions put the name of a Java class in front.
	if _, rest, found := strings.Cut(message, "Exception: "); found {
		message = rest
	}
	return message
}

// get asks for JSON. What comes back in its place when the site wants people to
// log in is an error that says so.
func (a *api) get(ctx context.Context, path string, query url.Values, out any) error {
	return a.ask(ctx, restapi.Request{Path: path, Query: query}, out)
}

// ask makes a request. An out that has the method needs says what the answer must
// have; see [restapi.Request].
func (a *api) ask(ctx context.Context, r restapi.Request, out any) error {
	ctx, cancel := restapi.WithDeadline(ctx)
	defer cancel()
	if particular, ok := out.(interface{ needs() []string }); ok {
		r.RequiredFields = particular.needs()
	}
	client, err := a.of(ctx)
	if err != nil {
		return err
	}
	response, err := client.Do(ctx, r)
	if err != nil {
		return a.refusal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if asksLogin(response.Request) {
		return connectors.NeedsAuth(errLogin)
	}
	if response.Header.Get("X-RateLimit-NearLimit") == "true" || response.Header.Get("X-RateLimit-Remaining") == "0" {
		a.busy.Store(true)
	}
	err = client.ReadJSON(ctx, response, r.RequiredFields, out)
	if errors.Is(err, restapi.ErrTooLarge) {
		return errLarge
	}
	return atLogin(err)
}

// atLogin makes an error that asks for credentials of a login page in place of an
// answer.
func atLogin(err error) error {
	if mismatch, ok := errors.AsType[*restapi.UnexpectedResponseError](err); ok && mismatch.IsLogin {
		return connectors.NeedsAuth(errLogin)
	}
	return err
}

// improper is the error of an answer whose entries lack what they must have:
// passed over, they would be taken for deleted.
func improper(what string) error {
	return connectors.Retryable(fmt.Errorf("the wiki answered with %s that cannot be; check config.%s, and whether a proxy or a login stands between", what, optionURL), 0)
}

// errLarge is an answer that is too large to be read; a shorter list may not be.
var errLarge = errors.New("an answer of the wiki is too large")

// refusal looks at the reason that Confluence gives beside the status: a token
// that has ended can come as 403 or as 404.
func (a *api) refusal(err error) error {
	failure, ok := errors.AsType[*restapi.StatusError](err)
	if !ok {
		return err
	}
	reason := failure.Header.Get("X-Seraph-LoginReason")
	if strings.Contains(reason, "AUTHENTICATED_FAILED") || strings.Contains(reason, "AUTHENTICATION_DENIED") {
		return connectors.NeedsAuth(errors.New("the wiki does not accept the credentials; enter them again (after several failures it also wants a login in the browser)"))
	}
	return err
}

// asksLogin reports a request that was made for a redirect to a login.
func asksLogin(request *http.Request) bool {
	first := request
	for first.Response != nil {
		first = first.Response.Request
	}
	if first == request {
		return false
	}
	last := request.URL
	path := strings.ToLower(last.Path)
	return last.Host != first.URL.Host && !strings.Contains(first.URL.Path, "/download") ||
		strings.Contains(path, "login") || strings.Contains(path, "/sso") || strings.Contains(path, "/saml") || strings.Contains(path, "/oauth") || strings.Contains(path, "/authenticate")
}

// visible reports whether a path of the site, not of the gateway, is shown to
// whoever asks, without credentials.
func (a *api) visible(ctx context.Context, path string, of space) (bool, error) {
	ctx, cancel := restapi.WithDeadline(ctx)
	defer cancel()
	client, err := restapi.New(a.site.base, a.dial, restapi.Options{Platform: "Confluence", Wait: a.s.Wait, RateLimited: limited, ErrorMessage: explain, Advice: "config." + optionURL})
	if err != nil {
		return false, err
	}
	defer client.Close()
	response, err := client.Do(ctx, restapi.Request{Path: path})
	if err != nil {
		if status := restapi.StatusOf(err); status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusNotFound || status == http.StatusGone {
			return false, nil
		}
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	if asksLogin(response.Request) {
		return false, nil
	}
	var shown struct{ Key string }
	err = client.ReadJSON(ctx, response, []string{"key"}, &shown)
	if mismatch, ok := errors.AsType[*restapi.UnexpectedResponseError](err); ok && mismatch.IsLogin {
		return false, nil // what people without an account get to see instead
	}
	if err == nil && !strings.EqualFold(shown.Key, of.key) {
		err = improper("a space")
	}
	return err == nil, err
}

func (a *api) close() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, client := range a.closed {
		client.Close()
	}
}
