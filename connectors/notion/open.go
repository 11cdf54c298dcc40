package notion

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

var errChanged = errors.New("it was changed meanwhile; the next sync takes the new version")

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id, key := parseItemID(item.ID)
	switch {
	case id == "":
		return nil, fmt.Errorf("open an item: %w", connectors.ErrNotFound)
	case key != "":
		return s.openFile(ctx, item, id, key)
	}
	page, err := s.client.page(ctx, id)
	if err != nil {
		return nil, err
	}
	version := strings.TrimSuffix(item.Version, markComments)
	listed, _, _ := strings.Cut(version, "~")
	if now := page.Edited.UTC().Format(time.RFC3339); item.Version != "" && now != listed {
		return nil, connectors.Retryable(errChanged, 0)
	}
	s.mutex.Lock()
	text, ok := s.texts[id+version]
	delete(s.texts, id+version)
	s.mutex.Unlock()
	if !ok {
		if text, _, err = s.readText(ctx, id); err != nil {
			return nil, err
		}
	}
	var list []comment
	if s.withComments {
		list, err = s.client.comments(ctx, id)
		if isAbsent(err) || restapi.StatusOf(err) == http.StatusForbidden {
			s.addWarning("Notion does not list the comments on some pages; their documents come without them. The integration needs the capability \"Read comments\".")
			list, err = nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return io.NopCloser(bytes.NewReader(render(page, text, list))), nil
}

// render returns a page as Markdown: its title as the first heading, the properties
// of a row, its content, and the comments.
func render(page *object, text string, list []comment) []byte {
	var b strings.Builder
	b.WriteString("# " + cmp.Or(page.title(), "Untitled") + "\n")
	if properties := renderProperties(page.Properties); properties != "" {
		b.WriteString("\n" + properties)
	}
	if text = cleanMarkdown(text); text != "" {
		b.WriteString("\n" + text + "\n")
	}
	slices.SortStableFunc(list, func(a, b comment) int { return a.Created.Compare(b.Created.Time) })
	if len(list) > 0 {
		b.WriteString("\n## Comments\n")
	}
	for _, c := range list {
		b.WriteString("\n**" + cmp.Or(c.DisplayName.ResolvedName, c.CreatedBy.Name, "Somebody") + "**")
		if !c.Created.IsZero() {
			b.WriteString(", " + c.Created.Format(time.DateOnly))
		}
		b.WriteString(":\n\n" + richMarkdown(c.RichText) + "\n")
	}
	return []byte(b.String())
}

// readText returns a page in Notion's Markdown. If the API does not have it, it
// returns the page from its blocks, and the files among them, which is not nil then.
func (s *source) readText(ctx context.Context, id string) (text string, files []block, err error) {
	s.mutex.Lock()
	noMarkdown := s.noMarkdown
	s.mutex.Unlock()
	if !noMarkdown {
		text, err := s.readMarkdown(ctx, id, 0, &markdownBudget{requests: maxMarkdownParts})
		if err == nil {
			s.mutex.Lock()
			s.hasMarkdown = true
			s.mutex.Unlock()
		}
		if !isAbsent(err) && restapi.StatusOf(err) != http.StatusForbidden {
			return text, nil, err
		}
		if _, pageErr := s.client.page(ctx, id); pageErr != nil {
			return "", nil, pageErr
		}
	}
	text, files, err = s.client.readBlocks(ctx, id)
	if err != nil {
		return "", nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.noMarkdown = !s.hasMarkdown // it may only be one page that has none
	return text, append([]block{}, files...), nil
}

const (
	maxMarkdownParts = 50
	maxMarkdownDepth = 4
)

type markdownBudget struct{ requests int }

// readMarkdown returns a page or block in Notion's Markdown. The parts that Notion
// leaves out of a long page are requested one by one.
func (s *source) readMarkdown(ctx context.Context, id string, depth int, budget *markdownBudget) (string, error) {
	var page struct {
		Markdown  string
		Truncated bool
		Unknown   []string `json:"unknown_block_ids"`
	}
	budget.requests--
	if err := s.client.request(ctx, restapi.Request{Path: joined([]string{"pages", id, "markdown"}), RequiredFields: []string{"markdown"}}, &page); err != nil {
		return "", err
	}
	text := page.Markdown
	for _, part := range page.Unknown {
		block := part
		if !isID(block) || depth >= maxMarkdownDepth || budget.requests <= 0 {
			break
		}
		inner, err := s.readMarkdown(ctx, block, depth+1, budget)
		switch {
		case isAbsent(err):
			continue // it is not shared with the integration
		case err != nil:
			return "", err
		}
		text = insertPart(text, block, inner)
	}
	return text, nil
}

// insertPart puts a part in the place of its tag, or at the end.
func insertPart(text, id, part string) string {
	replaced := false
	text = unknownTag.ReplaceAllStringFunc(text, func(tag string) string {
		if replaced || !strings.Contains(tag, bare(id)) && !strings.Contains(tag, id) {
			return tag
		}
		replaced = true
		return "\n" + part + "\n"
	})
	if !replaced {
		text += "\n\n" + part
	}
	return text
}
