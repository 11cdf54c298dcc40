package client_test

import (
	"context"
	"fmt"
	"io"

	"github.com/magpie-search/magpie/client"
)

// searchAndAsk searches with an API key, and asks a question whose answer arrives in parts. It is the example of docs/clients.md.
func searchAndAsk(ctx context.Context, out io.Writer, url, key string) error {
	api, err := client.New(url, key)
	if err != nil {
		return err
	}
	found, err := api.SearchDocsWithResponse(ctx, client.SearchDocsRequest{Query: "how do I restore a backup?"})
	if err != nil {
		return err
	}
	for _, result := range found.JSON200.Data.Results {
		_, _ = fmt.Fprintln(out, result.Title)
	}
	for part, err := range api.Chat(ctx, client.StreamChatRequest{Message: "How do I restore a backup?"}) {
		if err != nil {
			return err
		}
		_, _ = fmt.Fprint(out, part.Content)
	}
	return nil
}
