package salesforce

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// A field is a field of an object, as describe tells it.
type field struct {
	Name, Label, Type, RelationshipName string
	ReferenceTo                         []string
	NameField, Permissionable           bool
	CascadeDelete                       bool
	RelationshipOrder                   *int
	HTMLFormatted                       bool
	ExtraTypeInfo                       string
	PicklistValues                      []struct {
		Value  string
		Active bool
	}
}

// isText reports whether a field holds a text.
func (f *field) isText() bool {
	switch f.Type {
	case "string", "textarea", "picklist", "multipicklist", "email", "phone", "url", "combobox":
		return true
	}
	return false
}

// isHTML reports whether the text of a field is HTML.
func (f *field) isHTML() bool {
	return f.Type == "textarea" && (f.HTMLFormatted || strings.EqualFold(f.ExtraTypeInfo, "richtextarea"))
}

// An object is an object whose records are read.
type object struct {
	Name, Label string
	Queryable   bool
	Custom      bool
	Replicates  bool `json:"replicateable"`
	Fields      []field

	shown   []field         // in documents
	dropped map[string]bool // fields that not everybody sees
	share   *shareTable     // nil without rows of shares
	byName  map[string]*field
	name    string // the name field
	filters []string

	children []childKind // in documents
	lost     []string    // fields of children that not everybody sees
}

func (o *object) has(name string) bool { return o.byName[name] != nil }

func (o *object) isKnowledge() bool { return strings.HasSuffix(o.Name, "__kav") }

// isCustom reports whether the organization made the object.
func (o *object) isCustom() bool { return strings.HasSuffix(o.Name, "__c") }

// parents returns the fields of master-detail relationships, in their order.
func (o *object) parents() []*field {
	var found []*field
	for i := range o.Fields {
		if f := &o.Fields[i]; f.Type == "reference" && f.RelationshipOrder != nil && len(f.ReferenceTo) == 1 {
			found = append(found, f)
		}
	}
	return found
}

// hiddenFields are fields with texts that say nothing to people.
func hiddenFields() []string {
	return []string{"PhotoUrl", "JigsawCompanyId", "Jigsaw", "CleanStatus", "CurrencyIsoCode", "GeocodeAccuracy", "UrlName", "VersionNumber", "PublishStatus", "Language"}
}

func isHidden(f *field) bool {
	return slices.Contains(hiddenFields(), f.Name) || strings.HasSuffix(f.Name, "GeocodeAccuracy")
}

// parseObject decodes the description of an object.
func parseObject(body []byte, name string) (*object, error) {
	o := &object{}
	if json.Unmarshal(body, o) != nil || o.Name != name || len(o.Fields) == 0 {
		return nil, errInvalid("the description of " + name)
	}
	o.byName = make(map[string]*field, len(o.Fields))
	for i := range o.Fields {
		f := &o.Fields[i]
		if f.Name == "" || f.Type == "" {
			return nil, errInvalid("a field of " + name)
		}
		o.byName[f.Name] = f
		if f.NameField {
			o.name = f.Name
		}
	}
	if !o.has("Id") || !o.has("SystemModstamp") {
		return nil, connectors.Fatal(fmt.Errorf("config.%s: the object %s has no SystemModstamp, so that its changes cannot be read; take it out", optionObjects, name))
	}
	return o, nil
}

// choose sets the fields of documents: those that the settings name, or the texts.
func (o *object) choose(named []string) error {
	o.shown = nil
	if named != nil {
		for _, name := range named {
			f := o.byName[name]
			if f == nil {
				return connectors.Fatal(fmt.Errorf("config.%s: %s does not have the field %q, or does not show it to the account", optionFields, o.Name, name))
			}
			o.shown = append(o.shown, *f)
		}
		return nil
	}
	for i := range o.Fields {
		if f := &o.Fields[i]; f.isText() && !isHidden(f) {
			o.shown = append(o.shown, *f)
		}
	}
	return nil
}

// hash identifies what documents have of an object.
func (o *object) hash() string {
	var b strings.Builder
	for _, f := range o.shown {
		b.WriteString(f.Name + "\n" + f.Label + "\n")
	}
	b.WriteString(strings.Join(append(slices.Clone(o.filters), o.lost...), "\n"))
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:4])
}

// fieldKey returns the field that a field of a query depends on: for one of a related
// record, the reference.
func fieldKey(name string) string {
	if base, _, nested := strings.Cut(name, "."); nested {
		return base + "Id"
	}
	return name
}

// selected returns the query for the records of the object.
func (o *object) selected() selection {
	fields := []string{"Id", "SystemModstamp"}
	add := func(names ...string) { // those that the object has and everybody sees
		for _, name := range names {
			_, related, _ := strings.Cut(name, ".")
			if o.has(fieldKey(name)) && related != "Id" && !o.dropped[name] && !slices.Contains(fields, name) {
				fields = append(fields, name)
			}
		}
	}
	add(o.name, "CreatedDate", "LastModifiedDate", "OwnerId", "CreatedBy.Name", "AccountId", "Subject", "Status")
	if o.has("OwnerId") {
		fields = append(fields, "Owner.Name")
	}
	if o.isKnowledge() {
		add("KnowledgeArticleId", "Language", "LastPublishedDate")
	}
	for _, f := range o.parents() {
		add(f.Name)
	}
	for _, f := range o.shown {
		add(f.Name)
	}
	return selection{fields: fields, object: o.Name, where: o.filters}
}

func describeCall(name string) call {
	return call{path: "sobjects/" + url.PathEscape(name) + "/describe"}
}

// describe reads the descriptions of objects. Those that the organization does not
// have are nil.
func (a *api) describe(ctx context.Context, names []string) ([]*object, error) {
	calls := make([]call, len(names))
	for i, name := range names {
		calls[i] = describeCall(name)
	}
	objects := make([]*object, 0, len(names))
	const perBatch = 8 // descriptions are large
	for start := 0; start < len(calls); start += perBatch {
		part := calls[start:min(start+perBatch, len(calls))]
		bodies, err := a.batch(ctx, part, func(_ int, err error) bool { return isAbsent(err) })
		if err != nil {
			return nil, err
		}
		for i, body := range bodies {
			var o *object
			if body != nil {
				if o, err = parseObject(body, names[start+i]); err != nil {
					return nil, err
				}
				if !o.Queryable {
					o = nil
				}
			}
			objects = append(objects, o)
		}
	}
	return objects, nil
}

// customObjects returns the names of all custom objects that the account sees.
func (a *api) customObjects(ctx context.Context) ([]string, error) {
	body, err := a.get(ctx, call{path: "sobjects"})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Sobjects []struct {
			Name                     string
			Queryable, CustomSetting bool
			DeprecatedAndHidden      bool
			AssociateParentEntity    string
		}
	}
	if json.Unmarshal(body, &answer) != nil || len(answer.Sobjects) == 0 {
		return nil, errInvalid("the list of objects")
	}
	var names []string
	for _, o := range answer.Sobjects {
		if strings.HasSuffix(o.Name, "__c") && o.Queryable && !o.CustomSetting && !o.DeprecatedAndHidden && o.AssociateParentEntity == "" {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
