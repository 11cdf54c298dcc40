package salesforce

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// The readers of a record are groups that Groups lists: the users of a part of the
// sharing rules who also have the permission to read the object. A group is named by the
// objects that its users must be able to read, a colon, and the part of the rules of the
// last of them:
//
//	Case:all               everybody (the default is public)
//	Case:viewall           those with View All
//	Case:user/005…         a user, and those above in the role hierarchy
//	Case:only/005…         a user alone
//	Case:group/00G…        a group, a queue, a role, a territory
//	Contact+Account:…      readers of the account, for contacts controlled by it
//	Case:inside/user/005…  the users of such a group without those outside: partners and
//	                       customers of sites
//
// A document has one text for all its readers. If it has a child that users outside may
// not see, none of them reads it.
//
// So a change of a role, a group or a permission takes effect with the next listing of
// groups, and not only when records are listed again.
const (
	subjectAll     = "all"
	subjectViewAll = "viewall"
	subjectUser    = "user/"
	subjectOnly    = "only/"
	subjectGroup   = "group/"
	subjectInside  = "inside/" // before another subject

	readersKey   = "readers/" // of the names of groups in the state
	maxChain     = 3          // of objects that are controlled by their parents
	maxFacts     = 100_000
	groupsOnPage = 200
)

// A fact is what decides about the readers of a record besides its shares.
type fact struct {
	owner, account string
	parents        []string // ids by the fields of object.parents
	// Of records with their children: internal says that the document has what users
	// outside may not see, and open has the files that they may see.
	internal bool
	open     []string
}

// isInternal reports whether users outside may not see the document, or one of its
// files.
func (f *fact) isInternal(file string) bool {
	if file == "" {
		return f.internal
	}
	return !slices.Contains(f.open, file)
}

// fact returns the fact of a record with its children.
func (r *record) fact() fact {
	f := newFact(r.object, r.row)
	f.internal = slices.ContainsFunc(r.children, func(c child) bool { return c.internal })
	for _, file := range r.files {
		if !file.internal {
			f.open = append(f.open, file.document)
		}
	}
	return f
}

func newFact(o *object, r row) fact {
	f := fact{owner: r.text("OwnerId"), account: r.text("AccountId")}
	for _, p := range o.parents() {
		f.parents = append(f.parents, r.text(p.Name))
	}
	return f
}

func factFields(o *object) []string {
	fields := []string{"Id"}
	for _, name := range []string{"OwnerId", "AccountId"} {
		if o.has(name) {
			fields = append(fields, name)
		}
	}
	for _, p := range o.parents() {
		if !slices.Contains(fields, p.Name) {
			fields = append(fields, p.Name)
		}
	}
	return fields
}

// rememberFacts stores what Readers needs.
func (s *source) rememberFacts(records []record) {
	if !s.imports {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.facts) > maxFacts {
		clear(s.facts)
	}
	for i := range records {
		s.facts[records[i].rowID()] = records[i].fact()
	}
}

// Readers implements [connectors.PermissionLister].
func (s *source) Readers(ctx context.Context, items []connectors.Item) (map[string]connectors.Readers, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rules, err := s.rules(ctx)
	if err != nil {
		return nil, err
	}
	if rules == nil {
		return nil, nil //nolint:nilnil // permissions are not imported: nobody asks
	}
	byObject := map[string]map[string]bool{}
	for _, item := range items {
		if id, ok := parseID(item.ID); ok {
			if byObject[id.object] == nil {
				byObject[id.object] = map[string]bool{}
			}
			byObject[id.object][id.record] = true
		}
	}
	groups, facts := map[string][]string{}, map[string]fact{} // by object and record
	for _, name := range slices.Sorted(maps.Keys(byObject)) {
		found, of, err := s.readersOf(ctx, rules, name, byObject[name])
		if err != nil {
			return nil, err
		}
		for id, list := range found {
			groups[name+"/"+id], facts[name+"/"+id] = list, of[id]
		}
	}
	readers := make(map[string]connectors.Readers, len(items))
	for _, item := range items {
		id, _ := parseID(item.ID)
		list, of := groups[id.object+"/"+id.record], facts[id.object+"/"+id.record]
		if len(list) == 0 {
			continue
		}
		if of.isInternal(id.file) {
			list = withoutOutside(list)
		}
		if err := s.saveGroups(ctx, list); err != nil {
			return nil, err
		}
		r := connectors.Readers{}
		for _, name := range list {
			r.Principals = append(r.Principals, "group:"+name)
		}
		readers[item.ID] = r
	}
	return readers, nil
}

// withoutOutside returns the names of the groups without users outside.
func withoutOutside(names []string) []string {
	inside := make([]string, len(names))
	for i, name := range names {
		chain, subject, _ := strings.Cut(name, ":")
		inside[i] = chain + ":" + subjectInside + subject
	}
	return inside
}

// saveGroups remembers the names of groups, which Groups lists.
func (s *source) saveGroups(ctx context.Context, names []string) error {
	for _, name := range names {
		s.mutex.Lock()
		saved := s.saved[name]
		s.saved[name] = true
		s.mutex.Unlock()
		if saved {
			continue
		}
		if err := s.state.Put(ctx, readersKey+name, []byte("1")); err != nil {
			return fmt.Errorf("remember a group of readers: %w", err)
		}
	}
	return nil
}

// readersOf returns the names of the groups that read records of an object, and the
// facts of the records, by id.
func (s *source) readersOf(ctx context.Context, rules *sharing, name string, ids map[string]bool) (groups map[string][]string, facts map[string]fact, err error) {
	objects, err := s.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(objects, func(o *object) bool { return o.Name == name })
	if i < 0 {
		return nil, nil, nil // nobody reads them
	}
	o := objects[i]
	list := sortedIDs(ids)
	if o.isKnowledge() {
		return s.articleReaders(o, list), nil, nil
	}
	if facts, err = s.factsWithChildren(ctx, o, list); err != nil {
		return nil, nil, err
	}
	found := &readerSet{source: s, rules: rules, groups: map[string][]string{}}
	if err := found.add(ctx, o, nil, facts); err != nil {
		return nil, nil, err
	}
	for id, names := range found.groups {
		slices.Sort(names)
		found.groups[id] = slices.Compact(names)
	}
	return found.groups, facts, nil
}

func sortedIDs(ids map[string]bool) []string {
	list := make([]string, 0, len(ids))
	for id := range ids {
		list = append(list, id)
	}
	slices.SortFunc(list, compareIDs)
	return list
}

// articleReaders returns the readers of Knowledge articles. The categories that people
// may see cannot be read.
func (s *source) articleReaders(o *object, ids []string) map[string][]string {
	if !s.settings.Boolean(optionKnowledge) {
		s.warn(fmt.Sprintf("Salesforce does not tell which data categories people may see, so nobody finds the articles of %s. If all readers of Knowledge may see all of them, switch on config.%s.", o.Name, optionKnowledge))
		return nil
	}
	found := map[string][]string{}
	for _, id := range ids {
		found[id] = []string{o.Name + ":" + subjectAll}
	}
	return found
}

// knownFacts returns the facts of records that are remembered, and the other ids.
func (s *source) knownFacts(ids []string) (found map[string]fact, missing []string) {
	found = map[string]fact{}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, id := range ids {
		if f, known := s.facts[id]; known {
			found[id] = f
		} else {
			missing = append(missing, id)
		}
	}
	return found, missing
}

// factsWithChildren returns the facts of the connector's records with their children.
func (s *source) factsWithChildren(ctx context.Context, o *object, ids []string) (map[string]fact, error) {
	found, missing := s.knownFacts(ids)
	for part := range slices.Chunk(missing, idsPerQuery) {
		items := make([]itemID, len(part))
		for i, id := range part {
			items[i] = itemID{object: o.Name, record: id}
		}
		rows, err := s.rowsOf(ctx, o, items)
		if err != nil {
			return nil, err
		}
		records, err := s.complete(ctx, o, rows)
		if err != nil {
			return nil, err
		}
		for i := range records {
			found[records[i].rowID()] = records[i].fact()
		}
	}
	return found, nil
}

// factsOf returns the facts of records that exist, without what is known of their
// children only.
func (s *source) factsOf(ctx context.Context, o *object, ids []string) (map[string]fact, error) {
	found, missing := s.knownFacts(ids)
	for part := range slices.Chunk(missing, idsPerQuery) {
		err := s.api.each(ctx, selection{fields: factFields(o), object: o.Name, where: []string{in("Id", part)}}, func(r row) error {
			found[r.text("Id")] = newFact(o, r)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read who owns records of %s: %w", o.Name, err)
		}
	}
	return found, nil
}

// A readerSet collects the groups that read records, by the record's id.
type readerSet struct {
	source *source
	rules  *sharing
	groups map[string][]string
}

// put adds a group. One whose name is too long for the state cannot be listed.
func (r *readerSet) put(id string, chain []string, subject string) {
	if name := strings.Join(chain, "+") + ":" + subject; len(readersKey)+len(subjectInside)+len(name) <= connectors.MaxStateKey {
		r.groups[id] = append(r.groups[id], name)
	}
}

// subject returns the part of the rules for a user or group.
func (r *readerSet) subject(id string) string {
	if _, isGroup := r.rules.groups[id]; isGroup || strings.HasPrefix(id, "00G") {
		return subjectGroup + id
	}
	return subjectUser + id
}

// add adds the groups that read records of an object. chain are the objects that are
// controlled by them.
func (r *readerSet) add(ctx context.Context, o *object, chain []string, facts map[string]fact) error {
	chain = append(slices.Clone(chain), o.Name)
	model := r.rules.models[o.Name]
	if r.rules.restricted[o.Name] || len(chain) > maxChain {
		return nil
	}
	for id := range facts {
		r.put(id, chain, subjectViewAll)
	}
	switch {
	case model == controlledByParent:
		return r.addParents(ctx, o, chain, facts)
	case isPublic(model):
		for id := range facts {
			r.put(id, chain, subjectAll)
		}
		if isPublic(r.rules.external[o.Name]) || !r.rules.hasExternal() {
			return nil
		}
	case model != private:
		r.source.warn(fmt.Sprintf("The default sharing of %s is %q, which cannot be imported; only people who may see all its records find them.", o.Name, model))
		return nil
	}
	for id, f := range facts {
		if f.owner != "" {
			r.put(id, chain, r.subject(f.owner))
		}
	}
	if err := r.addShares(ctx, o.share, "", chain, facts, func(f fact, id string) string { return id }); err != nil {
		return err
	}
	return r.addAccountShares(ctx, o, chain, facts)
}

func (r *sharing) hasExternal() bool {
	for _, u := range r.users {
		if !u.internal {
			return true
		}
	}
	return false
}

// addShares adds those with whom records are shared. key returns the id in the table of
// shares of a record; level is another field with the level of access.
func (r *readerSet) addShares(ctx context.Context, t *shareTable, level string, chain []string, facts map[string]fact, key func(f fact, id string) string) error {
	if t == nil {
		return nil
	}
	if level == "" {
		level = t.level
	}
	records := map[string][]string{}
	for id, f := range facts {
		if at := key(f, id); isID(at) {
			records[at] = append(records[at], id)
		}
	}
	keys := map[string]bool{}
	for at := range records {
		keys[at] = true
	}
	for part := range slices.Chunk(sortedIDs(keys), idsPerQuery) {
		q := selection{fields: []string{"Id", t.parent, "UserOrGroupId", level}, object: t.object, where: []string{in(t.parent, part)}}
		err := r.source.api.each(ctx, q, func(row row) error {
			shared := row.text("UserOrGroupId")
			if !isID(shared) || len(records[row.text(t.parent)]) == 0 {
				return errInvalid("a share of " + t.object)
			}
			if !slices.Contains([]string{"Read", "Edit", "All"}, row.text(level)) {
				return nil
			}
			for _, id := range records[row.text(t.parent)] {
				r.put(id, chain, r.subject(shared))
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("read the shares of %s: %w", t.object, err)
		}
	}
	return nil
}

// addAccountShares adds those who read the contacts, opportunities or cases of an
// account because it is shared with them. Where Salesforce computes this access when it
// is needed, the shares of the records do not have it.
func (r *readerSet) addAccountShares(ctx context.Context, o *object, chain []string, facts map[string]fact) error {
	switch o.Name {
	case "Contact", "Opportunity", "Case":
	default:
		return nil
	}
	account := r.source.parentNamed("Account")
	if account == nil || account.share == nil {
		return nil
	}
	return r.addShares(ctx, account.share, o.Name+"AccessLevel", chain, facts, func(f fact, _ string) string { return f.account })
}

// parentNamed returns an object, nil if it is not known.
func (s *source) parentNamed(name string) *object {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, o := range s.objects {
		if o.Name == name {
			return o
		}
	}
	if s.sharing == nil {
		return nil
	}
	return s.sharing.parents[name]
}

// addParents adds those who read the parents of records.
func (r *readerSet) addParents(ctx context.Context, o *object, chain []string, facts map[string]fact) error {
	name, parentOf := "", func(fact) string { return "" }
	masters := o.parents()
	switch {
	case o.Name == "Contact":
		name, parentOf = "Account", func(f fact) string { return f.account }
	case len(masters) == 1:
		name, parentOf = masters[0].ReferenceTo[0], func(f fact) string { return f.parents[0] }
	}
	parent := r.source.parentNamed(name)
	if parent == nil {
		r.source.warn("Records of " + o.Name + " are controlled by parents, which cannot be imported; only people who may see all its records find them.")
		return nil
	}
	byParent, ids := map[string][]string{}, map[string]bool{}
	for id, f := range facts {
		switch at := parentOf(f); {
		case isID(at):
			byParent[at], ids[at] = append(byParent[at], id), true
		case f.owner != "": // a record without a parent is its owner's
			r.put(id, chain, subjectOnly+f.owner)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	parentFacts, err := r.source.factsOf(ctx, parent, sortedIDs(ids))
	if err != nil {
		return err
	}
	above := &readerSet{source: r.source, rules: r.rules, groups: map[string][]string{}}
	if err := above.add(ctx, parent, chain, parentFacts); err != nil {
		return err
	}
	for at, names := range above.groups {
		for _, id := range byParent[at] {
			r.groups[id] = append(r.groups[id], names...)
		}
	}
	return nil
}

// membersOf returns the users of a group of readers.
func (r *sharing) membersOf(name string) []string {
	chain, subject, found := strings.Cut(name, ":")
	objects := strings.Split(chain, "+")
	if !found {
		return nil
	}
	object := objects[len(objects)-1]
	subject, inside := strings.CutPrefix(subject, subjectInside)
	hierarchy := !strings.HasSuffix(object, "__c") || r.hierarchy[object]
	users := map[string]bool{}
	switch {
	case r.restricted[object] || (r.models[object] == "" && !strings.HasSuffix(object, "__kav")):
	case subject == subjectAll:
		for id, u := range r.users {
			// Which articles are for sites is not known.
			users[id] = u.internal || isPublic(r.external[object]) && !strings.HasSuffix(object, "__kav")
		}
	case subject == subjectViewAll:
		for id := range r.users {
			users[id] = r.viewsAll(id, object)
		}
	case strings.HasPrefix(subject, subjectOnly):
		users[strings.TrimPrefix(subject, subjectOnly)] = true
	case strings.HasPrefix(subject, subjectUser):
		if id := strings.TrimPrefix(subject, subjectUser); r.users[id] != nil {
			users[id] = true
			if hierarchy {
				r.addBosses(users)
			}
		}
	case strings.HasPrefix(subject, subjectGroup):
		users = r.usersOf(strings.TrimPrefix(subject, subjectGroup), hierarchy)
	}
	var members []string
	for id, isMember := range users {
		u := r.users[id]
		if !isMember || u == nil || !strings.Contains(u.email, "@") || slices.ContainsFunc(objects, func(o string) bool { return !r.canRead(id, o) }) {
			continue
		}
		if !u.internal && inside {
			continue
		}
		if !u.internal && slices.ContainsFunc(objects[:len(objects)-1], func(o string) bool { return r.external[o] != controlledByParent }) {
			continue // the parent decides about internal users only
		}
		members = append(members, "user:"+u.email)
	}
	slices.Sort(members)
	return slices.Compact(members)
}

// Groups implements [connectors.GroupLister].
func (s *source) Groups(ctx context.Context, cursor string) (connectors.GroupPage, error) {
	if err := ctx.Err(); err != nil {
		return connectors.GroupPage{}, err
	}
	var at struct {
		After string `json:"a"`
	}
	if cursor == "" {
		s.reset()
	} else if err := connectors.ParseCursor(cursor, &at); err != nil {
		return connectors.GroupPage{}, err
	}
	rules, err := s.rules(ctx)
	if err != nil {
		return connectors.GroupPage{}, err
	}
	keys, err := s.state.Keys(ctx, readersKey)
	if err != nil {
		return connectors.GroupPage{}, fmt.Errorf("read the groups of readers: %w", err)
	}
	if rules == nil {
		return connectors.GroupPage{Done: true}, nil
	}
	from, exact := slices.BinarySearch(keys, at.After)
	if exact {
		from++
	}
	keys = keys[from:]
	page := connectors.GroupPage{Done: len(keys) <= groupsOnPage}
	for _, key := range keys[:min(len(keys), groupsOnPage)] {
		name := strings.TrimPrefix(key, readersKey)
		page.Groups = append(page.Groups, connectors.Group{Principal: "group:" + name, Name: name, Members: rules.membersOf(name)})
		at.After = key
	}
	if !page.Done {
		page.Next = connectors.FormatCursor(at)
	}
	page.Warnings = s.takeWarnings()
	return page, nil
}

// collectShares reads which records of an object were shared since the start of a
// window. What is no longer shared is found by a listing of readers.
func (s *source) collectShares(o *object, w *window) (collector, bool) {
	if o.share == nil {
		return collector{}, false
	}
	q := selection{
		fields: []string{"Id", o.share.parent}, object: o.share.object, deleted: true, where: []string{since("LastModifiedDate", w.since)},
	}
	return s.collectRows(w, q, func(r row) { w.touch([]*object{o}, o.Name, r.text(o.share.parent)) }), true
}
