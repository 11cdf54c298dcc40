package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/config/namedfile"
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/passage"
)

type parseCommand struct {
	Files    []string      `arg:"" name:"file" help:"Files to read; - is the standard input."`
	Name     string        `help:"What the standard input is called, for its extension."`
	Passages bool          `help:"Print the passages that the index would get instead of the text."`
	Timeout  time.Duration `default:"2m" help:"How long one file may take."`
}

// Run prints what Magpie reads in files.
func (c *parseCommand) Run(r *runtime) (err error) {
	settings, err := r.settings(nil)
	if err != nil {
		return err
	}
	parser, err := wire.Parser(settings)
	if err != nil {
		return err // names the setting
	}
	defer func() { err = errors.Join(err, parser.Close()) }()
	failed := 0
	for i, name := range c.Files {
		if r.Err() != nil {
			return r.Err()
		}
		if err := c.one(r, parser, name, i); err != nil {
			if len(c.Files) == 1 {
				return fmt.Errorf("%s: %w", name, err)
			}
			failed++
			_, _ = fmt.Fprintf(r.streams.Err, "magpie: %s: %s\n", name, err)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d files could not be read", failed, len(c.Files))
	}
	return nil
}

func (c *parseCommand) one(r *runtime, parser *parse.Parser, name string, at int) error {
	ctx, cancel := context.WithTimeout(r, c.Timeout)
	defer cancel()
	content, err := c.content(ctx, r.streams.In, name)
	if name == "-" {
		name = c.Name
	}
	var found *document.Document
	if err == nil {
		found, err = parser.Parse(ctx, parse.Input{Name: name, Content: content})
	}
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("took longer than %s", c.Timeout)
		}
		return err // made to be shown
	}
	return c.print(r, name, found, at)
}

// content reads a file, no more of it than the parser takes.
func (c *parseCommand) content(ctx context.Context, in io.Reader, name string) ([]byte, error) {
	most := int64(document.Limits{}.WithDefaults().MaxBytes)
	if name == "-" {
		content, err := namedfile.ReadFrom(ctx, in, most)
		if err != nil {
			return nil, fmt.Errorf("read the standard input: %w", err)
		}
		return content, nil
	}
	content, err := namedfile.Read(ctx, name, most)
	if pathError := (*fs.PathError)(nil); errors.As(err, &pathError) {
		return nil, pathError.Err // the caller names the file
	}
	return content, err
}

// parsed is the structure of a file as --json prints it.
type parsed struct {
	Name string `json:"name"`
	*document.Document
	Links    []document.Link `json:"links,omitempty"`
	Passages []parsedPassage `json:"passages,omitempty"`
}

type parsedPassage struct {
	Ordinal  int      `json:"ordinal"`
	Headings []string `json:"headings,omitempty"`
	Text     string   `json:"text"`
	Anchor   string   `json:"anchor,omitempty"`
	Page     int      `json:"page,omitempty"`
	Start    int      `json:"start"`
	End      int      `json:"end"`

	Stub     bool              `json:"stub,omitempty"`
	Sections []passage.Section `json:"sections,omitempty"`
}

func (c *parseCommand) print(r *runtime, name string, found *document.Document, at int) error {
	var passages []parsedPassage
	if c.Passages {
		for _, p := range passage.Split(found, passage.Options{}) {
			passages = append(passages, parsedPassage(p))
		}
	}
	if r.JSON {
		encoder := json.NewEncoder(r.streams.Out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(parsed{Name: name, Document: found, Links: found.Links(), Passages: passages}); err != nil {
			return fmt.Errorf("print: %w", err)
		}
		return nil
	}
	if len(c.Files) > 1 {
		if at > 0 {
			r.console.Printf("\n")
		}
		r.console.Printf("<!-- %s -->\n\n", name)
	}
	if !c.Passages {
		r.console.Printf("%s\n", found.Markdown())
		return nil
	}
	for _, p := range passages {
		r.console.Printf("<!-- passage %d, bytes %d to %d%s%s -->\n\n%s\n\n", p.Ordinal, p.Start, p.End, where(p), under(p.Headings), p.Text)
	}
	return nil
}

func where(p parsedPassage) string {
	switch {
	case p.Page > 0:
		return fmt.Sprintf(", #page=%d", p.Page)
	case p.Anchor != "":
		return ", #" + p.Anchor
	}
	return ""
}

func under(headings []string) string {
	text := ""
	for _, heading := range headings {
		text += " > " + heading
	}
	if text != "" {
		text = ", under" + text[2:]
	}
	return text
}
