package ooxml

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
	"github.com/magpie-search/magpie/internal/ingest/parse/zipfile"
)

// A Package is an Office Open XML file: parts and the relationships between them. It is not safe for concurrent use.
type Package struct {
	// Format is the name of the format in errors: "Word document".
	Format string

	archive *zipfile.Archive
}

// A Relationship is a link from a part to another part or to an outside address.
type Relationship struct {
	// Type is the last segment of the relationship's type: "hyperlink", "styles", "notesSlide".
	Type string
	// Target is the path of a part, or an outside address.
	Target string
	// External is set if the target is outside the file.
	External bool
}

// Open opens a package. Errors are those of zipfile.Open.
func Open(in document.Source, format string) (*Package, error) {
	archive, err := zipfile.Open(in.Content, format, in.Limits, in.Budget)
	if err != nil {
		return nil, err
	}
	return &Package{Format: format, archive: archive}, nil
}

// Damaged returns a *document.DamagedError for the package.
func (p *Package) Damaged(detail string, cause error) error {
	return &document.DamagedError{Format: p.Format, Detail: detail, Cause: cause}
}

// Has reports whether the package has a part.
func (p *Package) Has(part string) bool { return p.archive.Has(part) }

// Read returns the content of a part. The error is fs.ErrNotExist if there is no such part.
func (p *Package) Read(part string) ([]byte, error) { return p.archive.Read(part) }

// Scan calls a function with a scanner of a part. The function may return io.EOF at the end. The error is
// fs.ErrNotExist if there is no such part, a *document.DamagedError if it is not well-formed XML, or that of the
// function.
func (p *Package) Scan(part string, read func(*xmlscan.Scanner) error) error {
	r, err := p.archive.Open(part)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read from
	err = read(xmlscan.New(r))
	if syntax, ok := errors.AsType[*xmlscan.SyntaxError](err); ok {
		return p.Damaged(path.Base(part)+": "+syntax.Error(), err)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// maxRelationships is how many relationships of a part are read.
const maxRelationships = 100_000

// Relationships returns the relationships of a part by id, those of the package for "". A part may have none. With an
// error it returns those that it has read.
func (p *Package) Relationships(part string) (map[string]Relationship, error) {
	folder, base := path.Split(part)
	found := make(map[string]Relationship)
	err := p.Scan(folder+"_rels/"+base+".rels", func(s *xmlscan.Scanner) error {
		for {
			kind, err := s.Next()
			if err != nil {
				return err
			}
			if kind != xmlscan.Start || s.Name() != "Relationship" {
				continue
			}
			r := Relationship{Type: path.Base(s.Attr("Type")), Target: s.Attr("Target"), External: s.Attr("TargetMode") == "External"}
			if !r.External {
				r.Target = p.resolve(folder, r.Target)
			}
			if len(found) < maxRelationships {
				found[s.Attr("Id")] = r
			}
		}
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return found, fmt.Errorf("read relationships: %w", err)
	}
	return found, nil
}

// resolve returns the path of a part from a target that a part in the folder names.
func (p *Package) resolve(folder, target string) string {
	target = strings.ReplaceAll(target, "\\", "/")
	if !strings.HasPrefix(target, "/") {
		target = "/" + folder + "/" + target
	}
	target = strings.TrimPrefix(path.Clean(target), "/")
	if strings.Contains(target, "%") && !p.Has(target) {
		if unescaped, err := url.PathUnescape(target); err == nil {
			return unescaped
		}
	}
	return target
}

// MainPart returns the path of the main part. The error is a *document.DamagedError if there is none.
func (p *Package) MainPart() (string, error) {
	relationships, err := p.Relationships("")
	if _, isDamage := errors.AsType[*document.DamagedError](err); err != nil && !isDamage {
		return "", err // a limit; without relationships, the main part has a usual path
	}
	for _, id := range slices.Sorted(maps.Keys(relationships)) {
		if r := relationships[id]; r.Type == "officeDocument" && !r.External && p.Has(r.Target) {
			return r.Target, nil
		}
	}
	for _, part := range []string{"word/document.xml", "ppt/presentation.xml", "xl/workbook.xml"} {
		if p.Has(part) {
			return part, nil
		}
	}
	return "", p.Damaged("its main part is missing", nil)
}

// Properties returns the properties of the file by the keys of document.Draft.Meta. Unreadable properties are left out.
func (p *Package) Properties() map[string]any {
	meta := make(map[string]any)
	keys := map[string]string{
		"title": "title", "creator": "author", "description": "description", "keywords": "keywords", "category": "category",
		"created": "created", "modified": "modified", "language": "language", "version": "version", "subject": "subject",
		"lastModifiedBy": "last_modified_by", "Company": "company", "Application": "application",
	}
	for _, part := range p.propertyParts() {
		_ = p.Scan(part, func(s *xmlscan.Scanner) error { // a damaged part has no properties
			for {
				kind, err := s.Next()
				if err != nil {
					return err
				}
				key, wanted := keys[s.Name()]
				if kind != xmlscan.Start || !wanted {
					continue
				}
				text, err := boundedText(s, maxProperty)
				if err != nil {
					return err
				}
				if text = property(key, text); text != "" && meta[key] == nil {
					meta[key] = text
				}
			}
		})
	}
	application, _ := meta["application"].(string)
	if strings.HasPrefix(application, "LibreOffice") && meta["language"] == "en-US" {
		delete(meta, "language") // the default of the program
	}
	return meta
}

// maxProperty is the longest property, in bytes.
const maxProperty = 8 << 10

// property returns the value of a property. It is "" for the default titles and descriptions of programs.
func property(key, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	switch key {
	case "keywords":
		if !strings.Contains(text, ",") {
			text = strings.ReplaceAll(text, ";", ",")
		}
	case "description":
		if text == "generated by python-docx" {
			return ""
		}
	case "title":
		if strings.HasPrefix(text, "Microsoft Word - ") || strings.HasPrefix(text, "Microsoft PowerPoint - ") {
			return ""
		}
		switch strings.ToLower(text) {
		case "slide 1", "folie 1", "diapositive 1", "diapositiva 1", "powerpoint presentation", "powerpoint-präsentation",
			"présentation powerpoint", "presentación de powerpoint", "presentazione standard di powerpoint",
			"apresentação do powerpoint", "powerpoint プレゼンテーション", "powerpoint 演示文稿", "презентация powerpoint",
			"no slide title", "untitled", "document1", "title":
			return ""
		}
	}
	return text
}

func (p *Package) propertyParts() []string {
	parts := []string{"docProps/core.xml", "docProps/app.xml"}
	relationships, err := p.Relationships("")
	if err != nil {
		return parts
	}
	for _, r := range relationships {
		switch {
		case r.External:
		case r.Type == "core-properties":
			parts[0] = r.Target
		case r.Type == "extended-properties":
			parts[1] = r.Target
		}
	}
	return parts
}
