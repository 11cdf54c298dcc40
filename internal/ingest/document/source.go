package document

import (
	"context"
	"path"
	"strings"
)

// A Source is a file for a reader of its format.
type Source struct {
	// Name is the base name. MediaType is as the source declares it, or "".
	Name, MediaType string
	// Content is the whole file. Readers must not change or keep it.
	Content []byte
	// Limits has its defaults. Budget is shared by all files inside a file.
	Limits Limits
	Budget *Budget
	// Nested reads a file inside of this one, such as the body of a mail, an attachment, a chapter or an entry. The
	// errors are those of readers: an *UnsupportedError means that the inner file is not read. Nested is never nil.
	Nested func(ctx context.Context, name, mediaType string, content []byte) (*Draft, error)
}

// BaseName returns the last element of a path. Both slashes and backslashes separate elements.
func BaseName(name string) string { return path.Base(strings.ReplaceAll(name, "\\", "/")) }

// Extension returns the extension of a file name without its dot, in lower case.
func Extension(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(BaseName(name)), "."))
}

// A Text is a text file for a reader of its format.
type Text struct {
	// Name is the base name. MediaType is as the source declares it, or "".
	Name, MediaType string
	// Format is the short name of the format. Language is that of source code and configuration. DocType is the type
	// that the format implies, or "".
	Format, Language, DocType string
	// Text is the decoded content, with \n as line ends and without control characters.
	Text string
	// Limits has its defaults.
	Limits Limits
}

// A Draft is the result of a reader. It may contain empty blocks.
type Draft struct {
	Blocks []Block
	// Meta are the properties of the file, by lower-case key: title, author, description, keywords, category, language,
	// version, created, modified, url. Values are strings, numbers, booleans, times and lists ([]any) of these. Keys
	// without a field in Document become its metadata.
	Meta map[string]any
	// Title is the title in the text, for files without one in Meta. Language is the declared language of the text.
	Title, Language string
	// DocType overrides the type that follows from the path.
	DocType string
	// Prose is set if the language of the text can be detected.
	Prose bool
	// Pages is the number of pages, slides or sheets, 0 in formats without them.
	Pages int
	// Extra becomes metadata of the document: strings, numbers, booleans and lists of strings.
	Extra map[string]any
}
