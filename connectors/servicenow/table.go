package servicenow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	tableKnowledge = "kb_knowledge"
	// fileTable begins the ids of files.
	fileTable = "file"
)

// A table is a table whose rows become documents.
type table struct {
	name string
	// shown are the fields that a document lists, texts those with plain text, and html
	// those with HTML. more are those that the settings add.
	shown, texts, html, more []string
	// query selects the rows, "" for all.
	query string
}

// tables returns the tables of the settings.
func (s *source) readTables() []table {
	names := s.settings.Strings(optionTables)
	if len(names) == 0 {
		names = defaultTables()
	}
	var tables []table
	for _, name := range names {
		if slices.ContainsFunc(tables, func(t table) bool { return t.name == name }) {
			continue
		}
		t := table{name: name, shown: []string{"state", "category", "assigned_to", "assignment_group"}, texts: []string{"description"}}
		switch name {
		case tableKnowledge:
			t.shown, t.texts, t.html = []string{"kb_knowledge_base", "kb_category", "author", "valid_to"}, []string{"meta_description"}, []string{"text", "wiki"}
			t.query = join("workflow_state=published^valid_to>=javascript:gs.now()", s.basesQuery())
		case "incident":
			t.shown, t.texts = []string{"state", "priority", "category", "caller_id", "assigned_to", "assignment_group", "opened_at", "resolved_at"}, []string{"description", "close_notes"}
		case "sc_cat_item":
			t.shown, t.texts, t.html, t.query = []string{"category", "price"}, nil, []string{"description"}, "active=true"
		}
		for _, text := range s.settings.Strings(optionQuery) {
			if of, query, err := parseQuery(text); err == nil && of == name {
				t.query = join(t.query, query)
			}
		}
		for _, text := range s.settings.Strings(optionFields) {
			if of, field, err := parseField(text); err == nil && of == name {
				t.more = append(t.more, field)
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// basesQuery selects the knowledge bases of the settings.
func (s *source) basesQuery() string {
	var ids, titles []string
	for _, base := range s.settings.Strings(optionBases) {
		if isID(base) {
			ids = append(ids, base)
		} else {
			titles = append(titles, base)
		}
	}
	switch byID, byTitle := "kb_knowledge_baseIN"+strings.Join(ids, ","), "kb_knowledge_base.titleIN"+strings.Join(titles, ","); {
	case len(ids) > 0 && len(titles) > 0:
		return byID + "^OR" + byTitle
	case len(ids) > 0:
		return byID
	case len(titles) > 0:
		return byTitle
	}
	return ""
}

// join joins encoded queries.
func join(queries ...string) string {
	return strings.Join(slices.DeleteFunc(queries, func(q string) bool { return q == "" }), "^")
}

// fields returns the fields that are requested.
func (t *table) fields() []string {
	all := slices.Concat([]string{"sys_id", "number", "name", "short_description", "sys_created_on", "sys_updated_on", "sys_mod_count", "sys_created_by"}, t.shown, t.texts, t.html, t.more)
	if t.name == tableKnowledge {
		all = append(all, "can_read_user_criteria", "cannot_read_user_criteria", "roles")
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// variant tells apart versions of a row whose documents have other fields.
func (t *table) variant() string {
	if len(t.more) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(t.more, " ")))
	return "-" + hex.EncodeToString(sum[:4])
}

var sysID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// isID reports whether a text is a sys_id.
func isID(text string) bool { return sysID.MatchString(text) }

// A cell is a field of a row: its value, and what people see.
type cell struct{ Value, Display string }

// UnmarshalJSON implements [json.Unmarshaler].
func (c *cell) UnmarshalJSON(text []byte) error {
	var both struct {
		Value   *string
		Display *string `json:"display_value"`
	}
	var plain string
	switch {
	case json.Unmarshal(text, &plain) == nil:
		c.Value, c.Display = plain, plain
	case json.Unmarshal(text, &both) == nil:
		if both.Value != nil {
			c.Value, c.Display = *both.Value, *both.Value
		}
		if both.Display != nil {
			c.Display = *both.Display
		}
	}
	return nil
}

// A row is a row of a table by the names of its fields.
type row map[string]cell

func (r row) id() string { return r["sys_id"].Value }

// timeOf returns a time, which is stored in UTC.
func (r row) timeOf(field string) time.Time {
	at, err := time.Parse(time.DateTime, r[field].Value)
	if err != nil {
		return time.Time{}
	}
	return at
}

func (r row) isValid() bool { return isID(r.id()) && !r.timeOf("sys_updated_on").IsZero() }
