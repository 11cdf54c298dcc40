package sharepoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	platform = "Microsoft Graph"
	// userAgent has the form that SharePoint asks of apps, for its throttling.
	userAgent = "NONISV|Magpie|Magpie/1.0"
	// maxListPages bounds lists that are read within one call.
	maxListPages = 10_000
)

// A cloud is one of Microsoft's national clouds.
type cloud struct{ graph, login, suffix string }

// clouds returns the clouds by their Graph, the public one first.
func clouds() []cloud {
	return []cloud{
		{defaultGraph, defaultAuth, defaultSuffix},
		{"https://graph.microsoft.us", "https://login.microsoftonline.us", "sharepoint.us"},
		{"https://dod-graph.microsoft.us", "https://login.microsoftonline.us", "sharepoint-mil.us"},
		{"https://microsoftgraph.chinacloudapi.cn", "https://login.partner.microsoftonline.cn", "sharepoint.cn"},
	}
}

// cloudOf returns the cloud of a Graph's address. A proxy in front of Graph counts
// as the public cloud.
func cloudOf(graphURL string) cloud {
	parsed, err := url.Parse(strings.TrimSpace(graphURL))
	for _, c := range clouds() {
		if err == nil && strings.EqualFold("https://"+parsed.Host, c.graph) {
			return c
		}
	}
	return clouds()[0]
}

// A graph sends requests to Microsoft Graph.
type graph struct {
	client *restapi.Client
	base   string // with the version
}

func newGraph(dial connectors.Dial, auth *authorizer, graphURL string, s connectors.Settings) (*graph, error) {
	base := strings.TrimRight(strings.TrimSpace(graphURL), "/")
	if !strings.HasSuffix(base, "/"+graphVersion) {
		base += "/" + graphVersion
	}
	client, err := restapi.New(base, dial, restapi.Options{
		Platform: platform, Wait: s.Wait, Authorize: auth.authorize(cloudOf(graphURL).graph + "/.default"), ErrorMessage: errorMessage,
		RedirectsAuthorize: true, Advice: "config." + optionGraph, Header: http.Header{"User-Agent": {userAgent}},
	})
	return &graph{client: client, base: base}, err
}

// A graphError is the body of an unsuccessful response.
type graphError struct {
	Error struct {
		Code       string `json:"code"`
		Message    string `json:"message"`
		InnerError struct {
			Code string `json:"code"`
		} `json:"innerError"`
	} `json:"error"`
}

func errorMessage(body []byte) string {
	var failure graphError
	if json.Unmarshal(body, &failure) != nil {
		return ""
	}
	if failure.Error.Code == "" {
		return failure.Error.Message
	}
	return strings.TrimSuffix(failure.Error.Code+": "+failure.Error.Message, ": ")
}

// get requests a JSON object. query may be nil.
func (g *graph) get(ctx context.Context, path string, query url.Values, out any, required ...string) error {
	_, err := g.client.JSON(ctx, restapi.Request{Path: g.base + "/" + path, Query: query, RequiredFields: required}, out)
	return err
}

// relativeLink returns a link of a response as a path and query below the base. A
// link to another host, as behind a proxy, is read from the base as well.
func (g *graph) relativeLink(link string) (string, error) {
	parsed, err := url.Parse(link)
	if err == nil && link != "" {
		path := parsed.EscapedPath()
		if _, rest, found := strings.Cut(path, "/"+graphVersion+"/"); found && rest != "" {
			if parsed.RawQuery != "" {
				rest += "?" + parsed.RawQuery
			}
			return rest, nil
		}
	}
	return "", connectors.Retryable(errors.New("Microsoft Graph names a next page whose address is not valid"), 0) //nolint:staticcheck // a name
}

// segment escapes an id or name for a path. The characters of ids stay readable.
func segment(text string) string {
	return strings.NewReplacer("%21", "!", "%2C", ",").Replace(url.PathEscape(text))
}

// A listPage is a page of a list.
type listPage[T any] struct {
	Value    []T    `json:"value"`
	NextLink string `json:"@odata.nextLink"`
}

// list reads a whole list, which name describes.
func list[T any](ctx context.Context, g *graph, name, path string, query url.Values) ([]T, error) {
	var all []T
	err := restapi.AllPages(platform, name, maxListPages, func(cursor string) (string, error) {
		page, next, err := readPage[T](ctx, g, path, query, cursor)
		all = append(all, page...)
		return next, err
	})
	return all, err
}

// readPage reads the page of a list at a link of an earlier page, or the first one.
func readPage[T any](ctx context.Context, g *graph, path string, query url.Values, cursor string) (entries []T, next string, err error) {
	if cursor != "" {
		path, query = cursor, nil
	}
	var page listPage[T]
	if _, err := g.client.JSON(ctx, restapi.Request{Path: g.base + "/" + path, Query: query, RequiredList: "value"}, &page); err != nil {
		return nil, "", err
	}
	if page.NextLink != "" {
		if next, err = g.relativeLink(page.NextLink); err != nil {
			return nil, "", err
		}
	}
	return page.Value, next, nil
}

// errInvalid returns the error of a response with an invalid entry. If the entry
// were ignored, its document would be deleted.
func errInvalid(what string) error {
	return connectors.Retryable(fmt.Errorf("Microsoft Graph answered with %s that cannot be; check config.%s, and whether a proxy or a login stands between", what, optionGraph), 0) //nolint:staticcheck // a name
}

// A timestamp is a time of a response. One that cannot be parsed is zero.
type timestamp struct{ time.Time }

// UnmarshalJSON implements [json.Unmarshaler].
func (t *timestamp) UnmarshalJSON(data []byte) error {
	var text string
	_ = json.Unmarshal(data, &text) // zero for anything else
	t.Time, _ = time.Parse(time.RFC3339, text)
	return nil
}

// needsRight returns the error of a refused request, with the rights of the app that
// the request needs. Other errors are returned unchanged.
func needsRight(err error, action, rights string) error {
	if restapi.StatusOf(err) != http.StatusForbidden {
		return err
	}
	return connectors.NeedsAuth(fmt.Errorf("the app may not %s; give it %s in Microsoft Entra, with an administrator's consent: %w", action, rights, opaque(err)))
}

// isUnavailable reports whether an error says that a site or drive cannot be read
// although the platform works: it is forbidden, missing, archived or locked.
func isUnavailable(err error) (reason string, ok bool) {
	if errors.Is(err, errNoSite) {
		return "no site that the app finds has the name; a new site can take some hours to be found", true
	}
	switch restapi.StatusOf(err) {
	case http.StatusForbidden:
		return "the app has no access to it", true
	case http.StatusNotFound:
		return "it does not exist, or the app has no access to it", true
	case http.StatusGone:
		return "it is archived or gone", true
	case http.StatusLocked:
		return "it is locked or archived", true
	}
	return "", false
}

// isNoQuery reports whether the platform does not know a request.
func isNoQuery(err error) bool {
	status := restapi.StatusOf(err)
	return status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
}
