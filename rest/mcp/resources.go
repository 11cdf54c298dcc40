package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The resources: documents in Markdown, collections as JSON.
const (
	documentURI   = "magpie://document/"
	collectionURI = "magpie://collection/"
	markdown      = "text/markdown"
)

func (s *session) addResourceTemplates(server *protocol.Server) {
	server.AddResourceTemplate(&protocol.ResourceTemplate{
		URITemplate: documentURI + "{id}", Name: "document", Title: "Document", MIMEType: markdown,
		Description: "A document in Markdown, by the id of a search result.",
	}, s.readDocument)
	server.AddResourceTemplate(&protocol.ResourceTemplate{
		URITemplate: collectionURI + "{id}", Name: "collection", Title: "Collection", MIMEType: "application/json",
		Description: "Name, description and number of documents of a collection.",
	}, s.readCollection)
}

// addCollections adds each collection of the caller as a resource.
func (s *session) addCollections(ctx context.Context, server *protocol.Server) error {
	list, err := s.collections(ctx)
	for _, c := range list {
		server.AddResource(&protocol.Resource{
			URI: collectionURI + c.ID, Name: oneLine(c.Name, 200), Description: oneLine(c.Description, 500), MIMEType: "application/json",
		}, s.readCollection)
	}
	return err
}

func (s *session) readDocument(ctx context.Context, r *protocol.ReadResourceRequest) (*protocol.ReadResourceResult, error) {
	d, err := s.document(ctx, strings.TrimPrefix(r.Params.URI, documentURI))
	if err != nil {
		return nil, s.resourceError(ctx, r.Params.URI, err)
	}
	return &protocol.ReadResourceResult{Contents: []*protocol.ResourceContents{{URI: r.Params.URI, MIMEType: markdown, Text: d.Content}}}, nil
}

func (s *session) readCollection(ctx context.Context, r *protocol.ReadResourceRequest) (*protocol.ReadResourceResult, error) {
	variables := map[string]any{}
	if err := setID(variables, "id", strings.TrimPrefix(r.Params.URI, collectionURI)); err != nil {
		return nil, s.resourceError(ctx, r.Params.URI, err)
	}
	var data struct{ Collection storedCollection }
	if err := s.caller.run(ctx, "MCPCollection", variables, &data); err != nil {
		return nil, s.resourceError(ctx, r.Params.URI, err)
	}
	encoded, err := json.Marshal(data.Collection.info())
	if err != nil {
		return nil, err
	}
	return &protocol.ReadResourceResult{Contents: []*protocol.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: string(encoded)}}}, nil
}

// resourceError returns the protocol's error for a resource. One that the caller may
// not read does not exist.
func (s *session) resourceError(ctx context.Context, uri string, err error) error {
	switch apierr.From(err).Code {
	case apierr.CodeNotFound, apierr.InvalidRequest, apierr.Forbidden:
		return protocol.ResourceNotFoundError(uri)
	default:
		return errors.New(s.public(ctx, uri, err).Error())
	}
}

// addPrompts adds the templates of agents as prompts. An API key has none.
func (s *session) addPrompts(ctx context.Context, server *protocol.Server) error {
	if v, _ := viewer.From(ctx); v.Kind == viewer.KindKey {
		return nil
	}
	var data struct {
		AgentTemplates struct {
			Edges []struct {
				Node struct{ ID, Name, Description, SystemPrompt string }
			}
		}
	}
	if err := s.caller.run(ctx, "MCPTemplates", map[string]any{"limit": maxListed}, &data); err != nil {
		return err
	}
	for _, e := range data.AgentTemplates.Edges {
		template := e.Node
		server.AddPrompt(&protocol.Prompt{
			Name: template.ID, Title: oneLine(template.Name, 200), Description: oneLine(template.Description, 500),
			Arguments: []*protocol.PromptArgument{{Name: "task", Description: "What is to be done."}},
		}, func(_ context.Context, r *protocol.GetPromptRequest) (*protocol.GetPromptResult, error) {
			content := template.SystemPrompt
			if task := strings.TrimSpace(r.Params.Arguments["task"]); task != "" {
				content += "\n\n" + task
			}
			return &protocol.GetPromptResult{
				Description: oneLine(template.Description, 500),
				Messages:    []*protocol.PromptMessage{{Role: "user", Content: &protocol.TextContent{Text: content}}},
			}, nil
		})
	}
	return nil
}
