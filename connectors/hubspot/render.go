package hubspot

import (
	"context"
	"html"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	nethtml "golang.org/x/net/html"

	"github.com/magpie-search/magpie/connectors"
)

// maxTitle is the length of a title in characters.
const maxTitle = 120

// titleOf returns the title of a record: the first title properties that have values,
// else the start of its text, else its object and id.
func (o *object) titleOf(r *record) string {
	for _, names := range o.titles {
		var parts []string
		for _, name := range names {
			if text := string(r.Properties[name]); text != "" {
				parts = append(parts, text)
			}
		}
		if len(parts) > 0 {
			return shortened(strings.Join(parts, " "))
		}
	}
	if len(o.titles) == 0 {
		for _, name := range o.bodies {
			if text := plainText(string(r.Properties[name])); text != "" {
				return shortened(text)
			}
		}
	}
	return o.single + " " + string(r.ID)
}

// shortened returns the start of a text on one line.
func shortened(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if utf8.RuneCountInString(text) <= maxTitle {
		return text
	}
	cut := string([]rune(text)[:maxTitle])
	if at := strings.LastIndex(cut, " "); at > maxTitle/2 {
		cut = cut[:at]
	}
	return cut + "…"
}

// plainText returns the beginning of the text of a piece of HTML.
func plainText(text string) string {
	const enough = 4 * maxTitle
	var b strings.Builder
	tokens := nethtml.NewTokenizer(strings.NewReader(text))
	for b.Len() < enough {
		switch tokens.Next() {
		case nethtml.ErrorToken:
			return strings.TrimSpace(b.String())
		case nethtml.TextToken:
			b.Write(tokens.Text())
		case nethtml.StartTagToken, nethtml.EndTagToken, nethtml.SelfClosingTagToken:
			b.WriteByte(' ')
		}
	}
	return html.UnescapeString(strings.TrimSpace(b.String()))
}

// item returns the item of a record with its document.
func (s *source) item(ctx context.Context, o *object, r *record) (connectors.Item, error) {
	content, owner, err := s.render(ctx, o, r)
	if err != nil {
		return connectors.Item{}, err
	}
	address, err := s.address(ctx, o, r)
	if err != nil {
		return connectors.Item{}, err
	}
	title := o.titleOf(r)
	item := connectors.Item{
		ID: itemID(o, string(r.ID)), Path: connectors.PathSegment(o.title) + "/" + connectors.PathSegment(title) + "-" + string(r.ID), Version: s.version(o, r), Title: title,
		URL: address, MediaType: "text/html", Author: owner, Container: o.name, Size: -1, CreatedAt: r.CreatedAt.UTC(), ModifiedAt: r.UpdatedAt.UTC(),
		Metadata: map[string]string{"object": o.title}, Content: content,
	}
	if owner != "" {
		item.Metadata["owner"] = owner
	}
	for _, to := range o.associated {
		if names := s.namesOf(r, to); len(names) > 0 {
			item.Metadata[to] = strings.Join(names, ", ")
		}
	}
	return item, nil
}

func (s *source) version(o *object, r *record) string {
	return strconv.FormatInt(r.UpdatedAt.UnixMilli(), 10) + o.variant(s.associations)
}

// address returns the address of a record for people.
func (s *source) address(ctx context.Context, o *object, r *record) (string, error) {
	owned, err := s.account(ctx)
	if err != nil || owned.PortalID == "" {
		return "", err
	}
	return "https://" + owned.UIDomain + "/contacts/" + string(owned.PortalID) + "/record/" + o.typeID + "/" + string(r.ID), nil
}

// render returns the document of a record in HTML, and the name of its owner.
func (s *source) render(ctx context.Context, o *object, r *record) (content []byte, owner string, err error) {
	labels, err := s.labels(ctx, o)
	if err != nil {
		return nil, "", err
	}
	if id := string(r.Properties[propertyOwner]); id != "" {
		if owner, err = s.ownerName(ctx, id); err != nil {
			return nil, "", err
		}
	}
	var b strings.Builder
	b.WriteString("<h1>" + html.EscapeString(o.titleOf(r)) + "</h1>\n<ul>\n")
	line := func(label, text string) {
		if text != "" {
			b.WriteString("<li>" + html.EscapeString(label) + ": " + html.EscapeString(text) + "</li>\n")
		}
	}
	var long []string
	for _, name := range slices.Concat(o.shown, o.more) {
		switch p, text := labels[name], string(r.Properties[name]); {
		case slices.Contains(o.bodies, name) || slices.Contains(o.titleProperties(), name) && name != "email":
		case name == propertyOwner:
			line("Owner", owner)
		case p.FieldType == "html" || p.FieldType == "textarea":
			long = append(long, name)
		default:
			line(labelOf(p, name), p.shown(text))
		}
	}
	for _, to := range o.associated {
		other, _ := standardObject(to)
		line(other.title, strings.Join(s.namesOf(r, to), ", "))
	}
	b.WriteString("</ul>\n")
	for _, name := range o.texts(r, long) {
		text := string(r.Properties[name])
		if len(o.bodies) > 1 || len(long) > 0 {
			b.WriteString("<h2>" + html.EscapeString(labelOf(labels[name], name)) + "</h2>\n")
		}
		if !isHTML(labels[name], name) {
			text = strings.ReplaceAll(html.EscapeString(text), "\n", "<br>\n")
		}
		b.WriteString("<div>" + text + "</div>\n")
	}
	return []byte(b.String()), owner, nil
}

// texts returns the properties with longer texts of a record. A mail has its text in
// two forms, one of which is taken.
func (o *object) texts(r *record, more []string) []string {
	var names []string
	for _, name := range slices.Concat(o.bodies, more) {
		if r.Properties[name] == "" || name == "hs_email_text" && r.Properties["hs_email_html"] != "" {
			continue
		}
		names = append(names, name)
	}
	return names
}

// isHTML reports whether a longer text is HTML. HubSpot's own texts of activities are,
// whatever the description of the property says.
func isHTML(p property, name string) bool {
	switch name {
	case "hs_note_body", "hs_email_html", "hs_call_body", "hs_call_summary", "hs_meeting_body", "hs_internal_meeting_notes", "hs_task_body":
		return true
	}
	return p.FieldType == "html"
}

func labelOf(p property, name string) string {
	if p.Label != "" {
		return p.Label
	}
	return name
}

// shown returns a value as people see it.
func (p property) shown(text string) string {
	if text == "" {
		return ""
	}
	if p.Type == "datetime" || p.Type == "date" {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			if p.Type == "date" {
				return at.UTC().Format(time.DateOnly)
			}
			return at.UTC().Format("2006-01-02 15:04 MST")
		}
	}
	if len(p.Options) == 0 {
		return text
	}
	values := strings.Split(text, ";")
	for i, v := range values {
		for _, option := range p.Options {
			if option.Value == v && option.Label != "" {
				values[i] = option.Label
			}
		}
	}
	return strings.Join(values, ", ")
}
