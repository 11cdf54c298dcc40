package pdf

import (
	"context"
	"net/url"
	"strings"
)

const (
	// maxAnnotations is how many annotations of a page are read.
	maxAnnotations = 2000
	// maxTarget is the longest target of a link, in bytes.
	maxTarget = 2000
)

// A link is an area of a page with a target.
type link struct {
	target                   string
	left, bottom, right, top float64 // in page space
}

// A field is a form field with a value.
type field struct{ name, value string }

// A comment is a note on a page.
type comment struct{ author, text string }

// links reads the links of a page to the web.
func (f *file) links(ctx context.Context, handle uint64) []link {
	var links []link
	at := f.scratch
	if !f.module.Memory().WriteUint32Le(uint32(at), 0) { //nolint:gosec // an address has 32 bits
		return nil
	}
	position := uint64(0)
	for range maxAnnotations {
		if f.number(ctx, "FPDFLink_Enumerate", handle, at, at+4) == 0 {
			break
		}
		if next := f.word(0); next <= position {
			break
		} else {
			position = next
		}
		found := f.word(4)
		action := f.call(ctx, "FPDFLink_GetAction", found)
		const uri = 3
		if action != 0 && f.call(ctx, "FPDFAction_GetType", action) == uri {
			target := webTarget(f.narrow(ctx, "FPDFAction_GetURIPath", f.document, action))
			if target != "" && f.number(ctx, "FPDFLink_GetAnnotRect", found, at) != 0 {
				box := make([]float64, 4)
				f.floats(box)
				links = append(links, link{target: target, left: box[0], top: box[1], right: box[2], bottom: box[3]})
			}
		}
		// The calls have overwritten the position.
		if !f.module.Memory().WriteUint32Le(uint32(at), uint32(position)) { //nolint:gosec // an address has 32 bits
			break
		}
	}
	return links
}

// linkAt returns index + 1 of the link at a point, 0 if there is none.
func linkAt(links []link, x, y float64) int {
	for i := range links {
		l := &links[i]
		if x >= l.left && x <= l.right && y >= min(l.bottom, l.top)-1 && y <= max(l.bottom, l.top)+1 {
			return i + 1
		}
	}
	return 0
}

// webTarget returns a web or mail address in the form that Markdown needs, "" for other targets.
func webTarget(target string) string {
	target = strings.TrimSpace(target)
	if target == "" || len(target) > maxTarget {
		return ""
	}
	if strings.HasPrefix(strings.ToLower(target), "www.") {
		target = "https://" + target
	}
	parsed, err := url.Parse(target)
	if err != nil {
		return ""
	}
	switch parsed.Scheme {
	case "http", "https":
		if parsed.Host == "" {
			return ""
		}
	case "mailto":
	default:
		return ""
	}
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "\n", "", "\t", "").Replace(target)
}

// annotations reads the form values and comments of a page.
func (f *file) annotations(ctx context.Context, handle uint64, p *page) {
	const text, freeText, markup, strikeOut, widget = 1, 3, 9, 12, 20
	count := min(f.number(ctx, "FPDFPage_GetAnnotCount", handle), maxAnnotations)
	for k := range max(count, 0) {
		annotation := f.call(ctx, "FPDFPage_GetAnnot", handle, uint64(k))
		if annotation == 0 {
			continue
		}
		value := func(key string) string {
			return strings.TrimSpace(f.wide(ctx, "FPDFAnnot_GetStringValue", annotation, f.name(ctx, key)))
		}
		const hidden, noView = 2, 32
		kind := f.number(ctx, "FPDFAnnot_GetSubtype", annotation)
		switch seen := f.number(ctx, "FPDFAnnot_GetFlags", annotation)&(hidden|noView) == 0; {
		case !seen:
		case kind == widget:
			if content := value("V"); content != "" && content != "Off" {
				name := value("TU")
				if name == "" {
					name = value("T")
				}
				p.fields = append(p.fields, field{name: strings.Join(strings.Fields(name), " "), value: content})
			}
		case kind == text || kind == freeText || kind >= markup && kind <= strikeOut:
			if content := value("Contents"); content != "" {
				p.comments = append(p.comments, comment{author: strings.Join(strings.Fields(value("T")), " "), text: content})
			}
		}
		f.call(ctx, "FPDFPage_CloseAnnot", annotation)
	}
}
