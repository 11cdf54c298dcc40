package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/internal/system"
	"github.com/magpie-search/magpie/rest/mcp"
)

// mcpCommand is a local server of the Model Context Protocol for programs that
// start one. It passes everything to the endpoint of a Magpie, with the token of a profile
// or an API key.
type mcpCommand struct {
	URL string `name:"url" placeholder:"URL" help:"Address of Magpie, with an API key; BASE_URL, or LISTEN_ADDR, when left out."`
	Key string `name:"key" env:"MAGPIE_API_KEY" placeholder:"KEY" help:"A secret API key, instead of the token of a profile. Set MAGPIE_API_KEY instead, since arguments are visible to other users of the machine."`
}

// Run serves until the input ends.
func (c *mcpCommand) Run(r *runtime) error {
	address, credential, err := c.reach(r)
	if err != nil {
		return err
	}
	client := protocol.NewClient(&protocol.Implementation{Name: "magpie-mcp", Version: system.Version()}, &protocol.ClientOptions{Capabilities: &protocol.ClientCapabilities{}})
	session, err := client.Connect(r, &protocol.StreamableClientTransport{
		Endpoint: address + mcp.Path, DisableStandaloneSSE: true,
		HTTPClient: &http.Client{
			Transport:     bearerTransport(credential),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the credential is for this address
		},
	}, nil)
	if err != nil {
		return fmt.Errorf("connect to %s%s: %w", address, mcp.Path, err)
	}
	defer func() { _ = session.Close() }()
	err = bridge(session).Run(r, &protocol.IOTransport{Reader: io.NopCloser(r.streams.In), Writer: openWriter{r.streams.Out}})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// reach returns the address of the Magpie and the credential for it: an API key, or the
// token of the profile or the settings.
func (c *mcpCommand) reach(r *runtime) (address, credential string, err error) {
	settings, err := r.settings(nil)
	if err != nil {
		return "", "", err
	}
	if c.Key != "" && r.Profile == "" {
		return orElse(strings.TrimSuffix(c.URL, "/"), settings.PublicURL()), c.Key, nil
	}
	if c.URL != "" {
		return "", "", usagef("--url is for an API key; a profile or MAGPIE_URL has its address")
	}
	to, err := r.remote()
	switch {
	case err != nil:
		return "", "", err
	case to == nil:
		return "", "", errors.New("log in with `magpie login URL`, or set MAGPIE_API_KEY to a secret API key; magpie keys create makes one")
	}
	return to.url, to.token, nil
}

// openWriter is a writer that stays open.
type openWriter struct{ io.Writer }

// Close does nothing.
func (openWriter) Close() error { return nil }

// bearerTransport sends a key with every request.
type bearerTransport string

// RoundTrip sends a request.
func (key bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(key))
	return http.DefaultTransport.RoundTrip(r)
}

// bridge returns a server that passes the requests of its client to a session.
func bridge(session *protocol.ClientSession) *protocol.Server {
	about := session.InitializeResult()
	server := protocol.NewServer(about.ServerInfo, &protocol.ServerOptions{Instructions: about.Instructions, Capabilities: about.Capabilities})
	server.AddReceivingMiddleware(func(next protocol.MethodHandler) protocol.MethodHandler {
		return func(ctx context.Context, method string, request protocol.Request) (protocol.Result, error) {
			switch p := request.GetParams().(type) {
			case *protocol.ListToolsParams:
				return session.ListTools(ctx, &protocol.ListToolsParams{Cursor: p.Cursor})
			case *protocol.CallToolParamsRaw:
				return session.CallTool(ctx, &protocol.CallToolParams{Name: p.Name, Arguments: p.Arguments})
			case *protocol.ListResourcesParams:
				return session.ListResources(ctx, &protocol.ListResourcesParams{Cursor: p.Cursor})
			case *protocol.ListResourceTemplatesParams:
				return session.ListResourceTemplates(ctx, &protocol.ListResourceTemplatesParams{Cursor: p.Cursor})
			case *protocol.ReadResourceParams:
				return session.ReadResource(ctx, &protocol.ReadResourceParams{URI: p.URI})
			case *protocol.ListPromptsParams:
				return session.ListPrompts(ctx, &protocol.ListPromptsParams{Cursor: p.Cursor})
			case *protocol.GetPromptParams:
				return session.GetPrompt(ctx, &protocol.GetPromptParams{Name: p.Name, Arguments: p.Arguments})
			default:
				return next(ctx, method, request)
			}
		}
	})
	return server
}
