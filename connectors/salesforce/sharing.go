package salesforce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// The organization-wide defaults that matter.
const (
	private            = "Private"
	controlledByParent = "ControlledByParent"
)

// isPublic reports whether a default lets everybody read who may read the object.
func isPublic(model string) bool {
	switch model {
	case "Read", "ReadWrite", "ReadWriteTransfer", "FullAccess":
		return true
	}
	return false
}

// A user is an active user.
type user struct {
	email, role, manager string
	internal             bool
}

// A group is a group of users at Salesforce: a public group, a queue, the users of a
// role or territory, the managers of a user.
type group struct {
	kind, related string
	bosses        bool // the managers of members belong to it
}

// sharing has the rules that decide who may read records.
type sharing struct {
	models, external map[string]string // defaults by object
	restricted       map[string]bool   // objects with restriction rules
	users            map[string]*user
	roleParent       map[string]string
	portalRoles      map[string]bool
	byRole           map[string][]string // users
	groups           map[string]group
	members          map[string][]string // users and groups by group
	territoryParent  map[string]string
	byTerritory      map[string][]string // users
	sets             map[string][]string // permission sets by user
	readSets         map[string]map[string]bool
	viewSets         map[string]map[string]bool // of view-all, by object; "" for all data
	dormantSets      map[string]bool            // that need an activation in a session
	fieldSets        map[string]map[string]bool // by object and field
	hierarchy        map[string]bool            // custom objects with role hierarchy
	parents          map[string]*object         // that are no objects of the connector
	children         map[string]*object         // descriptions of the objects of children
}

// A shareTable is the object that has the rows of shares of an object.
type shareTable struct{ object, parent, level string }

// readRules reads the rules for objects, and applies them to the fields of documents.
func (s *source) readRules(ctx context.Context, objects []*object) (*sharing, error) {
	rules := &sharing{
		models: map[string]string{}, external: map[string]string{}, restricted: map[string]bool{}, users: map[string]*user{}, roleParent: map[string]string{}, portalRoles: map[string]bool{},
		byRole: map[string][]string{}, groups: map[string]group{}, members: map[string][]string{}, territoryParent: map[string]string{}, byTerritory: map[string][]string{},
		sets: map[string][]string{}, readSets: map[string]map[string]bool{}, viewSets: map[string]map[string]bool{}, dormantSets: map[string]bool{}, fieldSets: map[string]map[string]bool{},
		hierarchy: map[string]bool{}, parents: map[string]*object{}, children: map[string]*object{},
	}
	for _, name := range s.settings.Strings(optionHierarchy) {
		rules.hierarchy[name] = true
	}
	all, err := s.withParents(ctx, rules, objects)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, o := range all {
		names = append(names, o.Name)
	}
	if err := s.readDefaults(ctx, rules, names, childObjects(objects)); err != nil {
		return nil, err
	}
	if err := s.readShareTables(ctx, rules, all); err != nil {
		return nil, err
	}
	if err := s.api.tables(ctx, slices.Concat(rules.peopleTables(), rules.permissionTables(names, objects))); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(rules.groups)), func(g group) bool { return strings.HasPrefix(g.kind, "Territory") }) {
		if err := s.api.tables(ctx, rules.territoryTables()); err != nil {
			return nil, err
		}
	}
	if err := s.readRestrictions(ctx, rules, all); err != nil {
		return nil, err
	}
	for _, o := range objects {
		s.restrictFields(rules, o)
		s.restrictChildren(rules, o)
	}
	return rules, nil
}

// childObjects returns the objects of the children of objects.
func childObjects(objects []*object) []string {
	var names []string
	for _, o := range objects {
		for _, kind := range o.children {
			names = append(names, kind.object)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// withParents returns objects and the objects that can be the parents of their records.
func (s *source) withParents(ctx context.Context, rules *sharing, objects []*object) ([]*object, error) {
	all := slices.Clone(objects)
	known := map[string]bool{}
	for _, o := range objects {
		known[o.Name] = true
	}
	for range maxChain {
		var missing []string
		for _, o := range all {
			for _, parent := range parentNames(o) {
				if !known[parent] {
					known[parent] = true
					missing = append(missing, parent)
				}
			}
		}
		if len(missing) == 0 {
			break
		}
		found, err := s.api.describe(ctx, missing)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			if o != nil {
				rules.parents[o.Name] = o
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// parentNames returns the objects whose sharing can decide about records of an object.
func parentNames(o *object) []string {
	var names []string
	if f := o.byName["AccountId"]; f != nil && o.Name != "Account" {
		names = append(names, "Account")
	}
	for _, f := range o.parents() {
		names = append(names, f.ReferenceTo[0])
	}
	return names
}

// readDefaults reads the organization-wide defaults, and what objects of children are.
func (s *source) readDefaults(ctx context.Context, rules *sharing, names, children []string) error {
	const accessFields = "DefaultAccountAccess,DefaultContactAccess,DefaultOpportunityAccess,DefaultLeadAccess,DefaultCaseAccess"
	calls := []call{
		queryCall("SELECT QualifiedApiName,InternalSharingModel,ExternalSharingModel FROM EntityDefinition WHERE "+in("QualifiedApiName", slices.Concat(names, children)), false),
		queryCall("SELECT Id,"+accessFields+" FROM Organization LIMIT 1", false),
	}
	rulesAlone := len(calls)
	for _, name := range children {
		calls = append(calls, describeCall(name))
	}
	bodies, err := s.api.batch(ctx, calls, func(n int, err error) bool { return n >= rulesAlone && isAbsent(err) })
	if err != nil {
		return err
	}
	for i, name := range children {
		if body := bodies[rulesAlone+i]; body != nil {
			if rules.children[name], err = parseObject(body, name); err != nil {
				return err
			}
		}
	}
	definitions, err := parseRows(bodies[0], "the default sharing of objects")
	if err != nil {
		return err
	}
	for _, r := range definitions {
		rules.models[r.text("QualifiedApiName")], rules.external[r.text("QualifiedApiName")] = r.text("InternalSharingModel"), r.text("ExternalSharingModel")
	}
	organization, err := parseRows(bodies[1], "the organization")
	if err != nil {
		return err
	}
	if len(organization) != 1 || !isID(organization[0].text("Id")) {
		return errInvalid("the organization")
	}
	// Both tell the default of some objects. The stricter one counts where they differ.
	for _, name := range []string{"Account", "Contact", "Opportunity", "Lead", "Case"} {
		switch organization[0].text("Default" + name + "Access") {
		case "None":
			if rules.models[name] != "" {
				rules.models[name] = private
			}
		case controlledByParent:
			if isPublic(rules.models[name]) {
				rules.models[name] = controlledByParent
			}
		}
	}
	return nil
}

// parseRows decodes a complete answer to a query without order.
func parseRows(body []byte, what string) ([]row, error) {
	var answer struct {
		TotalSize *int  `json:"totalSize"`
		Done      *bool `json:"done"`
		Records   []row `json:"records"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.TotalSize == nil || answer.Done == nil || answer.Records == nil || !*answer.Done || len(answer.Records) != *answer.TotalSize {
		return nil, errInvalid(what)
	}
	return answer.Records, nil
}

// readShareTables finds the objects with the shares of private objects.
func (s *source) readShareTables(ctx context.Context, rules *sharing, objects []*object) error {
	var asked []*object
	var names []string
	for _, o := range objects {
		isOpen := isPublic(rules.models[o.Name]) && isPublic(rules.external[o.Name])
		// Shares of accounts also open cases and others.
		if o.isKnowledge() || (isOpen && o.Name != "Account") || rules.models[o.Name] == controlledByParent {
			continue
		}
		name := o.Name + "Share"
		if custom, found := strings.CutSuffix(o.Name, "__c"); found {
			name = custom + "__Share"
		}
		asked, names = append(asked, o), append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	found, err := s.api.describeShares(ctx, names)
	if err != nil {
		return err
	}
	for i, o := range asked {
		if o.share = found[i].tableOf(o.Name); o.share == nil && rules.models[o.Name] == private {
			s.warn("Salesforce does not show the shares of " + o.Name + " to the account; people find only their own records of it, and those of people below them.")
		}
	}
	return nil
}

// A shareObject is the description of an object with shares.
type shareObject struct {
	Name   string
	Fields []field
}

// tableOf returns the table of an object's shares, nil if there is none.
func (o *shareObject) tableOf(object string) *shareTable {
	if o == nil {
		return nil
	}
	t := &shareTable{object: o.Name}
	for i := range o.Fields {
		switch f := &o.Fields[i]; {
		case f.Type == "reference" && slices.Equal(f.ReferenceTo, []string{object}):
			t.parent = f.Name
		case f.Name == object+"AccessLevel" || f.Name == "AccessLevel":
			t.level = f.Name
		}
	}
	if t.parent == "" || t.level == "" {
		return nil
	}
	return t
}

func (a *api) describeShares(ctx context.Context, names []string) ([]*shareObject, error) {
	calls := make([]call, len(names))
	for i, name := range names {
		calls[i] = describeCall(name)
	}
	bodies, err := a.batch(ctx, calls, func(_ int, err error) bool { return isAbsent(err) })
	if err != nil {
		return nil, err
	}
	found := make([]*shareObject, len(names))
	for i, body := range bodies {
		if body == nil {
			continue
		}
		found[i] = &shareObject{}
		if json.Unmarshal(body, found[i]) != nil || found[i].Name != names[i] || len(found[i].Fields) == 0 {
			return nil, errInvalid("the description of " + names[i])
		}
	}
	return found, nil
}

// readRestrictions reads which custom objects have restriction rules, whose criteria
// readers cannot express.
func (s *source) readRestrictions(ctx context.Context, rules *sharing, objects []*object) error {
	if !slices.ContainsFunc(objects, (*object).isCustom) {
		return nil
	}
	body, err := s.api.get(ctx, call{path: "tooling/query", query: url.Values{"q": {"SELECT Id,TargetEntity FROM RestrictionRule WHERE IsActive = true"}}})
	if isAbsent(err) || restapi.StatusOf(err) == 403 || restapi.StatusOf(err) == 404 {
		for _, o := range objects {
			if rules.restricted[o.Name] = o.isCustom(); o.isCustom() {
				s.warn("Salesforce does not tell the account whether " + o.Name + " has restriction rules; nobody finds its records until the account has the permission \"View Setup and Configuration\".")
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	rows, err := parseRows(body, "the restriction rules")
	if err != nil {
		return err
	}
	for _, r := range rows {
		name := r.text("TargetEntity")
		rules.restricted[name] = true
		if slices.ContainsFunc(objects, func(o *object) bool { return o.Name == name }) {
			s.warn("The object " + name + " has restriction rules, which cannot be imported; nobody finds its records.")
		}
	}
	return nil
}

// restrictFields takes the fields from documents that not everybody sees who may read
// the object, except those that the settings name.
func (s *source) restrictFields(rules *sharing, o *object) {
	o.dropped = map[string]bool{}
	named := s.fields[o.Name]
	for i := range o.Fields {
		f := &o.Fields[i]
		if !slices.Contains(named, f.Name) && !rules.allSee(o.Name, o, f.Name, (*user).isAnybody) {
			o.dropped[f.Name] = true
		}
	}
	var lost []string
	o.shown = slices.DeleteFunc(o.shown, func(f field) bool {
		if o.dropped[f.Name] {
			lost = append(lost, f.Name)
		}
		return o.dropped[f.Name]
	})
	if len(lost) > 0 {
		s.warn(fmt.Sprintf("Not everybody who may read %s sees these fields, so they are left out: %s. To include them for all readers, name them in config.%s.",
			o.Name, strings.Join(lost, ", "), optionFields))
	}
}

// permissionError says which rights an import of permissions needs.
func permissionError(err error) error {
	if isAbsent(err) {
		return connectors.NeedsAuth(fmt.Errorf("read the sharing rules: %w; give the account the permissions \"View Setup and Configuration\" and \"View All Users\", or switch include_permissions off", err))
	}
	return err
}

// checkPermissions checks the rights that an import of permissions needs.
func (s *source) checkPermissions(ctx context.Context) error {
	rules, err := s.rules(ctx)
	if err != nil {
		return err
	}
	if len(rules.users) == 0 {
		return connectors.NeedsAuth(errors.New("the account does not see any user; give it the permission \"View All Users\""))
	}
	if len(rules.readSets) == 0 {
		return connectors.NeedsAuth(errors.New("the account does not see any permission set; give it the permission \"View Setup and Configuration\""))
	}
	return nil
}

// rules returns the rules that decide who may read records.
func (s *source) rules(ctx context.Context) (*sharing, error) {
	if _, err := s.load(ctx); err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.sharing, nil
}
