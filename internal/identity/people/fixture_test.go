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

// clock is a clock that tests move.
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

type house struct {
	*people.People
	db       *store.DB
	accounts *authn.Accounts
	clock    *clock
}

func newHouse(t *testing.T, signUp string) *house {
	t.Helper()
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	h := &house{db: db, clock: &clock{at: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}}
	h.accounts = h.node(t)
	h.People = people.New(db.Ent, h.accounts, people.Options{
		SignUp: signUp, Dashboard: "https://app.example.com", Attempts: ratelimit.New(ratelimit.Options{Now: h.clock.now}), Uploads: uploads{}, Now: h.clock.now,
	})
	return h
}

// uploads are those of workspaces without files.
type uploads struct{}

func (uploads) WorkspaceBlobKeys(context.Context, uuid.UUID) ([]string, error) { return nil, nil }
func (uploads) DeleteBlobs(context.Context, []string) error                    { return nil }

// node gives the accounts as another process has them.
func (h *house) node(t *testing.T) *authn.Accounts {
	t.Helper()
	a, err := authn.NewAccounts(h.db.Ent, authn.NewPasswords(), bytes.Repeat([]byte{7}, 32), h.clock.now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// seat is a person in a workspace.
type seat struct {
	ctx    context.Context
	viewer viewer.Viewer
	member uuid.UUID
	access string
}

func (h *house) as(t *testing.T, tokens authn.Tokens) seat {
	t.Helper()
	v, err := h.accounts.Authenticate(t.Context(), tokens.Access)
	if err != nil {
		t.Fatal(err)
	}
	row, err := h.db.Ent.Membership.Query().Where(membership.WorkspaceID(v.Workspace), membership.UserID(v.Subject)).Only(system(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return seat{ctx: viewer.With(t.Context(), v), viewer: v, member: row.ID, access: tokens.Access}
}

func system(ctx context.Context) context.Context { return viewer.With(ctx, viewer.System(uuid.Nil)) }

// owner makes a workspace with its owner.
func (h *house) owner(t *testing.T, name string) seat {
	t.Helper()
	if _, err := h.accounts.CreateOwner(t.Context(), name, name+"@example.com", name, password); err != nil {
		t.Fatal(err)
	}
	return h.signIn(t, name+"@example.com")
}

// member adds somebody to the workspace of another one.
func (h *house) member(t *testing.T, of seat, email string, role membership.Role) seat {
	t.Helper()
	person, err := h.accounts.CreatePerson(t.Context(), authn.NewPerson{Email: email})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.Join(t.Context(), of.viewer.Workspace, person.ID, role); err != nil {
		t.Fatal(err)
	}
	return h.open(t, person, of.viewer.Workspace)
}

func (h *house) open(t *testing.T, person *ent.User, workspace uuid.UUID) seat {
	t.Helper()
	tokens, err := h.accounts.OpenSession(t.Context(), person.ID, workspace)
	if err != nil {
		t.Fatal(err)
	}
	return h.as(t, tokens)
}

func (h *house) signIn(t *testing.T, email string) seat {
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

// atOnce does something several times at the same moment and counts the codes.
func atOnce(n int, do func(i int) error) map[apierr.Code]int {
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
