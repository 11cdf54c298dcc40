package confluence

import (
	"context"
	"net/url"

	"github.com/magpie-search/magpie/connectors/atlassian"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A client sends requests to one site.
type client struct{ *atlassian.Client }

func (c *client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.Get(ctx, path, query, out)
}

func (c *client) request(ctx context.Context, r restapi.Request, out any) error {
	return c.Request(ctx, r, out)
}

// product describes Confluence.
func product() atlassian.Product {
	return atlassian.Product{
		Title: "Confluence", Noun: "the wiki", Gateway: "confluence", Example: "https://acme.atlassian.net/wiki", CloudPath: "/wiki",
		Inside: []string{"/spaces/", "/display/", "/pages/", "/rest/api", "/api/v2", "/login.action", "/dashboard.action", "/home", "/index.action"},
	}
}
