package people_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

const password = "correct horse battery"

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

type fixture struct {
	*people.People
	db       *store.DB
	accounts *authn.Accounts
	clock    *clock
}

func newFixture(t *testing.T, signUp string) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	h := &fixture{db: db, clock: &clock{at: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}}
	h.accounts = h.node(t)
	h.People = people.New(db.Ent, h.accounts, people.Options{
		SignUp: signUp, Dashboard: "https://app.example.com", Attempts: ratelimit.New(ratelimit.Options{Now: h.clock.now}), Uploads: uploads{}, Now: h.clock.now,
	})
	return h
}

// uploads has no files.
type uploads struct{}

func (uploads) WorkspaceBlobKeys(context.Context, uuid.UUID) ([]string, error) { return nil, nil }
func (uploads) DeleteBlobs(context.Context, []string) error                    { return nil }

// node returns the accounts of another process.
func (h *fixture) node(t *testing.T) *authn.Accounts {
	t.Helper()
	a, err := authn.NewAccounts(h.db.Ent, authn.NewPasswords(), bytes.Repeat([]byte{7}, 32), h.clock.now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// member is a person in a workspace.
type member struct {
	ctx    context.Context
	viewer viewer.Viewer
	member uuid.UUID
	access string
}

func (h *fixture) as(t *testing.T, tokens authn.Tokens) member {
	t.Helper()
	v, err := h.accounts.Authenticate(t.Context(), tokens.Access)
	if err != nil {
		t.Fatal(err)
	}
	row, err := h.db.Ent.Membership.Query().Where(membership.WorkspaceID(v.Workspace), membership.UserID(v.Subject)).Only(system(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return member{ctx: viewer.With(t.Context(), v), viewer: v, member: row.ID, access: tokens.Access}
}

func system(ctx context.Context) context.Context { return viewer.With(ctx, viewer.System(uuid.Nil)) }

// owner creates a workspace with its owner.
func (h *fixture) owner(t *testing.T, name string) member {
	t.Helper()
	if _, err := h.accounts.CreateOwner(t.Context(), name, name+"@example.com", name, password); err != nil {
		t.Fatal(err)
	}
	return h.signIn(t, name+"@example.com")
}

// member adds a person to the workspace of another member.
func (h *fixture) member(t *testing.T, of member, email string, role membership.Role) member {
	t.Helper()
	person, err := h.accounts.CreatePerson(t.Context(), authn.PersonDraft{Email: email})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.Join(t.Context(), of.viewer.Workspace, person.ID, role); err != nil {
		t.Fatal(err)
	}
	return h.open(t, person, of.viewer.Workspace)
}

func (h *fixture) open(t *testing.T, person *ent.User, workspace uuid.UUID) member {
	t.Helper()
	tokens, err := h.accounts.OpenSession(t.Context(), person.ID, workspace)
	if err != nil {
		t.Fatal(err)
	}
	return h.as(t, tokens)
}

func (h *fixture) signIn(t *testing.T, email string) member {
	t.Helper()
	tokens, err := h.SignIn(t.Context(), email, password)
	if err != nil {
		t.Fatal(err)
	}
	return h.as(t, tokens)
}

func code(err error) apierr.Code {
	if err == nil {
		return ""
	}
	return apierr.From(err).Code
}

// concurrently calls do n times at once and counts the error codes.
func concurrently(n int, do func(i int) error) map[apierr.Code]int {
	codes := make([]apierr.Code, n)
	var together sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		together.Go(func() {
			<-start
			codes[i] = code(do(i))
		})
	}
	close(start)
	together.Wait()
	counts := map[apierr.Code]int{}
	for _, c := range codes {
		counts[c]++
	}
	return counts
}
