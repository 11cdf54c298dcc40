package parse

import (
	"context"
	"fmt"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/archive"
)

// IsArchive reports whether a file is an archive of files, such as a ZIP or tar archive, compressed or not. Office files are
// none, although they are ZIP archives, nor is a single compressed file.
func (p *Parser) IsArchive(name, mediaType string, content []byte) bool {
	if len(content) == 0 {
		return false
	}
	form, err := p.identify(name, mediaType, content)
	if err != nil {
		return false
	}
	switch form.name {
	case "zip", "tar":
		return true
	case "gzip", "bzip2":
		return archive.ContainsTar(content)
	}
	return false
}

// Entries calls visit for each file in an archive. The errors are those of archive.Walk and of visit.
func (p *Parser) Entries(ctx context.Context, in Input, visit func(archive.Entry) error) error {
	limits := in.Limits.WithDefaults()
	if len(in.Content) > limits.MaxBytes {
		return &document.LimitError{Detail: fmt.Sprintf("content has %d bytes, the limit is %d", len(in.Content), limits.MaxBytes)}
	}
	return archive.Walk(ctx, document.Source{
		Name: document.BaseName(in.Name), MediaType: in.MediaType, Content: in.Content, Limits: limits, Budget: document.NewBudget(limits),
	}, visit)
}

// NamesArchive reports whether a file of this name may be an archive of files.
func (p *Parser) NamesArchive(name string) bool {
	form, _ := p.find(func(f *format) bool { return hasWord(f.extensions, document.Extension(name)) })
	switch form.name {
	case "zip", "tar", "gzip", "bzip2":
		return true
	}
	return false
}
