package connectortest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

// The fake passes the suite with each combination of abilities.
func TestFakePassesTheSuite(t *testing.T) {
	t.Parallel()
	for name, abilities := range map[string]connectortest.Abilities{
		"plain": {}, "all": {Resolves: true, ListsPermissions: true}, "sharing": {ListsPermissions: true},
		"feed": {Resolves: true, ListsPermissions: true, Feeds: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connectortest.Run(t, func(*testing.T) connectortest.Setup {
				fake := connectortest.NewFake()
				fake.PageSize, fake.FolderContainers = connectors.MaxPageItems, true
				return connectortest.Setup{
					Kind: fake.Kind("fake", abilities), Fixture: fake, NoReaders: true,
					UnusualPaths:  []string{"a b.md", "日本.md", "100%.md", "dots/..hidden.md", "quote'\".md"},
					Move:          func(_ testing.TB, from, to string) { fake.Move(from, to) },
					ExpireTokens:  func(testing.TB) { fake.ExpireTokens() },
					ChangeReaders: changeReaders(fake, abilities),
					Lock: func(_ testing.TB, path string) func() {
						folder, _, _ := strings.Cut(path, "/")
						fake.SetIncomplete(folder)
						return func() { fake.SetIncomplete() }
					},
					Break: func(_ testing.TB, how connectortest.Breakage) func() { return breakFake(fake, how) },
				}
			})
		})
	}
}

func changeReaders(fake *connectortest.Fake, a connectortest.Abilities) func(testing.TB, string) {
	if !a.ListsPermissions {
		return nil
	}
	return func(_ testing.TB, path string) { fake.Share(path, "user:ada@example.com") }
}

func breakFake(fake *connectortest.Fake, how connectortest.Breakage) func() {
	refused := errors.New("the platform refuses")
	all := func(err error) {
		for _, call := range []connectortest.Call{connectortest.OnChanges, connectortest.OnWalk, connectortest.OnOpen, connectortest.OnCheck} {
			fake.Script(connectortest.Fault{On: call, Times: -1, Err: err})
		}
	}
	switch how {
	case connectortest.Unauthorized:
		all(connectors.NeedsAuth(refused))
	case connectortest.RateLimited:
		all(connectors.Retryable(refused, connectortest.RateLimitedFor))
	case connectortest.Unavailable:
		all(connectors.Retryable(refused, 0))
	case connectortest.Truncated:
		fake.Script(connectortest.Fault{On: connectortest.OnOpen, Times: -1, FailAt: 3}, connectortest.Fault{On: connectortest.OnWalk, Times: -1, Err: connectors.Retryable(refused, 0)},
			connectortest.Fault{On: connectortest.OnChanges, Times: -1, Err: connectors.Retryable(refused, 0)})
	}
	return fake.ClearFaults
}

func TestFaultsHappenAtTheScriptedCalls(t *testing.T) {
	t.Parallel()
	fake := connectortest.NewFake()
	fake.Fill(3, "1")
	registry, err := connectors.NewRegistry(fake.Kind("fake", connectortest.Abilities{}))
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := registry.Lookup("fake")
	source, err := kind.New(t.Context(), connectors.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	fake.Script(connectortest.Fault{On: connectortest.OnWalk, After: 1, Times: 2, Err: broken}, connectortest.Fault{On: connectortest.OnWalk, After: 2, RepeatCursor: true, Duplicate: true})
	var got []bool
	for range 5 {
		_, err := source.Walk(t.Context(), "")
		got = append(got, errors.Is(err, broken))
	}
	if want := []bool{false, true, true, false, false}; !equal(got, want) || fake.Calls(connectortest.OnWalk) != 5 || fake.PendingFaults() != 0 {
		t.Errorf("calls failed at %v, want %v; %d faults are pending", got, want, fake.PendingFaults())
	}
}

func equal(a, b []bool) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}
