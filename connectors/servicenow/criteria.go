package servicenow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// A rule decides who may read an article: the criteria of its knowledge base and its
// own. Who meets all of Can and none of Cannot may read it.
type rule struct {
	// BaseCan and ArticleCan are lists of criteria one of which a reader meets. An empty
	// ArticleCan is for everybody; an empty BaseCan as Open says.
	BaseCan    []string `json:"b,omitempty"`
	ArticleCan []string `json:"a,omitempty"`
	// Cannot are criteria none of which a reader meets.
	Cannot []string `json:"c,omitempty"`
	// Roles are roles one of which a reader has, if there are any.
	Roles []string `json:"r,omitempty"`
	// Open says that a knowledge base without criteria is for everybody, which means all
	// active users.
	Open bool `json:"o,omitempty"`
}

func (r rule) group() string {
	text, _ := json.Marshal(r) // of strings
	sum := sha256.Sum256(text)
	return "group:knowledge:" + hex.EncodeToString(sum[:12])
}

// A criterion is a user criteria record.
type criterion struct {
	active, matchAll, advanced, always bool
	// fields has the ids of which a person needs one, by field: user, group, role, company,
	// department or location.
	fields map[string][]string
}

// A person is a user with what criteria ask for.
type person struct {
	address string
	has     map[string]map[string]bool // ids by field
}

// meets reports whether a person meets a criterion, with some of the person's groups.
// certain is false if that cannot be told, as for a criterion with a script or without
// any field.
func (c *criterion) meets(p *person, groups string) (meets, certain bool) {
	switch {
	case c == nil:
		return false, false
	case !c.active:
		return false, true
	case c.always:
		return true, true
	case c.advanced, len(c.fields) == 0: // ServiceNow lets everybody meet an empty one
		return false, false
	}
	met := 0
	for field, ids := range c.fields {
		if field == "group" {
			field = groups
		}
		if slices.ContainsFunc(ids, func(id string) bool { return p.has[field][id] }) {
			met++
		}
	}
	if c.matchAll {
		return met == len(c.fields), true
	}
	return met > 0, true
}

// criteria are all criteria of an instance with those of its knowledge bases.
type criteria struct {
	byID             map[string]*criterion
	baseCan, baseNot map[string][]string // by knowledge base
	open             bool
}

// The groups of a person: those that the person is a member of, and those with the groups
// above them.
const (
	ownGroups = "group"
	allGroups = "group and above"
)

// allows reports whether a person may read what a rule protects. What cannot be told
// is refused.
func (k *criteria) allows(r rule, p *person) bool {
	for _, id := range r.Cannot {
		// Who is a member by another group, or at a place within a location, is refused too:
		// places are not known, so that nobody is certain to be elsewhere.
		c := k.byID[id]
		if meets, certain := c.meets(p, allGroups); meets || !certain || c.active && len(c.fields["location"]) > 0 {
			return false
		}
	}
	one := func(ids []string) bool {
		return slices.ContainsFunc(ids, func(id string) bool {
			meets, certain := k.byID[id].meets(p, ownGroups)
			return meets && certain
		})
	}
	switch {
	case len(r.BaseCan) == 0 && !r.Open, len(r.BaseCan) > 0 && !one(r.BaseCan), len(r.ArticleCan) > 0 && !one(r.ArticleCan):
		return false
	}
	return len(r.Roles) == 0 || slices.ContainsFunc(r.Roles, func(name string) bool { return p.has["role name"][name] })
}

// list splits the value of a list field.
func list(text string) []string {
	return slices.DeleteFunc(strings.Split(strings.ReplaceAll(text, " ", ""), ","), func(id string) bool { return id == "" })
}

var always = regexp.MustCompile(`^\s*answer\s*=\s*true\s*;?\s*$`)

// criterionFields are the fields of a criterion with the ids that a person needs.
func criterionFields() []string {
	return []string{"user", "group", "role", "company", "department", "location"}
}

// readCriteria returns the criteria of the instance.
func (s *source) readCriteria(ctx context.Context) (*criteria, error) {
	s.mutex.Lock()
	known := s.criteria
	s.mutex.Unlock()
	if known != nil {
		return known, nil
	}
	k := &criteria{byID: map[string]*criterion{}, baseCan: map[string][]string{}, baseNot: map[string][]string{}}
	err := s.api.all(ctx, "user_criteria", "", append(criterionFields(), "active", "match_all", "advanced", "script"), func(r row) error {
		c := &criterion{active: r["active"].Value == "true", matchAll: r["match_all"].Value == "true", advanced: r["advanced"].Value == "true", fields: map[string][]string{}}
		c.always = c.advanced && always.MatchString(r["script"].Value)
		for _, field := range criterionFields() {
			if ids := list(r[field].Value); len(ids) > 0 {
				c.fields[field] = ids
			}
		}
		k.byID[r.id()] = c
		return nil
	})
	if err != nil {
		return nil, tableError(err, "user_criteria")
	}
	for name, bases := range map[string]map[string][]string{"kb_uc_can_read_mtom": k.baseCan, "kb_uc_cannot_read_mtom": k.baseNot} {
		err := s.api.all(ctx, name, "", []string{"kb_knowledge_base", "user_criteria"}, func(r row) error {
			base := r["kb_knowledge_base"].Value
			bases[base] = append(bases[base], r["user_criteria"].Value)
			return nil
		})
		if err != nil {
			return nil, tableError(err, name)
		}
	}
	// Without the right to read the property, a knowledge base without criteria is closed.
	err = s.api.all(ctx, "sys_properties", "name=glide.knowman.block_access_with_no_user_criteria", []string{"name", "value"}, func(r row) error {
		k.open = r["value"].Value == "false"
		return nil
	})
	if err != nil && !isRefused(err) {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.criteria = k
	return k, nil
}

// checkCriteria checks the rights that an import of permissions needs.
func (s *source) checkCriteria(ctx context.Context) error {
	for _, name := range []string{"user_criteria", "kb_uc_can_read_mtom", "kb_uc_cannot_read_mtom", "sys_user", "sys_user_group", "sys_user_grmember", "sys_user_has_role"} {
		if _, err := s.api.list(ctx, tablePath(name), "", []string{"sys_id", "sys_updated_on"}, place{}, 1); err != nil {
			return fmt.Errorf("read the readers of articles: %w", tableError(err, name))
		}
	}
	return nil
}

const rulePrefix = "rule/"

// Readers implements [connectors.PermissionLister]: those of knowledge articles and of
// their files. ServiceNow does not tell who may read other rows: nobody may.
func (s *source) Readers(ctx context.Context, items []connectors.Item) (map[string]connectors.Readers, error) {
	readers := map[string]connectors.Readers{}
	articles := map[string][]string{} // items by article
	for _, item := range items {
		name, id, _ := strings.Cut(item.ID, ":")
		switch {
		case !isID(id) || item.Container != tableKnowledge && item.Container != "":
			s.noteHidden(item)
			readers[item.ID] = connectors.Readers{}
		case name == tableKnowledge:
			articles[id] = append(articles[id], item.ID)
		case name == fileTable:
			f, of, t, err := s.file(ctx, id)
			if isAbsent(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if t.name == tableKnowledge && f != nil {
				articles[of.id()] = append(articles[of.id()], item.ID)
			}
		}
	}
	ids := make([]string, 0, len(articles))
	for id := range articles {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for part := range slices.Chunk(ids, rowsPerFileList) {
		if err := s.readRules(ctx, part, articles, readers); err != nil {
			return nil, err
		}
	}
	return readers, nil
}

// noteHidden warns that rows of a table have no readers.
func (s *source) noteHidden(item connectors.Item) {
	if item.Container != "" {
		s.addWarning(fmt.Sprintf("ServiceNow does not tell who may read rows of %s: nobody finds them while permissions are imported.", item.Container))
	}
}

// readRules adds the readers of articles.
func (s *source) readRules(ctx context.Context, ids []string, articles map[string][]string, readers map[string]connectors.Readers) error {
	k, err := s.readCriteria(ctx)
	if err != nil {
		return err
	}
	fields := []string{"kb_knowledge_base", "can_read_user_criteria", "cannot_read_user_criteria", "roles"}
	return s.api.all(ctx, tableKnowledge, "sys_idIN"+strings.Join(ids, ","), fields, func(r row) error {
		base := r["kb_knowledge_base"].Value
		made := rule{
			BaseCan: sorted(k.baseCan[base]), ArticleCan: sorted(list(r["can_read_user_criteria"].Value)), Open: k.open && base != "",
			Cannot: sorted(append(slices.Clone(k.baseNot[base]), list(r["cannot_read_user_criteria"].Value)...)), Roles: sorted(list(r["roles"].Value)),
		}
		if err := connectors.PutJSON(ctx, s.settings.State, rulePrefix+strings.TrimPrefix(made.group(), "group:"), made); err != nil {
			return err
		}
		for _, item := range articles[r.id()] {
			readers[item] = connectors.Readers{Principals: []string{made.group()}}
		}
		return nil
	})
}

func sorted(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}
