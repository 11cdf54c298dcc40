package store

import (
	"context"
	"log/slog"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/toolserver"
)

// ToolServers returns the source of servers that speak the Model Context Protocol.
func ToolServers(s *toolserver.Servers, log *slog.Logger) Source { return toolServers{s, log} }

type toolServers struct {
	servers *toolserver.Servers
	log     *slog.Logger
}

func (t toolServers) Providers() []integration.Provider {
	return []integration.Provider{t.servers.Provider()}
}

func (t toolServers) Discover(ctx context.Context, _ string, a integration.Account) ([]Offer, bool, error) {
	found, skipped, err := t.servers.Discover(ctx, a)
	if err != nil {
		return nil, false, err
	}
	if len(skipped) > 0 {
		t.log.InfoContext(ctx, "tools of a server left out", slog.String("integration", a.ConnectorID), slog.Int("tools", len(skipped)))
	}
	out := make([]Offer, 0, len(found))
	for _, d := range found {
		out = append(out, Offer{Name: d.Name, Title: d.Title, Description: d.Description, Risk: d.Risk, Schema: d.Input, Output: d.Output, Definition: d.Definition})
	}
	return out, false, nil
}

func (t toolServers) Tool(_ string, o Offer) (integration.Tool, error) {
	return t.servers.Tool(toolserver.Description{
		Name: o.Name, Title: o.Title, Description: o.Description, Risk: o.Risk, Input: o.Schema, Output: o.Output, Definition: o.Definition, Timeout: o.Timeout,
	})
}

func (t toolServers) Begin(ctx context.Context, a integration.Account) (string, error) {
	return t.servers.Begin(ctx, a)
}

func (t toolServers) Finish(ctx context.Context, a integration.Account, flow []byte, r integration.Redirect) error {
	return t.servers.Finish(ctx, a, flow, r)
}
