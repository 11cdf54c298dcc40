package confluence

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/connectors"
)

// The prefixes of ids.
const (
	prefixPage = "page:"
	prefixBlog = "blogpost:"
	prefixFile = "attachment:"
)

// The names of metadata. Readers uses the first one.
const (
	metaPage   = "pageId"
	metaSpace  = "space"
	metaLabels = "labels"
)

func prefixOf(kind string) string { return kind + ":" }

// parseID parses an item's id. The kind is "" if the id is invalid.
func parseID(id string) (kind, number string) {
	for _, prefix := range []string{prefixPage, prefixBlog, prefixFile} {
		number, found := strings.CutPrefix(id, prefix)
		if !found {
			continue
		}
		digits := number
		if prefix == prefixFile {
			digits = strings.TrimPrefix(number, "att")
		}
		if digits == "" || len(digits) > 19 || strings.Trim(digits, "0123456789") != "" {
			return "", ""
		}
		return strings.TrimSuffix(prefix, ":"), number
	}
	return "", ""
}

// pathSegment returns a title as a segment of a path.
func pathSegment(title string) string {
	title = strings.Map(func(r rune) rune {
		switch {
		case r == '/':
			return '∕'
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(title, "?"))
	if title = strings.TrimSpace(title); title == "" {
		return "-"
	}
	return title
}

// hasExtension reports whether a title ends like a file name.
func hasExtension(title string) bool {
	return regexp.MustCompile(`\.[A-Za-z0-9]{1,10}$`).MatchString(title)
}

// pagePath returns the path of a page: its space, the pages above, and its
// title. A path that would not be unique or would be too long has the page's
// id.
func pagePath(p *page) string {
	parts := []string{pathSegment(p.space)}
	for _, a := range p.ancestors {
		parts = append(parts, pathSegment(a.title))
	}
	name := pathSegment(p.title)
	if p.kind == kindBlog {
		parts = append(parts, "blog", p.created.Format("2006-01-02"))
	}
	if p.status == "archived" {
		name += " (" + p.id + ")"
	}
	if hasExtension(name) {
		name += ".html" // "Node.js" is not a program
	}
	parts = append(parts, name)
	if full := strings.Join(parts, "/"); len(full) <= connectors.MaxIDBytes*3/4 {
		return full
	}
	return pathSegment(p.space) + "/" + p.kind + "-" + p.id
}

func filePath(of *page, f file) string {
	full := pagePath(of) + "/" + pathSegment(f.title)
	if len(full) <= connectors.MaxIDBytes {
		return full
	}
	extension := path.Ext(f.title)
	if len(extension) > 20 {
		extension = ""
	}
	return pathSegment(of.space) + "/" + f.id + extension
}

// pageVersion changes with the content and everything else in the document: the
// path and title, the labels and the comments. Confluence's version number
// covers the content only.
func pageVersion(p *page) string {
	hash := sha256.New()
	for _, part := range slices.Concat([]string{pagePath(p), p.title}, p.labels, []string{""}, p.commentMarks) {
		hash.Write([]byte(part + "\x00"))
	}
	return strconv.Itoa(p.version) + "-" + hex.EncodeToString(hash.Sum(nil)[:6])
}

func pageItem(p *page) connectors.Item {
	return connectors.Item{
		ID: prefixOf(p.kind) + p.id, Path: pagePath(p), Version: pageVersion(p), Title: p.title, URL: p.url, MediaType: "text/html", Author: p.author,
		Size: -1, CreatedAt: p.created, ModifiedAt: p.modified, Metadata: metadata(p),
	}
}

func fileItem(of *page, f file) connectors.Item {
	size := f.size
	if size < 0 {
		size = -1
	}
	return connectors.Item{
		ID: prefixFile + f.id, Path: filePath(of, f), Version: strconv.Itoa(f.version), Title: f.title, URL: cmp.Or(f.url, of.url), MediaType: f.media,
		Author: f.author, Size: size, CreatedAt: f.created, ModifiedAt: f.modified, Metadata: metadata(of),
	}
}

func metadata(p *page) map[string]string {
	facts := map[string]string{metaPage: p.id, metaSpace: p.space}
	if len(p.labels) > 0 {
		facts[metaLabels] = strings.Join(p.labels, ", ")
	}
	return facts
}
