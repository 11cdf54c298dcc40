package connectortest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/connectors"
)

// A Fixture changes the content of a source, as its users would. Its methods
// fail the test if they cannot. They may be called concurrently.
type Fixture interface {
	// Put creates or replaces the content at a path.
	Put(t testing.TB, path string, content []byte)
	// Delete deletes the content at a path.
	Delete(t testing.TB, path string)
}

// toItemPath returns the item path of a fixture path.
func (s Setup) toItemPath(path string) string {
	if s.ItemPath == nil {
		return path
	}
	return s.ItemPath(path)
}

// A Setup is an empty source for one test. Kind, Settings and Fixture are
// required.
type Setup struct {
	// Kind is the kind under test. Settings open the source.
	Kind     connectors.Kind
	Settings connectors.Settings
	// Fixture changes the content of that source.
	Fixture Fixture
	// UnusualPaths are paths that the source allows and that are easily
	// mishandled.
	UnusualPaths []string
	// ItemPath returns the path of the item that Fixture.Put creates at a path.
	// It is for sources that add something to paths, and nil for others.
	ItemPath func(path string) string
	// FixturePath is the inverse of ItemPath.
	FixturePath func(path string) string
	// FixtureContent returns the content that Fixture.Put got for an item, given the
	// item's document. It is for sources that render what they read, and nil for others.
	FixtureContent func(document []byte) []byte
	// Ignore reports whether an item is not the fixture's, such as a folder of
	// its items. The suite ignores such items. It may be nil.
	Ignore func(item connectors.Item) bool
	// ItemCount is the number of items of the long walk, enough for three
	// pages. 0 means two pages of the largest size and some more.
	ItemCount int
	// Break makes the platform fail in a way until repair is called. It returns
	// nil for a way that the platform does not have. It may be nil.
	Break func(t testing.TB, how Breakage) (repair func())
	// FixedTimes says that the times of the fixture's items are not those at
	// which they were put.
	FixedTimes bool
	// Move moves what is at a path, or a folder with everything in it, to a path that
	// is free. It is nil for a source without paths that people change.
	Move func(t testing.TB, from, to string)
	// ExpireTokens makes all tokens of the feed so far expire. It is required for a
	// kind that feeds, unless its tokens never expire.
	ExpireTokens func(t testing.TB)
	// ChangeReaders changes who may read the item at a path. It may be nil.
	ChangeReaders func(t testing.TB, path string)
	// Lock makes the container of the item at a path impossible to list until unlock
	// is called. It is nil for a source without containers.
	Lock func(t testing.TB, path string) (unlock func())
	// SetClock sets the clock of the platform and the time zone of the account, and
	// returns a function that advances the clock. It is nil for a platform whose feed
	// does not ask for changes since a time.
	SetClock func(at time.Time, zone *time.Location) (advance func(d time.Duration))
	// FeedOmitsDeletions says that the platform's feed does not report deletions,
	// which only a walk finds.
	FeedOmitsDeletions bool
	// NoReaders says that nobody may read the fixture's items, for a source
	// that knows permissions.
	NoReaders bool
}

// Main runs a package's tests and fails if goroutines are still running at the
// end.
func Main(m *testing.M) { goleak.VerifyTestMain(m) }

// Run runs the suite for a kind. Each test gets a new source from setup.
func Run(t *testing.T, setup func(t *testing.T) Setup) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Setup){
		"DescribesItself":           describesItself,
		"EmptySourceEnds":           emptySourceEnds,
		"WalkListsEveryItemOnce":    walkListsEveryItemOnce,
		"ChangesAreDetected":        changesAreDetected,
		"UnusualPathsWork":          unusualPathsWork,
		"OpenReturnsTheContent":     openReturnsTheContent,
		"OpenReportsMissingItems":   openReportsMissingItems,
		"OpenRefusesAnotherVersion": openRefusesAnotherVersion,
		"OpenIsConcurrent":          openIsConcurrent,
		"WalkStopsWhenCanceled":     walkStopsWhenCanceled,
		"OpenStopsWhenCanceled":     openStopsWhenCanceled,
		"UnknownCursorsAreHarmless": unknownCursorsAreHarmless,
		"ResolveFindsPaths":         resolveFindsPaths,
		"ResolveFindsIDs":           resolveFindsIDs,
		"OptionsAreChecked":         optionsAreChecked,
		"FiltersSelect":             filtersSelect,
		"BreakagesBecomeErrors":     breakagesBecomeErrors,
		"ReadersAreListed":          readersAreListed,
		"FeedBeginsAtThePresent":    feedBeginsAtThePresent,
		"FeedReportsChanges":        feedReportsChanges,
		"FeedReportsMoves":          feedReportsMoves,
		"FeedReportsReaders":        feedReportsReaders,
		"FeedEqualsWalk":            feedEqualsWalk,
		"FeedTokensExpire":          feedTokensExpire,
		"FeedStopsWhenCanceled":     feedStopsWhenCanceled,
		"IncompleteWalksAreMarked":  incompleteWalksAreMarked,
		"CheckSucceeds":             checkSucceeds,
		"CloseTwiceIsNoError":       closeTwiceIsNoError,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, setup(t))
		})
	}
	t.Run("FeedSurvivesClocks", func(t *testing.T) {
		t.Parallel()
		feedSurvivesClocks(t, setup)
	})
}

// Open opens a source of a kind through a registry, as Magpie does. It is closed at the
// end of the test.
func Open(t testing.TB, kind connectors.Kind, settings connectors.Settings) connectors.Source {
	t.Helper()
	registry, err := connectors.NewRegistry(kind)
	if err != nil {
		t.Fatalf("NewRegistry: %v", err)
	}
	registered, ok := registry.Lookup(kind.Name)
	if !ok {
		t.Fatalf("the kind %q is not found by its name", kind.Name)
	}
	source, err := registered.New(t.Context(), settings)
	if err != nil {
		t.Fatalf("open the source: %v", err)
	}
	t.Cleanup(func() {
		if err := source.Close(); err != nil {
			t.Errorf("close the source: %v", err)
		}
	})
	return source
}

// open opens the source.
func (s Setup) open(t *testing.T) connectors.Source {
	t.Helper()
	return s.withFixturePaths(Open(t, s.Kind, s.Settings))
}

// maxPages ends walks that do not end by themselves.
const maxPages = 1000

// walk returns all pages from a cursor.
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
			t.Fatalf("page %d: the cursor %q repeats %q", len(pages), page.Next, cursor)
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

// itemsByPath walks the source and returns its items by path.
func itemsByPath(t *testing.T, source connectors.Source) map[string]connectors.Item {
	t.Helper()
	byPath := make(map[string]connectors.Item)
	for _, item := range itemsOf(walk(t, source, "")) {
		if _, twice := byPath[item.Path]; twice {
			t.Fatalf("the path %q is listed twice", item.Path)
		}
		byPath[item.Path] = item
	}
	return byPath
}

func itemAt(t *testing.T, source connectors.Source, path string) connectors.Item {
	t.Helper()
	item, ok := itemsByPath(t, source)[path]
	if !ok {
		t.Fatalf("the walk does not list %q", path)
	}
	return item
}

func readContent(ctx context.Context, source connectors.Source, item connectors.Item) ([]byte, error) {
	reader, err := source.Open(ctx, item)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(reader)
	return content, errors.Join(err, reader.Close())
}

func expectContent(t *testing.T, source connectors.Source, item connectors.Item, want []byte) {
	t.Helper()
	got, err := readContent(t.Context(), source, item)
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
		t.Fatalf("NewRegistry: %v", err)
	}
	for _, name := range append([]string{setup.Kind.Name}, setup.Kind.Aliases...) {
		if kind, ok := registry.Lookup(name); !ok || kind.Name != setup.Kind.Name {
			t.Errorf("look up %q: got %q, %v", name, kind.Name, ok)
		}
	}
	if setup.Kind.Title == "" || setup.Kind.Description == "" || setup.Kind.Category == "" {
		t.Error("the title, description or category is missing")
	}
	if _, isLister := setup.open(t).(connectors.PermissionLister); isLister != setup.Kind.Permissions {
		t.Errorf("Kind.Permissions = %v, but the sources are PermissionListers: %v", setup.Kind.Permissions, isLister)
	}
	if _, isFeeder := setup.open(t).(connectors.Feeder); isFeeder != setup.Kind.Feeds {
		t.Errorf("Kind.Feeds = %v, but the sources are Feeders: %v", setup.Kind.Feeds, isFeeder)
	}
	if err := setup.Kind.Validate(setup.Settings.Config, setup.Settings.Credentials); err != nil {
		t.Errorf("Validate of the test's settings: %v", err)
	}
	for _, option := range slices.Concat(setup.Kind.Options, setup.Kind.Credentials) {
		if option.Title == "" || option.Help == "" {
			t.Errorf("option %s: the title or help is missing", option.Name)
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
			if _, isWrong := config[name]; !isWrong {
				config[name] = value
			}
		}
		err := setup.Kind.Validate(config, setup.Settings.Credentials)
		if optionError, ok := errors.AsType[*connectors.OptionError](err); !ok || optionError.Field != field {
			t.Errorf("Validate with a wrong %s = %v, want an OptionError", field, err)
		}
	}
}

func checkSucceeds(t *testing.T, setup Setup) {
	source := setup.open(t)
	if err := source.Check(t.Context()); err != nil {
		t.Errorf("Check of an empty source: %v", err)
	}
	setup.Fixture.Put(t, "a.md", []byte("# A"))
	if err := source.Check(t.Context()); err != nil {
		t.Errorf("Check: %v", err)
	}
	if checker, ok := source.(connectors.TierChecker); ok {
		tiers, err := checker.CheckTiers(t.Context())
		if err != nil {
			t.Errorf("CheckTiers: %v", err)
		}
		for _, tier := range tiers {
			if tier.Err != nil || tier.Name == "" {
				t.Errorf("the tier %q: %v", tier.Name, tier.Err)
			}
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := source.Check(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("Check when canceled = %v, want canceled", err)
	}
}

func closeTwiceIsNoError(t *testing.T, setup Setup) {
	setup.Fixture.Put(t, "a.md", []byte("# A"))
	source := setup.open(t)
	itemAt(t, source, "a.md")
	for range 2 {
		if err := source.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}
