package connectortest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/connectors"
)

// Fixture changes what is at the source, as its users would. Its methods fail
// the test when they cannot. They may be called concurrently.
type Fixture interface {
	// Put makes the content at a path, or replaces it.
	Put(t testing.TB, path string, content []byte)
	// Delete removes what is at a path.
	Delete(t testing.TB, path string)
}

// at is the path of an item of the fixture.
func (s Setup) at(path string) string {
	if s.Path == nil {
		return path
	}
	return s.Path(path)
}

// Setup is one empty source for one test.
type Setup struct {
	// Kind is the connector under test, and Settings open the source.
	Kind     connectors.Kind
	Settings connectors.Settings
	// Fixture changes the content of that source.
	Fixture Fixture
	// OddPaths are paths the source can hold and software tends to break on.
	OddPaths []string
	// Path is the path of the item that Put makes at a path, for sources whose
	// paths begin with something of their own; nil for the same.
	Path func(path string) string
	// Fixed is the inverse of Path.
	Fixed func(path string) string
	// Aside says that an item is none of the fixture's, but what its items hang
	// on; it is passed over. Nil for none.
	Aside func(item connectors.Item) bool
	// Items is how many items the walk is tested with: enough for three pages.
	// 0 is 2 pages of the largest size and some.
	Items int
	// Break lets the platform refuse to work in a way until repair is called. It
	// returns nil for a way that the platform does not have. Nil checks nothing.
	Break func(t testing.TB, how Breakage) (repair func())
	// Undated says that the fixture's items are of other times than now.
	Undated bool
	// Unshared says that nobody may see what the fixture puts, where the source
	// knows who may.
	Unshared bool
}

// Main runs a package's tests and fails when goroutines are left running.
func Main(m *testing.M) { goleak.VerifyTestMain(m) }

// Run checks a kind. setup makes a source of its own for every test.
func Run(t *testing.T, setup func(t *testing.T) Setup) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Setup){
		"DescribesItself":           describesItself,
		"EmptySourceEnds":           emptySourceEnds,
		"WalkNamesEveryItemOnce":    walkNamesEveryItem,
		"ChangesAreSeen":            changesAreSeen,
		"OddPathsWork":              oddPathsWork,
		"OpenGivesTheContent":       openGivesTheContent,
		"OpenReportsWhatIsGone":     openReportsWhatIsGone,
		"OpenRefusesAnotherVersion": openRefusesAnotherVersion,
		"OpensRunConcurrently":      opensRunConcurrently,
		"WalkStopsWhenCanceled":     walkStopsWhenCanceled,
		"OpenStopsWhenCanceled":     openStopsWhenCanceled,
		"ForeignCursorsDoNoHarm":    foreignCursorsDoNoHarm,
		"ResolveFindsPaths":         resolveFindsPaths,
		"ResolveFindsIDs":           resolveFindsIDs,
		"OptionsAreChecked":         optionsAreChecked,
		"FiltersChoose":             filtersChoose,
		"BreakagesAreTold":          breakagesAreTold,
		"ReadersAreTold":            readersAreTold,
		"CheckSucceeds":             checkSucceeds,
		"CloseTwiceIsNoError":       closeTwice,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, setup(t))
		})
	}
}

// open opens the source the way the rest of Magpie does, through a registry.
func (s Setup) open(t *testing.T) connectors.Source {
	t.Helper()
	registry, err := connectors.NewRegistry(s.Kind)
	if err != nil {
		t.Fatalf("register the kind: %v", err)
	}
	kind, ok := registry.Lookup(s.Kind.Name)
	if !ok {
		t.Fatalf("the kind %q is not found by its name", s.Kind.Name)
	}
	source, err := kind.New(t.Context(), s.Settings)
	if err != nil {
		t.Fatalf("open the source: %v", err)
	}
	t.Cleanup(func() {
		if err := source.Close(); err != nil {
			t.Errorf("close the source: %v", err)
		}
	})
	return s.shown(source)
}

// maxPages ends walks that would never end.
const maxPages = 1000

// walk returns all pages from a cursor on.
func walk(t *testing.T, source connectors.Source, cursor string) []connectors.Page {
	t.Helper()
	var pages []connectors.Page
	for range maxPages {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatalf("walk page %d: %v", len(pages), err)
		}
		if len(page.Items) > connectors.MaxPageItems {
			t.Fatalf("page %d has %d items, at most %d are allowed", len(pages), len(page.Items), connectors.MaxPageItems)
		}
		pages = append(pages, page)
		if page.Done {
			return pages
		}
		if len(page.Next) > connectors.MaxCursorBytes {
			t.Fatalf("the cursor has %d bytes, at most %d are allowed", len(page.Next), connectors.MaxCursorBytes)
		}
		if page.Next == cursor || page.Next == "" {
			t.Fatalf("page %d: the cursor %q does not move on from %q", len(pages), page.Next, cursor)
		}
		cursor = page.Next
	}
	t.Fatalf("the walk has not ended after %d pages", maxPages)
	return nil
}

func itemsOf(pages []connectors.Page) []connectors.Item {
	var items []connectors.Item
	for _, page := range pages {
		items = append(items, page.Items...)
	}
	return items
}

// walked returns all items by path.
func walked(t *testing.T, source connectors.Source) map[string]connectors.Item {
	t.Helper()
	byPath := make(map[string]connectors.Item)
	for _, item := range itemsOf(walk(t, source, "")) {
		if _, twice := byPath[item.Path]; twice {
			t.Fatalf("the path %q was named twice", item.Path)
		}
		byPath[item.Path] = item
	}
	return byPath
}

func itemAt(t *testing.T, source connectors.Source, path string) connectors.Item {
	t.Helper()
	item, ok := walked(t, source)[path]
	if !ok {
		t.Fatalf("the walk does not name %q", path)
	}
	return item
}

func read(ctx context.Context, source connectors.Source, item connectors.Item) ([]byte, error) {
	reader, err := source.Open(ctx, item)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(reader)
	return content, errors.Join(err, reader.Close())
}

func expectContent(t *testing.T, source connectors.Source, item connectors.Item, want []byte) {
	t.Helper()
	got, err := read(t.Context(), source, item)
	if err != nil {
		t.Errorf("read %q: %v", item.Path, err)
		return
	}
	if !bytes.Equal(got, want) {
		t.Errorf("read %q: got %d bytes, want %d, or they differ", item.Path, len(got), len(want))
	}
	if item.Size >= 0 && item.Size != int64(len(want)) {
		t.Errorf("size of %q: got %d, want %d or -1", item.Path, item.Size, len(want))
	}
}

func describesItself(t *testing.T, setup Setup) {
	registry, err := connectors.NewRegistry(setup.Kind)
	if err != nil {
		t.Fatalf("register the kind: %v", err)
	}
	for _, name := range append([]string{setup.Kind.Name}, setup.Kind.Aliases...) {
		if kind, ok := registry.Lookup(name); !ok || kind.Name != setup.Kind.Name {
			t.Errorf("look up %q: got %q, %v", name, kind.Name, ok)
		}
	}
	if setup.Kind.Title == "" || setup.Kind.Description == "" || setup.Kind.Category == "" {
		t.Error("title, description or category are missing")
	}
	if _, lists := setup.open(t).(connectors.PermissionLister); lists != setup.Kind.Permissions {
		t.Errorf("the kind says that it imports permissions: %v; its sources are able to: %v", setup.Kind.Permissions, lists)
	}
	if err := setup.Kind.Validate(setup.Settings.Config, setup.Settings.Credentials); err != nil {
		t.Errorf("the settings of the test: %v", err)
	}
	for _, option := range slices.Concat(setup.Kind.Options, setup.Kind.Credentials) {
		if option.Title == "" || option.Help == "" {
			t.Errorf("option %s: title or help are missing", option.Name)
		}
		if option.Required && option.Example == "" {
			t.Errorf("option %s is required and has no example", option.Name)
		}
		if option.Required && strings.Contains(strings.ToLower(option.Name), "secret") && !option.Sensitive {
			t.Errorf("option %s should be sensitive", option.Name)
		}
	}
	for field, config := range map[string]map[string]any{
		"config.no_such_field":        {"no_such_field": true},
		"config.permission_mode":      {"permission_mode": "sometimes"},
		"config.include_permissions":  {"include_permissions": "yes"},
		"config.filters":              {"filters": "*.md"},
		"config.filters.extensions":   {"filters": map[string]any{"extensions": []any{1.0}}},
		"config.filters.no_such_part": {"filters": map[string]any{"no_such_part": 1.0}},
	} {
		for name, value := range setup.Settings.Config {
			config[name] = value
		}
		err := setup.Kind.Validate(config, setup.Settings.Credentials)
		if wrong, ok := errors.AsType[*connectors.OptionError](err); !ok || wrong.Field != field {
			t.Errorf("settings with a wrong %s: got %v", field, err)
		}
	}
}

func checkSucceeds(t *testing.T, setup Setup) {
	source := setup.open(t)
	if err := source.Check(t.Context()); err != nil {
		t.Errorf("check an empty source: %v", err)
	}
	setup.Fixture.Put(t, "a.md", []byte("# A"))
	if err := source.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := source.Check(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("check when canceled: got %v, want canceled", err)
	}
}

func closeTwice(t *testing.T, setup Setup) {
	setup.Fixture.Put(t, "a.md", []byte("# A"))
	source := setup.open(t)
	itemAt(t, source, "a.md")
	for range 2 {
		if err := source.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}
