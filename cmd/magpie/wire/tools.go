package wire

import (
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/agents/integration/all"
	toolstore "github.com/magpie-search/magpie/agents/integration/store"
	"github.com/magpie-search/magpie/agents/integration/toolserver"
	"github.com/magpie-search/magpie/agents/mcp"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/rest/authorize"
)

// integrations returns the integrations whose tools agents call.
func (a *App) integrations(guard *httpx.Guard) (*toolstore.Store, error) {
	platforms, err := all.Registry()
	if err != nil {
		return nil, fmt.Errorf("list the platforms of tools: %w", err)
	}
	commands, err := a.Config.ToolCommands()
	if err != nil {
		return nil, fmt.Errorf("MCP_STDIO_COMMANDS: %w", err)
	}
	client := mcp.NewClient(mcp.Options{Dial: guard.DialContext, Commands: commands, Now: a.now, Log: a.Log})
	a.closers = append(a.closers, func() error { client.Close(); return nil })
	access := toolserver.OAuth{RedirectURL: a.Config.PublicURL() + oauth.CallbackPath(toolserver.ProviderName)}
	if strings.HasPrefix(a.Config.PublicURL(), "https://") {
		access.MetadataURL = a.Config.PublicURL() + authorize.ClientPath
	}
	return toolstore.New(toolstore.Options{
		Ent: a.DB.Ent, Box: a.Secrets, Grants: a.Grants, Dial: guard.DialContext, Dashboard: a.Config.DashboardAddress(), Now: a.now, Log: a.Log,
		Sources: map[toolintegration.Kind]toolstore.Source{
			toolintegration.KindPack: toolstore.Packs(platforms), toolintegration.KindWebhook: toolstore.Webhooks(),
			toolintegration.KindMCP: toolstore.ToolServers(toolserver.New(client, commands, access), a.Log),
		},
	}), nil
}
