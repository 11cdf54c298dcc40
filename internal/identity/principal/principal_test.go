package principal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// lease is how long a reading may take for a page.
const lease = 15 * time.Minute

type fixture struct {
	*testing.T
	db    *store.DB
	store *principal.Store
	index *index.Store
}

// workspace is a workspace with a connector that enforces permissions.
type workspace struct {
	ctx                              context.Context
	scope                            viewer.Scope
	workspace, collection, connector uuid.UUID
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t}
	var err error
	f.db, err = store.Open(t.Context(), testkit.Database(t).AppURL, 8)
	f.must(err)
	t.Cleanup(f.db.Close)
	f.store = principal.New(f.db.Pool, principal.Options{CacheFor: time.Nanosecond})
	t.Cleanup(f.store.Close)
	f.index = index.New(f.db.Pool, analysis.New())
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func strict() map[string]any { return map[string]any{"include_permissions": true} }

func (f *fixture) workspace() workspace {
	f.Helper()
	row, err := f.db.Ent.Workspace.Create().SetName("W").Save(viewer.With(f.Context(), viewer.System(uuid.Nil)))
	f.must(err)
	p := workspace{ctx: viewer.With(f.Context(), viewer.System(row.ID)), workspace: row.ID}
	p.scope, err = viewer.System(row.ID).Scope()
	f.must(err)
	collection, err := f.db.Ent.Collection.Create().SetName("C").SetEmbeddingModel("m").Save(p.ctx)
	f.must(err)
	p.collection = collection.ID
	return f.connector(p)
}

func (f *fixture) connector(p workspace) workspace {
	f.Helper()
	connector, err := f.db.Ent.Connector.Create().SetName("K").SetType("wiki").SetCollectionID(p.collection).SetConfig(strict()).Save(p.ctx)
	f.must(err)
	p.connector = connector.ID
	return p
}

func (f *fixture) exec(statement string, arguments ...any) {
	f.Helper()
	_, err := f.db.Pool.Exec(f.Context(), statement, arguments...)
	f.must(err)
}

// group makes a group of its source id, members as the source has them.
func group(id string, members ...string) principal.Group {
	return principal.Group{Principal: "group:" + id, Name: strings.ToUpper(id), Members: members}
}

// read stores a complete reading.
func (f *fixture) read(p workspace, groups ...principal.Group) {
	f.Helper()
	r, err := f.store.Begin(p.ctx, p.scope, p.connector)
	f.must(err)
	f.must(r.Add(p.ctx, groups))
	f.must(r.Commit(p.ctx))
}

// expect checks the groups of a person, without the connector's id if it is p's.
func (f *fixture) expect(p workspace, mail string, want ...string) {
	f.Helper()
	got, err := f.store.Of(p.ctx, p.workspace, mail)
	f.must(err)
	if got[0] != "user:"+mail || got[1] != "domain:example.com" {
		f.Errorf("%s is %q first", mail, got[:2])
	}
	groups := make([]string, 0, len(got))
	for _, g := range got[2:] {
		groups = append(groups, strings.TrimPrefix(g, "group:"+p.connector.String()+":"))
	}
	slices.Sort(groups)
	slices.Sort(want)
	if !slices.Equal(groups, want) {
		f.Errorf("%s belongs to %q, not to %q", mail, groups, want)
	}
}

func TestNestedGroupsAreFollowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.workspace()
	f.expect(p, "ada@example.com")
	chain := make([]principal.Group, 60)
	for i := range chain {
		chain[i] = group(fmt.Sprintf("deep-%02d", i), fmt.Sprintf("group:deep-%02d", i+1))
	}
	chain = append(chain, group("deep-60", "user:deep@example.com"))
	f.read(p, append(chain,
		group("staff", "group:engineers", "group:sales", "user:eve@example.com"),
		group("engineers", "user: Ada@Example.com ", "group:circle"),
		group("sales", "user:bob@example.com"),
		// Cycles, a group in itself, unknown groups and invalid principals.
		group("circle", "group:round", "group:circle"), group("round", "group:circle", "user:bob@example.com", "group:gone", "everybody", "user:", ""),
		group("round", "user:carl@example.com"),
	)...)
	f.expect(p, "ada@example.com", "engineers", "staff")
	f.expect(p, "bob@example.com", "sales", "staff", "round", "circle", "engineers")
	f.expect(p, "carl@example.com", "round", "circle", "engineers", "staff")
	f.expect(p, "eve@example.com", "staff")
	f.expect(p, "nobody@example.com")
	deep, err := f.store.Of(p.ctx, p.workspace, "deep@example.com")
	f.must(err)
	if len(deep) != 63 {
		t.Errorf("a person 61 groups deep has %d principals", len(deep))
	}
}

func TestGroupsOfTwoConnectorsAreNeverTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one := f.workspace()
	two, stranger := f.connector(one), f.workspace()
	f.read(one, group("7", "user:ada@example.com"))
	f.read(two, group("7", "user:bob@example.com"), group("8", "group:7"))
	f.read(stranger, group("9", "user:ada@example.com"))
	ada, err := f.store.Of(one.ctx, one.workspace, "ada@example.com")
	f.must(err)
	if want := []string{"user:ada@example.com", "domain:example.com", "group:" + one.connector.String() + ":7"}; !slices.Equal(ada, want) {
		t.Errorf("ada is %q, not %q", ada, want)
	}
	f.expect(two, "bob@example.com", "7", "8")
	// A colon in an id cannot produce another connector's group.
	got := principal.Qualify(one.connector, []string{"group:" + two.connector.String() + ":7", "user:X@y.z", "group:", "role:admin", "group:a\x1fb", " user:q@r.s ",
		"domain: Example.COM", "domain:", "domain:a@b.c", "domain:*.b.c", "domain:a b"})
	if want := []string{"group:" + one.connector.String() + ":" + two.connector.String() + ":7", "user:x@y.z", "user:q@r.s", "domain:example.com"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	// Another workspace's connector is not found.
	if _, err := f.store.Begin(one.ctx, one.scope, stranger.connector); apierr.From(err).Code != apierr.CodeNotFound {
		t.Errorf("a stranger's connector: %v", err)
	}
}

func TestASetOfGroupsIsReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.workspace()
	f.read(p, group("a", "user:ada@example.com"))
	begin := func() *principal.Reading {
		t.Helper()
		r, err := f.store.Begin(p.ctx, p.scope, p.connector)
		f.must(err)
		return r
	}
	half := begin()
	f.must(half.Add(p.ctx, []principal.Group{group("b", "user:ada@example.com")}))
	f.expect(p, "ada@example.com", "a")
	f.must(half.Fail(p.ctx, "the source is away", 0))
	f.expect(p, "ada@example.com", "a")
	var failure string
	f.must(f.db.Pool.QueryRow(t.Context(), "select groups_failure from connectors where id = $1", p.connector).Scan(&failure))
	if failure != "the source is away" {
		t.Errorf("the connector says %q", failure)
	}
	// A superseded reading can neither add nor commit.
	old := begin()
	f.must(old.Add(p.ctx, []principal.Group{group("old", "user:ada@example.com")}))
	young := begin()
	if err := old.Add(p.ctx, []principal.Group{group("old", "user:bob@example.com")}); !errors.Is(err, principal.ErrSuperseded) {
		t.Errorf("the old one adds: %v", err)
	}
	f.must(young.Add(p.ctx, []principal.Group{group("c", "user:ada@example.com")}))
	if err := old.Commit(p.ctx); !errors.Is(err, principal.ErrSuperseded) {
		t.Errorf("the old one ends: %v", err)
	}
	f.expect(p, "ada@example.com", "a")
	f.must(young.Commit(p.ctx))
	f.expect(p, "ada@example.com", "c")
	// Old sets, former members and deleted groups are gone.
	f.read(p, group("c", "user:bob@example.com"))
	f.expect(p, "ada@example.com")
	f.expect(p, "bob@example.com", "c")
	f.read(p)
	f.expect(p, "bob@example.com")
	var rows int
	f.must(f.db.Pool.QueryRow(t.Context(), "select (select count(*) from principal_members) + (select count(*) from principal_groups)").Scan(&rows))
	if rows != 0 {
		t.Errorf("%d rows are left of old readings", rows)
	}
}

func TestOutdatedGroupsDoNotCount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.workspace()
	f.read(p, group("a", "user:ada@example.com"))
	f.exec("update connectors set groups_at = now() - interval '23 hours' where id = $1", p.connector)
	f.expect(p, "ada@example.com", "a")
	f.exec("update connectors set groups_at = now() - interval '25 hours' where id = $1", p.connector)
	f.expect(p, "ada@example.com")
	f.read(p, group("a", "user:ada@example.com"))
	f.expect(p, "ada@example.com", "a")
}

func TestEachDueConnectorIsReturnedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.workspace()
	second := f.connector(p)
	off, permissive, disabled, later := f.connector(p), f.connector(p), f.connector(p), f.connector(p)
	f.must(f.db.Ent.Connector.UpdateOneID(off.connector).SetConfig(map[string]any{}).Exec(p.ctx))
	f.must(f.db.Ent.Connector.UpdateOneID(permissive.connector).SetConfig(map[string]any{"include_permissions": true, "permission_mode": "permissive"}).Exec(p.ctx))
	f.must(f.db.Ent.Connector.UpdateOneID(disabled.connector).SetEnabled(false).Exec(p.ctx))
	f.must(f.db.Ent.Connector.UpdateOneID(later.connector).SetGroupsDueAt(time.Now().Add(time.Hour)).Exec(p.ctx))
	taken := make(chan principal.ConnectorKey, 20)
	failed := make(chan error, 4)
	for range 4 {
		go func() {
			due, err := f.store.DueGroups(p.ctx, 10)
			for _, d := range due {
				taken <- d
			}
			failed <- err
		}()
	}
	for range 4 {
		f.must(<-failed)
	}
	close(taken)
	got := map[uuid.UUID]int{}
	for d := range taken {
		got[d.Connector]++
	}
	if len(got) != 2 || got[p.connector] != 1 || got[second.connector] != 1 {
		t.Errorf("taken were %v, not %v and %v", got, p.connector, second.connector)
	}
}

func TestAnUnknownGroupIsReadEarly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.workspace()
	key := principal.ConnectorKey{Workspace: p.workspace, Connector: p.connector}
	expedite := func(groups ...string) { f.Helper(); f.must(f.store.ExpediteGroups(p.ctx, key, groups)) }
	// due checks the time until the groups are due.
	due := func(least, most time.Duration) {
		f.Helper()
		var left time.Duration
		f.must(f.db.Pool.QueryRow(f.Context(), "select groups_due_at - now() from connectors where id = $1", p.connector).Scan(&left))
		if left < least-10*time.Second || left > most {
			f.Errorf("the groups are due in %s, not in %s to %s", left, least, most)
		}
	}
	begin := func() *principal.Reading {
		f.Helper()
		r, err := f.store.Begin(p.ctx, p.scope, p.connector)
		f.must(err)
		return r
	}
	// The first reading began before the first document.
	r := begin()
	expedite("group:a")
	due(lease, lease)
	f.must(r.Commit(p.ctx))
	due(0, 0)
	f.read(p, group("a"))
	due(principal.RefreshInterval, principal.RefreshInterval)
	expedite("group:a")
	due(principal.RefreshInterval, principal.RefreshInterval)
	expedite("group:a", "group:b")
	due(time.Minute, time.Minute)
	expedite("group:b")
	due(time.Minute, time.Minute)

	r = begin() // of a
	expedite("group:b")
	f.must(r.Add(p.ctx, []principal.Group{group("a")}))
	due(lease, lease) // no second one starts meanwhile
	f.must(r.Commit(p.ctx))
	due(time.Minute, time.Minute)
	r = begin()
	f.must(r.Fail(p.ctx, "too many requests", time.Hour))
	expedite("group:b")
	due(time.Hour, time.Hour)

	late := f.connector(p)
	key.Connector, p.connector = late.connector, late.connector
	f.read(p)
	due(principal.RefreshInterval, principal.RefreshInterval)
	expedite("group:a") // another connector has it
	due(0, 0)
}

func TestExplainNamesTheRule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.workspace()
	f.read(p, group("readers", "group:team"), group("team", "user:ada@example.com", "group:sub"), group("sub", "user:dee@example.com"), group("other", "user:bob@example.com"))
	put := func(p workspace, name string, asked bool, readers ...string) uuid.UUID {
		t.Helper()
		r := &index.Record{Connector: p.connector, Collection: p.collection, SourceID: name, Path: name, Title: name, Hash: []byte(name)}
		if r.Readers = principal.Qualify(p.connector, readers); readers == nil {
			r.Readers = nil
		}
		if asked {
			r.ReadersAt = time.Now()
		}
		out, err := f.index.Put(p.ctx, p.scope, index.Fence{}, r)
		f.must(err)
		return out.Document
	}
	restricted := put(p, "restricted", true, "group:readers", "user:carl@example.com")
	everyone, unsaid, nobody := put(p, "everyone", true), put(p, "unsaid", false, []string{}...), put(p, "nobody", true, []string{}...)
	f.exec("update documents set readers = '{}' where id = any($1)", []uuid.UUID{unsaid, nobody})
	open := f.connector(p)
	f.must(f.db.Ent.Connector.UpdateOneID(open.connector).SetConfig(map[string]any{}).Exec(p.ctx))
	opened := put(open, "open", false)
	loose := f.connector(p)
	f.must(f.db.Ent.Connector.UpdateOneID(loose.connector).SetConfig(map[string]any{"include_permissions": true, "permission_mode": "permissive"}).Exec(p.ctx))
	loosened := put(loose, "loose", false)
	unread := f.connector(p)
	unreadGroup := put(unread, "unread", true, "group:readers")
	closed := f.connector(p)
	kept := put(closed, "closed", false)
	f.exec("update connectors set closed = true where id = $1", closed.connector)

	check := func(document uuid.UUID, mail string, visible bool, rule principal.Rule, groups ...string) {
		t.Helper()
		a, err := f.store.Explain(p.ctx, p.scope, document, mail)
		f.must(err)
		var names []string
		for _, g := range a.Groups {
			names = append(names, g.Name)
		}
		if a.Visible != visible || a.Rule != rule || !slices.Equal(names, groups) || a.Explanation == "" {
			t.Errorf("%s: %+v", mail, a)
		}
		// The explanation agrees with a read.
		if principals, err := f.store.Of(p.ctx, p.workspace, mail); err != nil {
			t.Error(err)
		} else if rule != principal.RuleUnknown || a.Visible {
			var readers []string
			f.must(f.db.Pool.QueryRow(t.Context(), "select readers from documents where id = $1", document).Scan(&readers))
			found := readers == nil || slices.ContainsFunc(readers, func(r string) bool { return slices.Contains(principals, r) })
			if found != visible {
				t.Errorf("%s finds %s: %v; it is said: %v", mail, document, found, visible)
			}
		}
	}
	check(restricted, "carl@example.com", true, principal.RuleListed)
	check(restricted, "ada@example.com", true, principal.RuleMember, "TEAM", "READERS")
	check(restricted, "dee@example.com", true, principal.RuleMember, "SUB", "TEAM", "READERS")
	check(restricted, "bob@example.com", false, principal.RuleNotListed)
	check(everyone, "bob@example.com", true, principal.RuleEveryone)
	check(unsaid, "ada@example.com", false, principal.RuleUnknown)
	check(nobody, "ada@example.com", false, principal.RuleNotListed)
	domain := put(p, "domain", true, "domain:example.com")
	check(domain, "ada@Example.com", true, principal.RuleListed)
	check(domain, "ada@sub.example.com", false, principal.RuleNotListed)
	check(domain, "ada@notexample.com", false, principal.RuleNotListed)
	check(opened, "ada@example.com", true, principal.RuleOpen)
	check(loosened, "ada@example.com", true, principal.RulePermissive)
	check(unreadGroup, "ada@example.com", false, principal.RuleUnknown)
	check(kept, "ada@example.com", false, principal.RuleUnknown)
	f.exec("update connectors set groups_at = now() - interval '2 days' where id = $1", p.connector)
	check(restricted, "dee@example.com", false, principal.RuleStale, "SUB", "TEAM", "READERS")
	check(restricted, "carl@example.com", true, principal.RuleListed)
	f.exec("update documents set deleted_at = now(), status = 'DELETED' where id = $1", restricted)
	stranger := f.workspace()
	for _, try := range []struct {
		p        workspace
		document uuid.UUID
	}{{p, restricted}, {p, uuid.New()}, {stranger, everyone}} {
		if _, err := f.store.Explain(try.p.ctx, try.p.scope, try.document, "ada@example.com"); apierr.From(err).Code != apierr.CodeNotFound {
			t.Errorf("%v: %v", try.document, err)
		}
	}
	none, err := p.scope.Narrow()
	f.must(err)
	if _, err := f.store.Explain(p.ctx, none, everyone, "ada@example.com"); apierr.From(err).Code != apierr.CodeNotFound {
		t.Errorf("out of reach: %v", err)
	}
}

// The limit bounds all groups of a person, those of the directory too.
func TestTheGroupsOfAPersonAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.workspace()
	user := uuid.New()
	f.exec("insert into users (id, created_at, updated_at, email, name, password_hash, email_verified) values ($1, now(), now(), 'ada@example.com', 'Ada', '', true)", user)
	f.exec("insert into memberships (id, created_at, updated_at, workspace_id, user_id, role) values ($1, now(), now(), $2, $1, 'viewer')", user, p.workspace)
	f.exec(`insert into directory_groups (id, workspace_id, name, name_key, created_at, updated_at)
		select gen_random_uuid(), $1, 'g' || n, 'g' || n, now(), now() from generate_series(1, 20010) n`, p.workspace)
	f.exec("insert into directory_group_members (workspace_id, group_id, user_id) select workspace_id, id, $2 from directory_groups where workspace_id = $1", p.workspace, user)
	f.read(p, group("staff", "user:ada@example.com"))
	got, err := f.store.Of(p.ctx, p.workspace, "ada@example.com")
	f.must(err)
	if len(got) != 20_002 {
		t.Errorf("%d principals, with two of the person", len(got))
	}
}

// A directory knows the accounts that it manages. Groups of sources go by the address, and
// need somebody who vouches for it.
func TestOnlyTheDirectoryKnowsAnAccountWithoutAVerifiedAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p, elsewhere := f.workspace(), f.workspace()
	user, group := uuid.New(), uuid.New()
	f.exec("insert into users (id, created_at, updated_at, email, name, password_hash) values ($1, now(), now(), 'ada@example.com', 'Ada', '')", user)
	for _, w := range []workspace{p, elsewhere} {
		f.exec("insert into memberships (id, created_at, updated_at, workspace_id, user_id, role) values (gen_random_uuid(), now(), now(), $2, $1, 'viewer')", user, w.workspace)
	}
	f.exec("insert into directory_groups (id, workspace_id, name, name_key, created_at, updated_at) values ($1, $2, 'Staff', 'staff', now(), now())", group, p.workspace)
	f.exec("insert into directory_group_members (workspace_id, group_id, user_id) values ($1, $2, $3)", p.workspace, group, user)
	f.read(p, principal.Group{Principal: "group:staff", Members: []string{"user:ada@example.com", "domain:example.com"}})
	check := func(what string, counts bool) {
		t.Helper()
		var want []string
		members := 0
		if counts {
			want, members = []string{"directory:" + group.String()}, 1
		}
		f.expect(p, "ada@example.com", append([]string{"staff"}, want...)...)
		f.expect(elsewhere, "ada@example.com")
		for account, groups := range map[workspaceAccount][]string{{p.workspace, user}: want, {elsewhere.workspace, user}: nil, {p.workspace, uuid.New()}: nil, {p.workspace, uuid.Nil}: nil} {
			if got, err := f.store.OfAccount(p.ctx, account.workspace, account.user); err != nil || !slices.Equal(got, groups) {
				t.Errorf("%s: the account %v is %q, %v, want %q", what, account, got, err, groups)
			}
		}
		page, err := f.store.DirectoryGroups(p.ctx, p.scope, principal.DirectoryGroupQuery{Limit: 1})
		f.must(err)
		if got := page.Groups[0].MemberCount; got != members {
			t.Errorf("%s: the group has %d members", what, got)
		}
	}
	check("an account that nobody vouches for", false)
	manage := func(w workspace) {
		f.exec(`insert into directory_users (workspace_id, user_id, user_name, user_name_key, display_name, given_name, family_name, updated_at)
			values ($1, $2, 'ada', 'ada', '', '', '', now())`, w.workspace, user)
	}
	manage(elsewhere)
	check("an account that another directory manages", false)
	manage(p)
	check("an account that the directory manages", true)
	f.exec("update memberships set suspended_at = now() where workspace_id = $1", p.workspace)
	check("a suspended member", false)
	f.exec("update memberships set suspended_at = null")
	f.exec("delete from directory_users")
	check("an account that the directory managed", false)
	f.exec("update users set email_verified = true")
	check("an account with a verified address", true)
}

// A workspaceAccount is an account as a member.
type workspaceAccount struct{ workspace, user uuid.UUID }

func TestTextThatPostgreSQLCannotStoreSelectsNoGroups(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.workspace()
	for field, q := range map[string]principal.DirectoryGroupQuery{
		"matching": {Matching: "a\x00b", Limit: 1}, "after": {After: "a\x00b", Limit: 1}, "matching, of bytes": {Matching: "\xff", Limit: 1}, "after, of bytes": {After: "\xff", Limit: 1},
	} {
		if _, err := f.store.Groups(p.ctx, p.scope, p.connector, principal.GroupQuery(q)); apierr.From(err).Code != apierr.InvalidRequest {
			t.Errorf("%s: groups of a source: %v", field, err)
		}
		if _, err := f.store.DirectoryGroups(p.ctx, p.scope, q); apierr.From(err).Code != apierr.InvalidRequest {
			t.Errorf("%s: %v", field, err)
		}
	}
}
