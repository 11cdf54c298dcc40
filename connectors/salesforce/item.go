package salesforce

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// An item's id is the object and the record's id, for a Knowledge article the article's
// id and the language, and for a file also the id of its document:
//
//	Case/500…
//	Knowledge__kav/kA0….de
//	Case/500…/069…
type itemID struct{ object, record, language, file string }

func (i itemID) String() string {
	text := i.object + "/" + i.record
	if i.language != "" {
		text += "." + i.language
	}
	if i.file != "" {
		text += "/" + i.file
	}
	return text
}

// parseID parses an item's id. It reports false for another text.
func parseID(text string) (itemID, bool) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 || checkName(parts[0]) != nil {
		return itemID{}, false
	}
	id := itemID{object: parts[0]}
	id.record, id.language, _ = strings.Cut(parts[1], ".")
	if len(parts) == 3 {
		if id.file = parts[2]; !isID(id.file) {
			return itemID{}, false
		}
	}
	if !isID(id.record) || (id.language != "" && checkLanguage(id.language) != nil) || id.language != "" != strings.HasSuffix(id.object, "__kav") {
		return itemID{}, false
	}
	return id, true
}

// key returns the condition that selects the record of an id.
func (i itemID) condition() string {
	if i.language != "" {
		return "KnowledgeArticleId = " + quoted(i.record) + " AND Language = " + quoted(i.language)
	}
	return "Id = " + quoted(i.record)
}

// A record is a row with what belongs to it.
type record struct {
	object   *object
	row      row
	children []child
	files    []file
}

func (r *record) rowID() string { return r.row.text("Id") }

func (r *record) id() itemID {
	if r.object.isKnowledge() {
		return itemID{object: r.object.Name, record: r.row.text("KnowledgeArticleId"), language: r.row.text("Language")}
	}
	return itemID{object: r.object.Name, record: r.rowID()}
}

func (r *record) title() string {
	name := strings.TrimSpace(r.row.text(r.object.name))
	if subject := strings.TrimSpace(r.row.text("Subject")); subject != "" && subject != name {
		name = strings.TrimSpace(name + ": " + subject)
	}
	if name == "" {
		name = r.object.Label + " " + r.rowID()
	}
	return name
}

const maxPathName = 200 // bytes of a name in a path

// path returns the place of a record: the object, for Knowledge the language, and the
// name with the id, since names repeat.
func (r *record) path() string {
	id := r.id()
	name := strings.TrimSpace(connectors.PathSegment(r.title()))
	if len(name) > maxPathName {
		name = strings.TrimSpace(strings.ToValidUTF8(name[:maxPathName], ""))
	}
	name += " (" + id.record + ")"
	if id.language != "" {
		return id.object + "/" + id.language + "/" + name
	}
	return id.object + "/" + name
}

// version changes with each edit of the record and its children, and with the fields
// that documents have.
func (r *record) version() string {
	text := strconv.FormatInt(r.row.time("SystemModstamp").UnixMilli(), 36) + "-" + r.object.hash()
	if len(r.children) == 0 {
		return text
	}
	var b strings.Builder
	for _, c := range r.children {
		b.WriteString(c.id + " " + strconv.FormatInt(c.changed.UnixMilli(), 36) + "\n")
	}
	sum := sha256.Sum256([]byte(b.String()))
	return text + "-" + hex.EncodeToString(sum[:6])
}

func (r *record) item(base string) connectors.Item {
	item := connectors.Item{
		ID: r.id().String(), Path: r.path(), Version: r.version(), Title: r.title(), URL: base + "/" + r.rowID(), MediaType: "text/markdown",
		Author: r.row.text("CreatedBy.Name"), Container: r.object.Name, Size: -1,
		CreatedAt: r.row.time("CreatedDate"), ModifiedAt: r.row.time("SystemModstamp"), Metadata: map[string]string{"object": r.object.Name},
	}
	for name, value := range map[string]string{"owner": r.row.text("Owner.Name"), "status": r.row.text("Status"), "language": r.row.text("Language")} {
		if value != "" {
			item.Metadata[name] = value
		}
	}
	return item
}

// A file is a file that is linked to a record.
type file struct {
	document, version, title, extension, fileType string
	size                                          int64
	internal                                      bool // users outside may not see it
	row                                           row  // of the link
}

// fileItems returns the items of a record's files, in the order of their ids.
func (r *record) fileItems(base string) []connectors.Item {
	var items []connectors.Item
	names := map[string]bool{}
	folder := r.path()
	for _, f := range r.files {
		name := strings.TrimSpace(connectors.PathSegment(strings.ToValidUTF8(f.title, "?")))
		extension := ""
		if regexp.MustCompile(`^[A-Za-z0-9]{1,10}$`).MatchString(f.extension) {
			extension = "." + f.extension
			if strings.EqualFold(path.Ext(name), extension) {
				name = name[:len(name)-len(extension)]
			}
		}
		if name == "" || names[name+extension] || len(name) > 3*maxPathName {
			if len(name) > maxPathName {
				name = strings.ToValidUTF8(name[:maxPathName], "")
			}
			name = strings.TrimSpace(name + " (" + f.document + ")")
		}
		names[name+extension] = true
		id := r.id()
		id.file = f.document
		items = append(items, connectors.Item{
			ID: id.String(), Path: folder + "/" + name + extension, Version: f.version, Title: f.title, URL: base + "/" + f.document,
			Author: f.row.text("ContentDocument.Owner.Name"), Container: r.object.Name, Size: f.size,
			CreatedAt: f.row.time("ContentDocument.CreatedDate"), ModifiedAt: f.row.time("ContentDocument.ContentModifiedDate"),
			Metadata: map[string]string{"object": r.object.Name, "record": r.title()},
		})
	}
	return items
}

// fileFields are the fields of a link to a file.
func fileFields() []string {
	fields := []string{"Id", "LinkedEntityId", "ContentDocumentId", "Visibility"}
	for _, name := range []string{"Title", "FileExtension", "FileType", "ContentSize", "LatestPublishedVersionId", "CreatedDate", "ContentModifiedDate", "Owner.Name"} {
		fields = append(fields, "ContentDocument."+name)
	}
	return fields
}

func newFile(link row) (file, error) {
	f := file{
		document: link.text("ContentDocumentId"), version: link.text("ContentDocument.LatestPublishedVersionId"), title: link.text("ContentDocument.Title"),
		extension: link.text("ContentDocument.FileExtension"), fileType: link.text("ContentDocument.FileType"), size: link.number("ContentDocument.ContentSize"),
		internal: link.text("Visibility") != "AllUsers", row: link,
	}
	if !isID(f.document) || !isID(f.version) {
		return file{}, errInvalid("a file")
	}
	return f, nil
}

// complete reads the children and files of records.
func (s *source) complete(ctx context.Context, o *object, rows []row) ([]record, error) {
	records := make([]record, len(rows))
	byID := make(map[string]*record, len(rows))
	ids := make([]string, 0, len(rows))
	for i, r := range rows {
		records[i] = record{object: o, row: r}
		if o.isKnowledge() && (!isID(records[i].id().record) || checkLanguage(records[i].id().language) != nil) {
			return nil, errInvalid("an article of " + o.Name)
		}
		if r.time("SystemModstamp").IsZero() {
			return nil, errInvalid("a record of " + o.Name)
		}
		byID[r.text("Id")] = &records[i]
		ids = append(ids, r.text("Id"))
	}
	kinds := s.childKinds(o)
	var tables []table
	for part := range slices.Chunk(ids, idsPerQuery) {
		for _, kind := range kinds {
			tables = append(tables, s.childTable(kind, part, byID))
		}
		if s.settings.Boolean(optionFiles) && !o.isKnowledge() {
			tables = append(tables, table{
				query: selection{fields: fileFields(), object: "ContentDocumentLink", where: []string{in("LinkedEntityId", part)}},
				visit: func(link row) error {
					f, err := newFile(link)
					owner := byID[link.text("LinkedEntityId")]
					if err != nil || owner == nil {
						return fmt.Errorf("%w", errInvalid("a link to a file"))
					}
					owner.files = append(owner.files, f)
					return nil
				},
			})
		}
	}
	if err := s.api.tables(ctx, tables); err != nil {
		return nil, fmt.Errorf("read what belongs to records of %s: %w", o.Name, err)
	}
	for i := range records {
		r := &records[i]
		slices.SortFunc(r.children, func(a, b child) int {
			if order := a.created.Compare(b.created); order != 0 {
				return order
			}
			return compareIDs(a.id, b.id)
		})
		slices.SortFunc(r.files, func(a, b file) int { return compareIDs(a.document, b.document) })
	}
	s.rememberFacts(records)
	return records, nil
}
