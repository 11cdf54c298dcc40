package atlassian

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

// ErrTooLarge is the error of a response that is too large. A shorter list may
// not be.
var ErrTooLarge = errors.New("an answer of the site is too large")

// A Client sends requests to one site. It is safe for concurrent use.
type Client struct {
	// Site is the site, and Product its product.
	Site    Site
	Product Product

	gateway     string
	dial        connectors.Dial
	settings    connectors.Settings
	isNearLimit atomic.Bool  // the site reported that its rate limit is near
	clock       atomic.Int64 // the site's time in the last response, in Unix seconds

	mutex      sync.Mutex // guards the fields below
	client     *restapi.Client
	clients    []*restapi.Client
	useGateway bool // requests with a token go to the gateway
}

// NewClient returns a client of a site, which connects with dial. gateway is the
// URL of Atlassian's gateway. It makes no request.
func (p Product) NewClient(site Site, gateway string, dial connectors.Dial, s connectors.Settings) *Client {
	return &Client{Site: site, Product: p, gateway: gateway, dial: dial, settings: s}
}

// HTTP returns the HTTP client of the site. The URL of a grant's site must be
// requested first.
func (c *Client) HTTP(ctx context.Context) (*restapi.Client, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.client != nil {
		return c.client, nil
	}
	base := cmp.Or(c.Site.API, c.Site.Base)
	if c.Site.Grant || c.useGateway {
		gateway := strings.TrimRight(cmp.Or(c.Site.API, c.gateway), "/")
		id, err := c.cloudID(ctx, gateway)
		if err != nil {
			return nil, err
		}
		base = gateway + "/ex/" + c.Product.Gateway + "/" + url.PathEscape(id) + c.Product.CloudPath
	}
	client, err := c.newClient(base, c.authorize)
	if err == nil {
		c.client = client
	}
	return client, err
}

func (c *Client) options() restapi.Options {
	return restapi.Options{
		Platform: c.Product.Title, Wait: c.settings.Wait, RateLimited: rateLimited, ErrorMessage: errorMessage, Advice: "config." + OptionURL,
		GoneEndsAPI: true, // as for search in version 2 and 3
	}
}

func (c *Client) newClient(base string, authorize func(*http.Request, bool) (bool, error)) (*restapi.Client, error) {
	options := c.options()
	options.Authorize = authorize
	// Without it, Data Center treats the requests as those of a browser.
	options.Header = http.Header{"X-Atlassian-Token": {"no-check"}}
	client, err := restapi.New(base, c.dial, options)
	if err != nil {
		return nil, err
	}
	c.clients = append(c.clients, client)
	return client, nil
}

// cloudID returns the id of the site: among those of the grant, or as the site
// itself tells it.
func (c *Client) cloudID(ctx context.Context, gateway string) (string, error) {
	if !c.Site.Grant {
		return c.tenantID(ctx)
	}
	_, details, err := c.settings.Token(ctx, "")
	if err != nil {
		return "", err
	}
	if id := cmp.Or(details["cloudId"], details["cloud_id"]); id != "" {
		return id, nil
	}
	client, err := c.newClient(gateway, c.authorize)
	if err != nil {
		return "", err
	}
	var sites []struct{ ID, URL string }
	if _, err := client.JSON(ctx, restapi.Request{Path: "oauth/token/accessible-resources"}, &sites); err != nil {
		return "", err
	}
	want, _ := url.Parse(c.Site.Base)
	for _, site := range sites {
		if siteURL, err := url.Parse(site.URL); err == nil && strings.EqualFold(siteURL.Host, want.Host) {
			return site.ID, nil
		}
	}
	return "", connectors.NeedsAuth(fmt.Errorf("the connected account was not given to %s; connect it again and choose that site", want.Host))
}

// tenantID returns the id that a Cloud site tells everybody.
func (c *Client) tenantID(ctx context.Context) (string, error) {
	address, err := url.Parse(c.Site.Base)
	if err != nil {
		return "", connectors.Fatal(err)
	}
	address.Path = ""
	client, err := c.newClient(address.String(), nil)
	if err != nil {
		return "", err
	}
	var tenant struct{ CloudID string }
	_, err = client.JSON(ctx, restapi.Request{Path: "_edge/tenant_info", RequiredFields: []string{"cloudId"}}, &tenant)
	return tenant.CloudID, err
}

// SwitchToGateway makes all further requests to the gateway and reports whether it
// does so for the first time. API tokens with scopes are refused by the site and
// accepted by the gateway. The token of a site elsewhere is not sent to Atlassian.
func (c *Client) SwitchToGateway() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	base, err := url.Parse(c.Site.Base)
	if err != nil || !c.Site.Cloud || c.Site.Grant || c.Site.API != "" || c.useGateway || c.gateway == Gateway && !isAtlassian(base.Hostname()) {
		return false
	}
	c.useGateway, c.client = true, nil
	return true
}

// SwitchBack undoes [Client.SwitchToGateway].
func (c *Client) SwitchBack() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.useGateway, c.client = false, nil
}

func (c *Client) authorize(r *http.Request, refused bool) (bool, error) {
	credentials := c.settings.Credentials
	switch {
	case c.Site.Grant:
		return restapi.Bearer(c.settings, "")(r, refused)
	case refused:
		return false, nil
	case c.Site.Cloud:
		r.SetBasicAuth(credentials[CredentialEmail], credentials[CredentialKey])
	case credentials[CredentialToken] != "":
		r.Header.Set("Authorization", "Bearer "+credentials[CredentialToken])
	default:
		r.SetBasicAuth(credentials[CredentialUser], credentials[CredentialWord])
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

// errorMessage returns the message of an unsuccessful response: Confluence's
// version 1 and Data Center have one message, version 2 a list of errors, and Jira
// a list of messages.
func errorMessage(body []byte) string {
	var failure struct {
		Message, ErrorMessage, Reason string
		ErrorMessages                 []string
		Errors                        json.RawMessage
	}
	if json.Unmarshal(body, &failure) != nil {
		return ""
	}
	if len(failure.ErrorMessages) > 0 {
		return failure.ErrorMessages[0]
	}
	var list []struct{ Title, Detail, Code string }
	if json.Unmarshal(failure.Errors, &list) == nil {
		for _, e := range list {
			return cmp.Or(e.Detail, e.Title, e.Code)
		}
	}
	var byField map[string]string
	if json.Unmarshal(failure.Errors, &byField) == nil && len(byField) == 1 {
		for _, text := range byField {
			return text
		}
	}
	message := cmp.Or(failure.Message, failure.ErrorMessage, failure.Reason)
	// Old versions add the name of a Java class.
	if _, text, found := strings.Cut(message, "Exception: "); found {
		message = text
	}
	return message
}

// Get requests JSON, as [Client.Request] does.
func (c *Client) Get(ctx context.Context, path string, query url.Values, out any) error {
	return c.Request(ctx, restapi.Request{Path: path, Query: query}, out)
}

// Request makes a request. If the site answers with a login page, the error asks
// for credentials. The type of out may have required fields; see
// [restapi.Request].
func (c *Client) Request(ctx context.Context, r restapi.Request, out any) error {
	ctx, cancel := restapi.WithDeadline(ctx)
	defer cancel()
	client, err := c.HTTP(ctx)
	if err != nil {
		return err
	}
	response, err := client.Do(ctx, r)
	if err != nil {
		return c.statusError(err)
	}
	defer func() { _ = response.Body.Close() }()
	if redirectedToLogin(response.Request) {
		return c.errLogin()
	}
	if response.Header.Get("X-RateLimit-NearLimit") == "true" || response.Header.Get("X-RateLimit-Remaining") == "0" {
		c.isNearLimit.Store(true)
	}
	if now, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		c.clock.Store(now.Unix())
	}
	err = client.ReadJSON(ctx, response, r, out)
	if errors.Is(err, restapi.ErrTooLarge) {
		return ErrTooLarge
	}
	return c.loginError(err)
}

// Pause returns how long a walk waits because the site reported that its rate
// limit is near, once.
func (c *Client) Pause() time.Duration {
	if c.isNearLimit.Swap(false) {
		return nearLimitPause
	}
	return 0
}

// Now returns the site's time as of the last response, zero if unknown.
func (c *Client) Now() time.Time {
	if seconds := c.clock.Load(); seconds != 0 {
		return time.Unix(seconds, 0).UTC()
	}
	return time.Time{}
}

// Download requests a file of the site. See [restapi.Client.DownloadConfirmed].
func (c *Client) Download(ctx context.Context, r restapi.Request, want restapi.Expected) (*restapi.Download, error) {
	client, err := c.HTTP(ctx)
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{"Accept": {"*/*"}}
	content, err := client.DownloadConfirmed(ctx, r, want, restapi.Claim{})
	if err != nil {
		return nil, c.statusError(c.loginError(err))
	}
	if redirectedToLogin(content.Request) && restapi.DeclaresHTML(content.Header) {
		return nil, errors.Join(c.errLogin(), content.Close())
	}
	return content, nil
}

// loginError returns an error that asks for credentials if the response was a
// login page.
func (c *Client) loginError(err error) error {
	if unexpected, ok := errors.AsType[*restapi.UnexpectedResponseError](err); ok && unexpected.IsLogin {
		return c.errLogin()
	}
	return err
}

func (c *Client) errLogin() error {
	return connectors.NeedsAuth(errors.New(c.Product.Noun + " asks to log in instead of answering; enter the credentials again, and use a token where the site signs people in elsewhere"))
}

// ErrInvalid returns the error of a response with an invalid entry. If the entry
// were ignored, its document would be deleted.
func (c *Client) ErrInvalid(what string) error {
	return connectors.Retryable(fmt.Errorf("%s answered with %s that cannot be; check config.%s, and whether a proxy or a login stands between", c.Product.Noun, what, OptionURL), 0)
}

// statusError checks the site's reason for a status, since a token that has expired
// can give 403 or 404.
func (c *Client) statusError(err error) error {
	failure, ok := errors.AsType[*restapi.StatusError](err)
	if !ok {
		return err
	}
	reason := failure.Header.Get("X-Seraph-LoginReason")
	if strings.Contains(reason, "AUTHENTICATED_FAILED") || strings.Contains(reason, "AUTHENTICATION_DENIED") {
		return connectors.NeedsAuth(&refusedError{c.Product.Noun + " does not accept the credentials; enter them again (after several failures it also wants a login in the browser)"})
	}
	return err
}

// A refusedError says that the site refuses the credentials.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

// IsRefused reports whether the site refuses the credentials, and does not only ask
// to log in.
func IsRefused(err error) bool {
	_, refused := errors.AsType[*refusedError](err)
	return refused || restapi.StatusOf(err) == http.StatusUnauthorized
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
	isFile := strings.Contains(first.URL.Path, "/download") || strings.Contains(first.URL.Path, "/attachment/")
	return last.Host != first.URL.Host && !isFile ||
		strings.Contains(path, "login") || strings.Contains(path, "/sso") || strings.Contains(path, "/saml") || strings.Contains(path, "/oauth") || strings.Contains(path, "/authenticate")
}

// IsPublic reports whether the site, not the gateway, shows a path to visitors
// without credentials. The response has a field "key" with the key.
func (c *Client) IsPublic(ctx context.Context, path, key string) (bool, error) {
	ctx, cancel := restapi.WithDeadline(ctx)
	defer cancel()
	base := c.Site.Base
	if c.Site.API != "" && !c.Site.Grant {
		base = c.Site.API // that of a grant is a gateway, which shows nothing to visitors
	}
	client, err := restapi.New(base, c.dial, c.options())
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
	err = client.ReadJSON(ctx, response, restapi.Request{RequiredFields: []string{"key"}}, &shown)
	if unexpected, ok := errors.AsType[*restapi.UnexpectedResponseError](err); ok && unexpected.IsLogin {
		return false, nil
	}
	if err == nil && !strings.EqualFold(shown.Key, key) {
		err = c.ErrInvalid("something")
	}
	return err == nil, err
}

// SitePath returns the path and query of a link to the site.
func (c *Client) SitePath(link string) (string, url.Values, error) {
	target, err := url.Parse(link)
	if err != nil || link == "" {
		return "", nil, connectors.ErrNotFound
	}
	if target.Host != "" {
		base, _ := url.Parse(c.Site.Base)
		if target.Host != base.Host || target.Scheme != base.Scheme {
			return "", nil, errors.New(c.Product.Noun + " named a place for the content that is not its own")
		}
		return target.String(), nil, nil
	}
	return target.EscapedPath(), target.Query(), nil
}

// Close closes all connections.
func (c *Client) Close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, client := range c.clients {
		client.Close()
	}
}

// Answers reports whether an address belongs to the site, and requests go to the
// site and not to the gateway.
func (c *Client) Answers(address string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return !c.Site.Grant && !c.useGateway && strings.HasPrefix(address, cmp.Or(c.Site.API, c.Site.Base)+"/")
}
