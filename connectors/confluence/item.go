package confluence

import (
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

// The beginnings of ids.
const (
	prefixPage = "page:"
	prefixBlog = "blogpost:"
	prefixFile = "attachment:"
)

// The names of metadata. Readers goes by the first two.
const (
	metaPage   = "pageId"
	metaSpace  = "space"
	metaLabels = "labels"
)

func prefixOf(kind string) string { return kind + ":" }

// parseID returns what an item's id names; "" when it is none.
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

// segment is a title as a part of a path. A slash in it becomes one that
// divides nothing.
func segment(title string) string {
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

// ending is what the parser would take for the ending of a file name.
func ending(title string) bool { return regexp.MustCompile(`\.[A-Za-z0-9]{1,10}$`).MatchString(title) }

// pathOf is where a page is: its space, the pages above, its title. What else
// would not be unique, or too long, has the page's id in it.
func pathOf(p *page) string {
	parts := []string{segment(p.space)}
	for _, a := range p.ancestors {
		parts = append(parts, segment(a.title))
	}
	name := segment(p.title)
	if p.kind == kindBlog {
		parts = append(parts, "blog", p.created.Format("2006-01-02"))
	}
	if p.status == "archived" {
		name += " (" + p.id + ")"
	}
	if ending(name) {
		name += ".html" // "Node.js" is no program
	}
	parts = append(parts, name)
	if whole := strings.Join(parts, "/"); len(whole) <= connectors.MaxIDBytes*3/4 {
		return whole
	}
	return segment(p.space) + "/" + p.kind + "-" + p.id
}

func filePath(of *page, f file) string {
	whole := pathOf(of) + "/" + segment(f.title)
	if len(whole) <= connectors.MaxIDBytes {
		return whole
	}
	extension := path.Ext(f.title)
	if len(extension) > 20 {
		extension = ""
	}
	return segment(of.space) + "/" + f.id + extension
}

// versionOf changes with the text, and with what else the document shows: the
// place and title, the labels and the comments, of which Confluence's own number
// tells nothing.
func versionOf(p *page) string {
	sum := sha256.New()
	for _, part := range slices.Concat([]string{pathOf(p), p.title}, p.labels, []string{""}, p.marks) {
		sum.Write([]byte(part + "\x00"))
	}
	return strconv.Itoa(p.number) + "-" + hex.EncodeToString(sum.Sum(nil)[:6])
}

func pageItem(p *page) connectors.Item {
	return connectors.Item{
		ID: prefixOf(p.kind) + p.id, Path: pathOf(p), Version: versionOf(p), Title: p.title, URL: p.url, MediaType: "text/html", Author: p.author,
		Size: -1, CreatedAt: p.created, ModifiedAt: p.modified, Metadata: metadataOf(p),
	}
}

func fileItem(of *page, f file) connectors.Item {
	size := f.size
	if size < 0 {
		size = -1
	}
	return connectors.Item{
		ID: prefixFile + f.id, Path: filePath(of, f), Version: strconv.Itoa(f.number), Title: f.title, URL: firstOf(f.url, of.url), MediaType: f.media,
		Author: f.author, Size: size, CreatedAt: f.created, ModifiedAt: f.modified, Metadata: metadataOf(of),
	}
}

func metadataOf(p *page) map[string]string {
	facts := map[string]string{metaPage: p.id, metaSpace: p.space}
	if len(p.labels) > 0 {
		facts[metaLabels] = strings.Join(p.labels, ", ")
	}
	return facts
}
