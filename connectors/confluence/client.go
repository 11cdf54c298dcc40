package confluence

import (
	"cmp"
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

// nearLimitPause is the pause of a walk after the site reported that its rate
// limit is near.
const nearLimitPause = 5 * time.Second

var errLogin = errors.New("the wiki asks to log in instead of answering; enter the credentials again, and use a token where the site signs people in elsewhere")

// A client sends requests to one site.
type client struct {
	site        site
	gateway     string
	dial        connectors.Dial
	settings    connectors.Settings
	isNearLimit atomic.Bool // the site reported that its rate limit is near

	mutex   sync.Mutex // guards the fields below
	client  *restapi.Client
	clients []*restapi.Client
}

// siteClient returns the HTTP client of the site. The URL of a grant's site
// must be requested first.
func (c *client) siteClient(ctx context.Context) (*restapi.Client, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.client != nil {
		return c.client, nil
	}
	base := c.site.base
	if c.site.grant {
		id, err := c.cloudID(ctx)
		if err != nil {
			return nil, err
		}
		base = strings.TrimRight(c.gateway, "/") + "/ex/confluence/" + url.PathEscape(id) + "/wiki"
	}
	client, err := c.newClient(base)
	if err == nil {
		c.client = client
	}
	return client, err
}

func (c *client) newClient(base string) (*restapi.Client, error) {
	client, err := restapi.New(base, c.dial, restapi.Options{
		Platform: "Confluence", Wait: c.settings.Wait, Authorize: c.authorize, RateLimited: rateLimited, ErrorMessage: errorMessage, Advice: "config." + optionURL,
		// Without it, Data Center treats the requests as those of a browser.
		Header: http.Header{"X-Atlassian-Token": {"no-check"}},
	})
	if err != nil {
		return nil, err
	}
	c.clients = append(c.clients, client)
	return client, nil
}

// cloudID returns the id of the site among those of the grant.
func (c *client) cloudID(ctx context.Context) (string, error) {
	_, details, err := c.settings.Token(ctx, "")
	if err != nil {
		return "", err
	}
	if id := cmp.Or(details["cloudId"], details["cloud_id"]); id != "" {
		return id, nil
	}
	client, err := c.newClient(strings.TrimRight(c.gateway, "/"))
	if err != nil {
		return "", err
	}
	var sites []struct{ ID, URL string }
	if _, err := client.JSON(ctx, restapi.Request{Path: "oauth/token/accessible-resources"}, &sites); err != nil {
		return "", err
	}
	want, _ := url.Parse(c.site.base)
	for _, site := range sites {
		if siteURL, err := url.Parse(site.URL); err == nil && strings.EqualFold(siteURL.Host, want.Host) {
			return site.ID, nil
		}
	}
	return "", connectors.NeedsAuth(fmt.Errorf("the connected account was not given to %s; connect it again and choose that site", want.Host))
}

func (c *client) authorize(r *http.Request, refused bool) (bool, error) {
	credentials := c.settings.Credentials
	switch {
	case c.site.grant:
		rejected := ""
		if refused {
			current, _, err := c.settings.Token(r.Context(), "")
			if err != nil {
				return false, err
			}
			rejected = current
		}
		token, _, err := c.settings.Token(r.Context(), rejected)
		if err != nil || refused && token == rejected {
			return false, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return true, nil
	case refused:
		return false, nil
	case c.site.cloud:
		r.SetBasicAuth(credentials[credentialEmail], credentials[credentialKey])
	case credentials[credentialToken] != "":
		r.Header.Set("Authorization", "Bearer "+credentials[credentialToken])
	default:
		r.SetBasicAuth(credentials[credentialUser], credentials[credentialWord])
	}
	return true, nil
}

// rateLimited returns the delay in the form of either deployment: Cloud returns
// the time at which the limit is reset, Data Center the interval in which its
// bucket fills.
func rateLimited(response *http.Response) (time.Duration, bool) {
	if response.StatusCode != http.StatusTooManyRequests {
		return 0, false
	}
	if after := restapi.RetryAfter(response.Header); after > 0 {
		return after, true
	}
	if reset, err := time.Parse(time.RFC3339, response.Header.Get("X-RateLimit-Reset")); err == nil {
		if wait, ok := restapi.Until(response.Header, reset); ok {
			return max(wait, time.Second), true
		}
	}
	if seconds, err := strconv.Atoi(response.Header.Get("X-RateLimit-Interval-Seconds")); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second, true
	}
	return 0, true
}

// errorMessage returns the message of an unsuccessful response: version 1 and
// Data Center have one message, version 2 a list of errors.
func errorMessage(body []byte) string {
	var failure struct {
		Message string
		Reason  string
		Errors  []struct{ Title, Detail, Code string }
	}
	if json.Unmarshal(body, &failure) != nil {
		return ""
	}
	for _, e := range failure.Errors {
		return cmp.Or(e.Detail, e.Title, e.Code)
	}
	message := cmp.Or(failure.Message, failure.Reason)
	// Old versions add the name of a Java class.
	if _, text, found := strings.Cut(message, "Exception: "); found {
		message = text
	}
	return message
}

// get requests JSON. If the site answers with a login page, the error asks for
// credentials.
func (c *client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.request(ctx, restapi.Request{Path: path, Query: query}, out)
}

// request makes a request. The type of out may have required fields; see
// [restapi.Request].
func (c *client) request(ctx context.Context, r restapi.Request, out any) error {
	ctx, cancel := restapi.WithDeadline(ctx)
	defer cancel()
	if particular, ok := out.(interface{ needs() []string }); ok {
		r.RequiredFields = particular.needs()
	}
	client, err := c.siteClient(ctx)
	if err != nil {
		return err
	}
	response, err := client.Do(ctx, r)
	if err != nil {
		return c.statusError(err)
	}
	defer func() { _ = response.Body.Close() }()
	if redirectedToLogin(response.Request) {
		return connectors.NeedsAuth(errLogin)
	}
	if response.Header.Get("X-RateLimit-NearLimit") == "true" || response.Header.Get("X-RateLimit-Remaining") == "0" {
		c.isNearLimit.Store(true)
	}
	err = client.ReadJSON(ctx, response, r.RequiredFields, out)
	if errors.Is(err, restapi.ErrTooLarge) {
		return errTooLarge
	}
	return loginError(err)
}

// loginError returns an error that asks for credentials if the response was a
// login page.
func loginError(err error) error {
	if unexpected, ok := errors.AsType[*restapi.UnexpectedResponseError](err); ok && unexpected.IsLogin {
		return connectors.NeedsAuth(errLogin)
	}
	return err
}

// errInvalid returns the error of a response with an invalid entry. If the
// entry were ignored, its document would be deleted.
func errInvalid(what string) error {
	return connectors.Retryable(fmt.Errorf("the wiki answered with %s that cannot be; check config.%s, and whether a proxy or a login stands between", what, optionURL), 0)
}

// errTooLarge is the error of a response that is too large. A shorter list may
// not be.
var errTooLarge = errors.New("an answer of the wiki is too large")

// statusError checks Confluence's reason for a status, since a token that has
// expired can give 403 or 404.
func (c *client) statusError(err error) error {
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

// redirectedToLogin reports whether a request was redirected to a login.
func redirectedToLogin(request *http.Request) bool {
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

// isPublic reports whether the site, not the gateway, shows a path to visitors
// without credentials.
func (c *client) isPublic(ctx context.Context, path string, sp space) (bool, error) {
	ctx, cancel := restapi.WithDeadline(ctx)
	defer cancel()
	client, err := restapi.New(c.site.base, c.dial, restapi.Options{Platform: "Confluence", Wait: c.settings.Wait, RateLimited: rateLimited, ErrorMessage: errorMessage, Advice: "config." + optionURL})
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
	if redirectedToLogin(response.Request) {
		return false, nil
	}
	var shown struct{ Key string }
	err = client.ReadJSON(ctx, response, []string{"key"}, &shown)
	if unexpected, ok := errors.AsType[*restapi.UnexpectedResponseError](err); ok && unexpected.IsLogin {
		return false, nil
	}
	if err == nil && !strings.EqualFold(shown.Key, sp.key) {
		err = errInvalid("a space")
	}
	return err == nil, err
}

func (c *client) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, client := range c.clients {
		client.Close()
	}
}
