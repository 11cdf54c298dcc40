package mcp_test

import (
	"context"
	"os"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// serveStdio makes the test binary a tool server on its standard input and output.
const serveStdio = "serve-stdio"

func TestMain(m *testing.M) {
	if slices.Contains(os.Args, serveStdio) {
		server := newServer(&sdk.Tool{Name: "env"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{StructuredContent: map[string]any{"env": os.Environ()}, Content: []sdk.Content{}}, nil
		})
		if server.Run(context.Background(), &sdk.StdioTransport{}) != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
