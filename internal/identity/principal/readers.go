package principal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Kind is a kind of readers.
type Kind string

// The kinds of readers.
const (
	KindUser   Kind = "USER"
	KindDomain Kind = "DOMAIN"
	KindGroup  Kind = "GROUP"
	// KindDirectoryGroup is a group of the workspace's directory. Only restrictions
	// have such readers.
	KindDirectoryGroup Kind = "DIRECTORY_GROUP"
)

// A Reader is a principal for people to read.
type Reader struct {
	Kind Kind
	ID   string // an address, a domain, the source's id of a group, or the id of a group of the directory
	Name string // of a group, else the id
	// Members is the number of known members of a group itself; nil for others.
	Members *int
}

// DocumentReaders are those who may read a document.
type DocumentReaders struct {
	Document uuid.UUID
	Mode     string // off, strict or permissive
	// Everyone reports whether the source shows the document to everybody.
	Everyone    bool
	Readers     []Reader // at the source
	Count       int      // of all readers at the source
	Restriction *Restriction
	// ReadersAt and GroupsAt are when they were read from the source; nil for never.
	ReadersAt, GroupsAt *time.Time
}

// A Restriction is a document's restriction by an administrator.
type Restriction struct {
	Document, Connector, Collection uuid.UUID
	Readers                         []Reader
	At                              time.Time
	By                              *string // email address; nil if the account is gone
}

// Readers returns who may read a document within scope, and at most limit readers at
// the source. The error is not_found for a document that does not exist or is out of
// scope. The caller must be allowed to know of documents that they cannot read.
func (s *Store) Readers(ctx context.Context, scope viewer.Scope, document uuid.UUID, limit int) (DocumentReaders, error) {
	state, err := s.documentState(ctx, scope, document)
	if err != nil {
		return DocumentReaders{}, err
	}
	out := DocumentReaders{Document: document, Mode: "off", Count: len(state.readers), ReadersAt: state.readersAt, GroupsAt: state.groupsAt}
	switch {
	case state.imports && state.keeps:
		out.Mode = "strict"
	case state.imports:
		out.Mode = "permissive"
	}
	out.Everyone = state.readers == nil && !state.closed
	if state.closed {
		state.readers, out.Count = nil, 0
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return DocumentReaders{}, fmt.Errorf("read who may see a document: %w", err)
	}
	described, err := s.described(ctx, workspace, [][]string{firstOf(sorted(state.readers), limit)})
	if err != nil {
		return DocumentReaders{}, err
	}
	out.Readers = described[0]
	if state.restriction == nil {
		return out, nil
	}
	restrictions, _, err := s.Restrictions(ctx, scope, RestrictionFilter{document: document}, nil, 1)
	if err == nil && len(restrictions) == 1 {
		out.Restriction = &restrictions[0]
	}
	return out, err
}

func firstOf(list []string, limit int) []string { return list[:min(len(list), limit)] }

// sorted returns principals in the order of people, domains, groups and groups of the
// directory, each by name.
func sorted(principals []string) []string {
	out := slices.Clone(principals)
	rank := func(p string) int {
		switch {
		case strings.HasPrefix(p, domainPrefix):
			return 1
		case strings.HasPrefix(p, groupPrefix):
			return 2
		case strings.HasPrefix(p, directoryPrefix):
			return 3
		default:
			return 0
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return out
}

// described returns lists of principals for people to read.
func (s *Store) described(ctx context.Context, workspace uuid.UUID, lists [][]string) ([][]Reader, error) {
	out := make([][]Reader, len(lists))
	var connectors, ofDirectory []uuid.UUID
	var groups []string
	members := map[string][]*Reader{} // the groups in out, by their principals
	for i, list := range lists {
		out[i] = make([]Reader, len(list))
		for j, p := range list {
			kind, id, _ := strings.Cut(p, ":")
			r := &out[i][j]
			*r = Reader{Kind: KindUser, ID: id, Name: id}
			switch kind + ":" {
			case domainPrefix:
				r.Kind = KindDomain
			case directoryPrefix:
				*r = Reader{Kind: KindDirectoryGroup, ID: id, Name: id, Members: new(int)}
				group, err := uuid.Parse(id)
				if err != nil {
					return nil, fmt.Errorf("read the group %q: %w", p, err)
				}
				ofDirectory, members[p] = append(ofDirectory, group), append(members[p], r)
			case groupPrefix:
				owner, own, _ := strings.Cut(id, ":")
				*r = Reader{Kind: KindGroup, ID: own, Name: own, Members: new(int)}
				connector, err := uuid.Parse(owner)
				if err != nil {
					return nil, fmt.Errorf("read the group %q: %w", p, err)
				}
				connectors, groups = append(connectors, connector), append(groups, groupPrefix+own)
				members[p] = append(members[p], r)
			}
		}
	}
	if err := s.describeDirectory(ctx, workspace, ofDirectory, members); err != nil || len(groups) == 0 {
		return out, err
	}
	rows, err := s.pool.Query(ctx, "select g.connector_id, g.principal, g.name, "+memberCount+`
		from (select distinct connector, principal from unnest($2::uuid[], $3::text[]) u (connector, principal)) w
		join connectors k on k.id = w.connector
		join principal_groups g on g.connector_id = k.id and g.generation = k.groups_generation and g.principal = w.principal
		where g.workspace_id = $1`, workspace, connectors, groups)
	if err != nil {
		return nil, fmt.Errorf("read the names of groups: %w", err)
	}
	var connector uuid.UUID
	var principal, name string
	var count int
	if _, err := pgx.ForEachRow(rows, []any{&connector, &principal, &name, &count}, func() error {
		for _, r := range members[group(connector, principal)] {
			*r.Members = count
			if name != "" {
				r.Name = name
			}
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read the names of groups: %w", err)
	}
	return out, nil
}

// RestrictionFilter selects restrictions. The zero value selects all in scope.
type RestrictionFilter struct {
	Connector *uuid.UUID
	document  uuid.UUID
}

// RestrictionPosition is the place of a restriction in the order of their times.
type RestrictionPosition struct {
	At       time.Time
	Document uuid.UUID
}

const restrictionsFrom = ` from document_restrictions r
	join documents d on d.connector_id = r.connector_id and d.source_id = r.source_id
	join connectors k on k.id = r.connector_id join collections c on c.id = d.collection_id
	where r.workspace_id = $1 and ($2 or d.collection_id = any($3)) and ($4::uuid is null or r.connector_id = $4) and ($5::uuid is null or d.id = $5)
		and d.deleted_at is null and d.status <> 'DELETED' and k.deleting_at is null and c.deleting_at is null`

// Restrictions returns the restrictions of documents within scope that are after a
// position, oldest first, at most limit, and the number of all that the filter
// selects.
func (s *Store) Restrictions(ctx context.Context, scope viewer.Scope, f RestrictionFilter, after *RestrictionPosition, limit int) (found []Restriction, total int, err error) {
	const what = "list restrictions"
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", what, err)
	}
	collections, all := scope.Collections()
	var document *uuid.UUID
	if f.document != uuid.Nil {
		document = &f.document
	}
	if after == nil {
		after = &RestrictionPosition{}
	}
	arguments := []any{workspace, all, collections, f.Connector, document}
	if err := s.pool.QueryRow(ctx, "select count(*)"+restrictionsFrom, arguments...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", what, err)
	}
	rows, err := s.pool.Query(ctx, "select d.id, d.connector_id, d.collection_id, r.readers, r.created_at, (select u.email from users u where u.id = r.created_by)"+
		restrictionsFrom+" and (r.created_at, d.id) > ($6, $7) order by r.created_at, d.id limit $8", append(arguments, after.At, after.Document, limit)...)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", what, err)
	}
	var readers [][]string
	var r Restriction
	var list []string
	if _, err := pgx.ForEachRow(rows, []any{&r.Document, &r.Connector, &r.Collection, &list, &r.At, &r.By}, func() error {
		found, readers = append(found, r), append(readers, sorted(list))
		return nil
	}); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", what, err)
	}
	described, err := s.described(ctx, workspace, readers)
	if err != nil {
		return nil, 0, err
	}
	for i := range found {
		found[i].Readers = described[i]
	}
	return found, total, nil
}

// maxRestriction is the number of readers of a restriction.
const maxRestriction = 200

// Names are the people, domains and groups of a restriction.
type Names struct {
	Emails, Domains []string
	Groups          []string    // ids at the source of the document's connector
	DirectoryGroups []uuid.UUID // of the workspace's directory
}

func (n Names) count() int {
	return len(n.Emails) + len(n.Domains) + len(n.Groups) + len(n.DirectoryGroups)
}

// Restrict returns the principals of a restriction of a document within scope. Errors
// are invalid_request, and not_found for a document that does not exist or is out of
// scope.
func (s *Store) Restrict(ctx context.Context, scope viewer.Scope, document uuid.UUID, names Names) ([]string, error) {
	state, err := s.documentState(ctx, scope, document)
	if err != nil {
		return nil, err
	}
	switch n := names.count(); {
	case n == 0:
		return nil, apierr.Invalid("users", "name at least one person, domain or group; a restriction ends by deleting it")
	case n > maxRestriction:
		return nil, apierr.Invalid("users", fmt.Sprintf("name at most %d people, domains and groups", maxRestriction))
	}
	principals := make([]string, 0, names.count())
	for _, email := range names.Emails {
		principals = append(principals, viewer.Named(email))
	}
	for i, domain := range names.Domains {
		p := clean(domainPrefix + strings.TrimPrefix(strings.TrimSpace(domain), "@"))
		if p == "" || !strings.Contains(p, ".") {
			return nil, apierr.Invalid(fmt.Sprintf("domains[%d]", i), "must be a domain such as example.com")
		}
		principals = append(principals, p)
	}
	ofDirectory, err := s.restrictToDirectory(ctx, scope, names.DirectoryGroups)
	if err != nil {
		return nil, err
	}
	principals = append(principals, ofDirectory...)
	if len(names.Groups) == 0 {
		return principals, nil
	}
	sources := make([]string, len(names.Groups))
	for i, id := range names.Groups {
		if sources[i] = clean(groupPrefix + id); sources[i] == "" {
			return nil, apierr.Invalid(fmt.Sprintf("groups[%d]", i), "must be the id of a group at the source")
		}
	}
	unknown, err := s.unknownGroup(ctx, scope, state, sources)
	switch {
	case err != nil:
		return nil, err
	case unknown >= 0:
		return nil, apierr.Invalid(fmt.Sprintf("groups[%d]", unknown), "the document's connector has read no group with this id")
	}
	return append(principals, Qualify(state.connector, sources)...), nil
}

// unknownGroup returns the index of the first group that the connector has not read,
// or -1.
func (s *Store) unknownGroup(ctx context.Context, scope viewer.Scope, state *documentState, groups []string) (int, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return 0, fmt.Errorf("look groups up: %w", err)
	}
	rows, err := s.pool.Query(ctx, "select principal from principal_groups where workspace_id = $1 and connector_id = $2 and generation = $3 and principal = any($4)",
		workspace, state.connector, state.generation, groups)
	if err != nil {
		return 0, fmt.Errorf("look groups up: %w", err)
	}
	known, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, fmt.Errorf("look groups up: %w", err)
	}
	return slices.IndexFunc(groups, func(g string) bool { return !slices.Contains(known, g) }), nil
}
