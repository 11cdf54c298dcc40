package document

import (
	"context"
	"path"
	"strings"
)

// Source is a file as a reader of one format gets it.
type Source struct {
	// Name is the file's base name; MediaType what the source said, "" when nothing.
	Name, MediaType string
	// Content is the whole file. Readers neither change nor keep it.
	Content []byte
	// Limits has its defaults filled in; Budget is that of the whole file, also for what stands inside other files.
	Limits Limits
	Budget *Budget
	// Nested reads a file that stands inside this one (the body of a mail, an attachment, a chapter, a member) by the rules
	// of any other file. The error is that of the inner file, of the same types as a reader's: *UnsupportedError means that
	// it is not read. It is never nil.
	Nested func(ctx context.Context, name, mediaType string, content []byte) (*Draft, error)
}

// BaseName returns the last element of a path. Both slashes and backslashes separate elements.
func BaseName(name string) string { return path.Base(strings.ReplaceAll(name, "\\", "/")) }

// Extension returns the extension of a file name without its dot, in lower case.
func Extension(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(BaseName(name)), "."))
}

// Text is a text file as a reader of a text format gets it.
type Text struct {
	// Name is the file's base name; MediaType what the source said, "" when nothing.
	Name, MediaType string
	// Format is the short name of the format; Language that of source code and configuration, DocType what the format
	// speaks for, "" for prose.
	Format, Language, DocType string
	// Text is the decoded content: its line ends are \n, it has no control characters.
	Text string
	// Limits has its defaults filled in.
	Limits Limits
}

// Draft is what a reader finds. A reader gives blocks as they come; empty ones are dropped afterwards.
type Draft struct {
	Blocks []Block
	// Meta is what the file says about itself, by lower-case key: title, author, description, keywords, category, language,
	// version, created, modified, url. Values are strings, numbers, booleans, times and lists ([]any) of these.
	// What has no field in Document goes to its metadata under the same key.
	Meta map[string]any
	// Title is the title found in the text, where Meta has none; Language what the file says it is written in.
	Title, Language string
	// DocType is set by a reader that knows better than the path.
	DocType string
	// Prose tells that the language of the text can be detected.
	Prose bool
	// Pages is how many pages, slides or sheets the file has, 0 where the format has none.
	Pages int
	// Extra goes to the document's metadata as it is: strings, numbers, booleans and lists of strings.
	Extra map[string]any
}
