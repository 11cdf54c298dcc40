package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/agents/arguments"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

// maxResult bounds the text of a result, in bytes. The loop cuts it further.
const maxResult = 256 << 10

// convert returns what a model sees of a result. A result that reports a failure, or
// does not fit the tool's schema, is an *apierr.Error.
func (s *Session) convert(tool *Tool, r *sdk.CallToolResult) (loop.Result, error) {
	var text strings.Builder
	for _, part := range r.Content {
		if text.Len() > maxResult {
			break
		}
		if t, ok := part.(*sdk.TextContent); ok && !r.IsError && sameJSON(t.Text, r.StructuredContent) {
			continue // the same once more
		}
		line := strings.TrimSpace(clean(safetext.TruncateBytes(contentText(part), maxResult)))
		if line == "" {
			continue
		}
		if text.Len() > 0 {
			text.WriteString("\n\n")
		}
		text.WriteString(line)
	}
	if r.IsError {
		message := safetext.Truncate(text.String(), maxFailure)
		if message == "" {
			message = "the tool failed and did not say why"
		}
		return loop.Result{}, apierr.New(apierr.InvalidRequest, s.server.Name+" answered: "+message)
	}
	structured, err := s.structured(tool, r.StructuredContent)
	if err != nil {
		return loop.Result{}, err
	}
	switch {
	case structured != "" && text.Len() > 0:
		structured += "\n\n" + text.String()
	case structured == "":
		structured = text.String()
	}
	summary := "no text"
	if structured != "" {
		summary = fmt.Sprintf("%d characters from %s", len([]rune(structured)), s.server.Name)
	}
	if structured == "" {
		structured = "The call succeeded and returned nothing."
	}
	return loop.Result{Text: structured, Summary: summary}, nil
}

// structured returns the structured part of a result as JSON.
func (s *Session) structured(tool *Tool, content any) (string, error) {
	if content == nil {
		if tool.Output == nil {
			return "", nil
		}
		return "", s.broken("it lacks the structured part that the tool promises")
	}
	text, err := json.Marshal(content)
	if err != nil {
		return "", s.broken("its structured part cannot be read")
	}
	if tool.Output != nil {
		if err := arguments.Validate(tool.Output, text); err != nil {
			return "", s.broken(apierr.From(err).Message)
		}
	}
	return clean(safetext.TruncateBytes(string(text), maxResult)), nil
}

func (s *Session) broken(problem string) error {
	return apierr.New(apierr.Unavailable, "The result of "+s.server.Name+" does not fit the schema of the tool, so it was not used: "+problem)
}

// sameJSON reports whether a text is the JSON of a value.
func sameJSON(text string, value any) bool {
	if value == nil {
		return false
	}
	var parsed any
	return json.Unmarshal([]byte(text), &parsed) == nil && reflect.DeepEqual(parsed, value)
}

// contentText returns a part of a result as text. Nothing is fetched.
func contentText(part sdk.Content) string {
	switch part := part.(type) {
	case *sdk.TextContent:
		return part.Text
	case *sdk.ImageContent:
		return fmt.Sprintf("[an image of %d bytes was left out]", len(part.Data))
	case *sdk.AudioContent:
		return fmt.Sprintf("[a sound of %d bytes was left out]", len(part.Data))
	case *sdk.ResourceLink:
		return "[link: " + safetext.Truncate(safetext.Line(part.Name), maxTitle) + " " + safetext.Truncate(safetext.Line(part.URI), 2000) + "]"
	case *sdk.EmbeddedResource:
		switch {
		case part.Resource == nil:
			return ""
		case part.Resource.Text != "":
			return "[" + safetext.Truncate(safetext.Line(part.Resource.URI), 2000) + "]\n" + part.Resource.Text
		default:
			return fmt.Sprintf("[%s: %d bytes were left out]", safetext.Truncate(safetext.Line(part.Resource.URI), 2000), len(part.Resource.Blob))
		}
	default:
		return "[a part of an unknown kind was left out]"
	}
}
