package parse

import (
	"context"
	"fmt"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/archive"
)

// IsArchive reports whether a file is an archive of files, as zip and tar archives are, compressed or not. Office files
// are none, although they are zip archives, and a compressed single file is none either.
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
		return archive.HoldsTar(content)
	}
	return false
}

// Members hands each file in an archive to a function, for it to parse. The errors are those of archive.Walk and the
// function's own.
func (p *Parser) Members(ctx context.Context, in Input, visit func(archive.Member) error) error {
	limits := in.Limits.WithDefaults()
	if len(in.Content) > limits.MaxBytes {
		return &document.LimitError{Detail: fmt.Sprintf("content has %d bytes, the limit is %d", len(in.Content), limits.MaxBytes)}
	}
	return archive.Walk(ctx, document.Source{
		Name: baseName(in.Name), MediaType: in.MediaType, Content: in.Content, Limits: limits, Budget: document.NewBudget(limits),
	}, visit)
}

// NamesArchive reports whether a file of this name may be an archive of files.
func (p *Parser) NamesArchive(name string) bool {
	switch binaryExtension(extensionOf(name)) {
	case "zip", "tar", "gzip", "bzip2":
		return true
	}
	return false
}
