package servicenow

import (
	"context"
	"fmt"
	"html"
	"slices"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/connectors"
)

// A source is an opened instance.
type source struct {
	api       *client
	settings  connectors.Settings
	tables    []table
	withFiles bool
	imports   bool

	mutex      sync.Mutex // guards the fields below
	criteria   *criteria  // nil until they are read
	warnings   []string
	warningSet map[string]bool
}

func open(dial connectors.Dial, s connectors.Settings) (*source, error) {
	api, err := newClient(dial, s)
	if err != nil {
		return nil, err
	}
	imports, _ := s.IncludesPermissions()
	src := &source{api: api, settings: s, withFiles: s.Boolean(optionAttachments), imports: imports, warningSet: map[string]bool{}}
	src.tables = src.readTables()
	return src, nil
}

// addWarning adds a warning to the next page, once.
func (s *source) addWarning(text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.warningSet[text] {
		s.warningSet[text] = true
		s.warnings = append(s.warnings, text)
	}
}

func (s *source) takeWarnings() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	warnings := s.warnings
	s.warnings = nil
	return warnings
}

// tableError says what to do if a table cannot be read.
func tableError(err error, name string) error {
	switch {
	case isRefused(err):
		return connectors.NeedsAuth(fmt.Errorf("the user may not read the table %s; give the user a role that may, or take it out of config.%s: %w", name, optionTables, err))
	case isAbsent(err):
		return connectors.NeedsAuth(fmt.Errorf("the instance refuses the table %s; correct config.%s and config.%s: %s", name, optionTables, optionQuery, err.Error()))
	}
	return err
}

// Check implements [connectors.Source].
func (s *source) Check(ctx context.Context) error {
	if err := s.checkRead(ctx); err != nil || !s.imports {
		return err
	}
	return s.checkCriteria(ctx)
}

func (s *source) checkRead(ctx context.Context) error {
	for _, t := range s.tables {
		if _, err := s.api.list(ctx, tablePath(t.name), t.query, t.fields(), place{}, 1); err != nil {
			return tableError(err, t.name)
		}
	}
	if s.withFiles {
		_, err := s.api.list(ctx, filePath, "table_name="+s.tables[0].name, nil, place{}, 1)
		return tableError(err, "sys_attachment")
	}
	return nil
}

// CheckTiers implements [connectors.TierChecker].
func (s *source) CheckTiers(ctx context.Context) ([]connectors.Tier, error) {
	tiers := []connectors.Tier{{Name: connectors.TierRead, Err: s.checkRead(ctx)}}
	if s.imports {
		tiers = append(tiers, connectors.Tier{Name: connectors.TierPermissions, Err: s.checkCriteria(ctx)})
	}
	return tiers, ctx.Err()
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.api.Close()
	return nil
}

// table returns the table with a name.
func (s *source) table(name string) (*table, bool) {
	i := slices.IndexFunc(s.tables, func(t table) bool { return t.name == name })
	if i < 0 {
		return nil, false
	}
	return &s.tables[i], true
}

// item returns the item of a row with its document.
func (s *source) item(t *table, r row) connectors.Item {
	title := r["short_description"].Value
	if title == "" || t.name == "sc_cat_item" && r["name"].Value != "" {
		title = r["name"].Value
	}
	if number := r["number"].Value; number != "" {
		title = strings.TrimSpace(number + " " + title)
	}
	if title == "" {
		title = r.id()
	}
	return connectors.Item{
		ID: t.name + ":" + r.id(), Path: rowPath(t, r), Version: r["sys_mod_count"].Value + "-" + r["sys_updated_on"].Value + t.variant(), Title: title,
		URL: strings.TrimRight(s.settings.String(optionURL), "/") + "/" + t.name + ".do?sys_id=" + r.id(), MediaType: "text/html", Author: r["author"].Display,
		Container: t.name, Size: -1, CreatedAt: r.timeOf("sys_created_on"), ModifiedAt: r.timeOf("sys_updated_on"), Metadata: s.metadata(t, r), Content: t.render(title, r),
	}
}

func (s *source) metadata(t *table, r row) map[string]string {
	facts := map[string]string{"table": t.name}
	for name, field := range map[string]string{"number": "number", "state": "state", "priority": "priority", "knowledgeBase": "kb_knowledge_base", "category": "kb_category"} {
		if text := r[field].Display; text != "" {
			facts[name] = text
		}
	}
	return facts
}

// rowPath has the number of a row, or its name and id.
func rowPath(t *table, r row) string {
	name := r["number"].Value
	if name == "" {
		name = r["name"].Value + "-" + r.id()
	}
	return t.name + "/" + connectors.PathSegment(name)
}

// render returns the document of a row in HTML.
func (t *table) render(title string, r row) []byte {
	var b strings.Builder
	b.WriteString("<h1>" + html.EscapeString(title) + "</h1>\n<ul>\n")
	for _, field := range slices.Concat(t.shown, t.more) {
		if text := r[field].Display; text != "" {
			b.WriteString("<li>" + html.EscapeString(strings.ReplaceAll(strings.TrimPrefix(field, "kb_"), "_", " ")) + ": " + html.EscapeString(text) + "</li>\n")
		}
	}
	b.WriteString("</ul>\n")
	for _, field := range t.texts {
		if text := r[field].Value; text != "" {
			b.WriteString("<div>" + strings.ReplaceAll(html.EscapeString(text), "\n", "<br>\n") + "</div>\n")
		}
	}
	for _, field := range t.html {
		if text := r[field].Value; text != "" {
			b.WriteString("<div>" + text + "</div>\n")
		}
	}
	return []byte(b.String())
}
