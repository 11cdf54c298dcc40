package connectortest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/magpie-search/magpie/connectors"
)

// A FaultInjection describes a kind, its platform and a source to
// [RunFaultInjection]. A sync of the source must make every call that the kind
// can make.
type FaultInjection struct {
	// Kind makes the kind with the suite's dialer, which connects to a proxy.
	// The proxy connects to the platform with Dial; nil means the net
	// package's. The platform serves HTTP without TLS.
	Kind func(dial connectors.Dial) connectors.Kind
	Dial connectors.Dial
	// Settings open the source. The suite sets their State.
	Settings connectors.Settings
	// FeedToken is a token of the kind's feed from before changes, at least one of an
	// item. With it, the sync also reads the changes.
	FeedToken string
	// FeedState is the state from before the changes, as [RecordFeed] returns it: the
	// changes are read with a copy of it. If it is nil, they are read with the state of
	// the sync.
	FeedState *State
	// AbsentNames are names that [connectors.Resolver] must report as missing.
	AbsentNames []string
	// PagedList returns the name of the paged list that a request reads a page
	// of, or "". The suite lets these lists repeat in loops. It may be nil.
	PagedList func(r *http.Request) string
	// ShrinkPages reduces the page size of a request, so that lists have
	// several pages. See [OneItemPages]. It may be nil.
	ShrinkPages func(r *http.Request)
	// Undetectable returns why the kind cannot detect a fault in an exchange,
	// or "" if it must. For example, a crawler accepts any web page. It may be
	// nil.
	Undetectable func(e Exchange, fault string) string
	// AllowWarnings says that a walk may leave out the items of a wrong
	// response with a warning, or repeat the request. Only kinds that do not
	// enumerate may, since their walks delete nothing.
	AllowWarnings bool
}

// RunFaultInjection syncs a source repeatedly, each time with one wrong
// response: every call of a sync is combined with every fault. The call must
// fail with a retryable error that can be shown to people. No walk may end as
// complete without all items, no item may have another content, no item may
// have more readers, and no fault may leave traces: a correct sync afterwards
// must find everything.
//
// Then it lets every paged list repeat in a loop and every response body arrive
// without end, both of which must end in an error.
//
// The calls are recorded from a correct sync, so that a new call of a kind is
// part of the suite without further work. With -short each call meets a third of
// the faults, and each fault a third of the calls.
func RunFaultInjection(t *testing.T, setup func(t *testing.T) FaultInjection) {
	t.Helper()
	injection := setup(t)
	proxy := newFaultProxy(t, injection)
	want := injection.sync(t, proxy, 0, nil, false, &State{})
	calls := proxy.recorded()
	if failed := want.failure(); failed != nil || len(want.items) == 0 {
		t.Fatalf("the correct sync returned %d items: %v", len(want.items), failed)
	}
	if injection.FeedToken != "" && len(want.changes.items) == 0 || injection.FeedState != nil && len(want.changes.gone) == 0 {
		t.Fatalf("the correct sync read %d changed items from the feed, and %d that are gone", len(want.changes.items), len(want.changes.gone))
	}
	if injection.AllowWarnings {
		if kind := injection.Kind(proxy.Dial); kind.Enumerates {
			t.Error("AllowWarnings is set for a kind that enumerates")
		}
	}
	var names []string
	for _, c := range calls {
		names = append(names, c.String())
	}
	t.Logf("a sync makes %d calls:\n%s", len(calls), strings.Join(names, "\n"))
	maxCalls := 4*len(calls) + 200
	first, last := occurrences(calls)
	for faultNumber, fault := range responseFaults() {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			proxy := newFaultProxy(t, injection)
			for number, call := range calls {
				inject := first[number] || fault.alsoLast && last[number]
				if testing.Short() && (number+faultNumber)%shortShare != 0 {
					inject = false
				}
				if !inject || fault.respond(call) == nil || (injection.Undetectable != nil && injection.Undetectable(call, fault.name) != "") {
					continue
				}
				state := &State{}
				got := injection.sync(t, proxy, maxCalls, func(n int, c Exchange) *response {
					if n != number {
						return nil
					}
					return fault.respond(c)
				}, true, state)
				description := fmt.Sprintf("call %d, %s, answered with %s", number, call, fault.name)
				if got.calls <= number {
					t.Errorf("%s: the call was not repeated", description)
				}
				got.check(t, description, want, injection, fault)
				keys, err := state.Keys(t.Context(), "")
				if err == nil && len(keys) == 0 || (number+faultNumber)%4 != 0 {
					continue // no state to check; otherwise a quarter of the faults suffices for each call
				}
				if after := injection.sync(t, proxy, maxCalls, nil, false, state); !after.equals(want) {
					t.Errorf("%s: a correct sync afterwards differs: %v", description, after.difference(want))
				}
			}
		})
	}
	injection.injectLoops(t, calls, maxCalls)
	injection.injectSlowBodies(t, calls, first)
}

// shortShare is the divisor of the faults that each call meets in a test with -short.
const shortShare = 3

// The parts of a sync.
const (
	partWalk    = "walk"
	partOpen    = "open"
	partReaders = "readers"
	partGroups  = "groups"
	partResolve = "resolve"
	partCheck   = "check"
)

// A syncResult is the result of a sync.
type syncResult struct {
	errs     map[string]error // by part, or "open ID"
	items    map[string]connectors.Item
	contents map[string]string
	readers  map[string]connectors.Readers
	groups   map[string]connectors.Group
	resolved map[string]connectors.Item
	missing  []string
	changes  changeSet
	warnings []string
	calls    int
	done     map[string]bool // the parts that ran
}

var hexOrNumber = regexp.MustCompile(`[0-9a-f]{7,}|[0-9]+`)

// occurrences returns the first and the last call of each sort. Calls are of
// the same sort if they differ only in numbers and hashes.
func occurrences(calls []Exchange) (first, last map[int]bool) {
	first, last = map[int]bool{}, map[int]bool{}
	latest := map[string]int{}
	for number, c := range calls {
		const maxBody = 600
		sort := hexOrNumber.ReplaceAllString(c.Method+" "+c.URI+"\n"+string(c.Body[:min(maxBody, len(c.Body))]), "#") + http.StatusText(c.Status)
		if _, exists := latest[sort]; !exists {
			first[number] = true
		}
		latest[sort] = number
	}
	for _, number := range latest {
		last[number] = !first[number]
	}
	return first, last
}

func (l FaultInjection) openSource(t *testing.T, dial connectors.Dial, state *State) connectors.Source {
	t.Helper()
	registry, err := connectors.NewRegistry(l.Kind(dial))
	if err != nil {
		t.Fatalf("NewRegistry: %v", err)
	}
	kind := registry.Kinds()[0]
	settings := l.Settings
	settings.State, settings.FullWalk = state, true
	source, err := kind.New(t.Context(), settings)
	if err != nil {
		t.Fatalf("open the source: %v", err)
	}
	return source
}

// sync makes all calls that Magpie makes to a source, one after the other. It
// records the errors and continues after them. With stopAtFault, it ends after
// the part in which script replaced a response.
func (l FaultInjection) sync(t *testing.T, proxy *faultProxy, maxCalls int, script func(int, Exchange) *response, stopAtFault bool, state *State) *syncResult {
	t.Helper()
	var injected atomic.Bool
	proxy.start(maxCalls, func(number int, c Exchange) *response {
		if script == nil {
			return nil
		}
		reply := script(number, c)
		if reply != nil && stopAtFault {
			injected.Store(true)
		}
		return reply
	})
	ctx := t.Context()
	s := &syncResult{
		done: map[string]bool{}, errs: map[string]error{}, items: map[string]connectors.Item{}, contents: map[string]string{},
		readers: map[string]connectors.Readers{}, groups: map[string]connectors.Group{}, resolved: map[string]connectors.Item{},
	}
	defer func() { s.calls = len(proxy.recorded()) }()
	source := l.openSource(t, proxy.Dial, state)
	defer func() { _ = source.Close() }()
	s.walk(ctx, source)
	items := s.open(ctx, source, injected.Load)
	if lister, ok := source.(connectors.PermissionLister); ok && !injected.Load() {
		readers, err := lister.Readers(ctx, items)
		s.record(partReaders, err)
		maps.Copy(s.readers, readers)
	}
	l.syncFeed(t, s, source, proxy.Dial, injected.Load)
	if directory, ok := source.(connectors.GroupLister); ok && !injected.Load() {
		s.listGroups(ctx, directory)
	}
	// Resolve and Check run in new sources, which have nothing cached.
	second := l.openSource(t, proxy.Dial, state)
	defer func() { _ = second.Close() }()
	if resolver, ok := second.(connectors.Resolver); ok {
		for _, name := range append(s.ids(), l.AbsentNames...) {
			if !injected.Load() {
				s.resolve(ctx, resolver, name)
			}
		}
	}
	if injected.Load() {
		return s
	}
	tested := l.openSource(t, proxy.Dial, &State{})
	defer func() { _ = tested.Close() }()
	s.record(partCheck, tested.Check(ctx))
	return s
}

func (s *syncResult) record(part string, err error) {
	s.done[part] = true
	if err != nil {
		s.errs[part] = err
	}
}

// ids returns the sorted ids of the walked items.
func (s *syncResult) ids() []string { return slices.Sorted(maps.Keys(s.items)) }

// open reads the content of the items until stop returns true, and returns the
// items.
func (s *syncResult) open(ctx context.Context, source connectors.Source, stop func() bool) []connectors.Item {
	var items []connectors.Item
	for _, id := range s.ids() {
		item := s.items[id]
		items = append(items, item)
		switch {
		case stop():
			return items
		case item.Content != nil:
			s.contents[id] = string(item.Content)
			continue
		}
		content, err := readContent(ctx, source, item)
		if err != nil {
			s.errs[partOpen+" "+id] = err
			continue
		}
		s.contents[id] = string(content)
	}
	return items
}

func (s *syncResult) walk(ctx context.Context, source connectors.Source) {
	cursor := ""
	for range maxPages {
		page, err := source.Walk(ctx, cursor)
		if err != nil {
			s.errs[partWalk] = err
			return
		}
		for _, item := range page.Items {
			s.items[item.ID] = item
		}
		s.warnings = append(s.warnings, page.Warnings...)
		if page.Done {
			return
		}
		if page.Next == cursor {
			s.errs[partWalk] = connectors.Retryable(fmt.Errorf("a page leads to itself: %q", cursor), 0) // as the engine does
			return
		}
		cursor = page.Next
	}
	s.errs[partWalk] = errors.New("the walk did not come to an end")
}

func (s *syncResult) listGroups(ctx context.Context, directory connectors.GroupLister) {
	s.done[partGroups] = true
	cursor := ""
	for range maxPages {
		page, err := directory.Groups(ctx, cursor)
		if err != nil {
			s.errs[partGroups] = err
			return
		}
		for _, g := range page.Groups {
			s.groups[g.Principal] = g
		}
		if page.Done {
			return
		}
		if page.Next == cursor {
			s.errs[partGroups] = connectors.Retryable(fmt.Errorf("a page leads to itself: %q", cursor), 0)
			return
		}
		cursor = page.Next
	}
	s.errs[partGroups] = errors.New("the groups did not come to an end")
}

// resolve looks up a name in a call of its own, so that the order of calls is
// fixed.
func (s *syncResult) resolve(ctx context.Context, resolver connectors.Resolver, name string) {
	s.done[partResolve+" "+name] = true
	found, missing, err := resolver.Resolve(ctx, []string{name})
	if err != nil {
		s.errs[partResolve+" "+name] = err
		return
	}
	for _, item := range found {
		item.Content = nil
		s.resolved[item.ID] = item
	}
	s.missing = append(s.missing, missing...)
}

// failure returns one of the errors of the sync, or nil.
func (s *syncResult) failure() error {
	for _, part := range slices.Sorted(maps.Keys(s.errs)) {
		return fmt.Errorf("%s: %w", part, s.errs[part])
	}
	return nil
}

func (s *syncResult) equals(want *syncResult) bool { return s.difference(want) == nil }

// difference returns the first difference to another sync, or nil.
func (s *syncResult) difference(want *syncResult) error {
	if err := s.failure(); err != nil {
		return err
	}
	if err := s.firstWrong(want); err != nil {
		return err
	}
	return s.firstMissing(want)
}

// firstWrong returns the first result that the correct sync does not have, or
// nil.
func (s *syncResult) firstWrong(want *syncResult) error {
	for id, item := range s.items {
		if real, known := want.items[id]; !known || !equalItems(item, real) {
			return fmt.Errorf("the item %s is %+v, want %+v", id, withoutContent(item), withoutContent(real))
		}
	}
	for id, content := range s.contents {
		if expected := want.contents[id]; content != expected {
			return fmt.Errorf("the content of %s is %.300q, want %.300q", id, content, expected)
		}
	}
	for id, r := range s.readers {
		if expected := want.readers[id]; !reflect.DeepEqual(r, expected) && (r.Everyone || len(r.Principals) > 0) {
			return fmt.Errorf("the readers of %s are %+v, want %+v", id, r, expected)
		}
	}
	for name, g := range s.groups {
		if expected := want.groups[name]; slices.ContainsFunc(g.Members, func(m string) bool { return !slices.Contains(expected.Members, m) }) {
			return fmt.Errorf("the group %s has the members %q, want %q", name, g.Members, expected.Members)
		}
	}
	for id, item := range s.resolved {
		if real, known := want.resolved[id]; !known || !equalItems(item, real) {
			return fmt.Errorf("Resolve(%s) = %+v, want %+v", id, withoutContent(item), withoutContent(real))
		}
	}
	if err := s.changes.firstWrong(want.changes); err != nil {
		return err
	}
	for _, name := range s.missing {
		if !slices.Contains(want.missing, name) {
			return fmt.Errorf("Resolve reports %s as missing, so that it would be deleted", name)
		}
	}
	return nil
}

// firstMissing returns the first result that a part without error lacks, or
// nil.
func (s *syncResult) firstMissing(want *syncResult) error {
	if s.errs[partWalk] == nil {
		for id := range want.items {
			if _, exists := s.items[id]; !exists {
				return fmt.Errorf("a complete walk lacks %s, so that it would be deleted", id)
			}
		}
	}
	if s.done[partReaders] && s.errs[partReaders] == nil {
		for id, expected := range want.readers {
			if _, walked := s.items[id]; walked && !reflect.DeepEqual(s.readers[id], expected) {
				return fmt.Errorf("the readers of %s are %+v, want %+v", id, s.readers[id], expected)
			}
		}
	}
	if s.done[partGroups] && s.errs[partGroups] == nil && !reflect.DeepEqual(s.groups, want.groups) {
		return fmt.Errorf("the groups are %+v, want %+v", s.groups, want.groups)
	}
	if s.done[partChanges] && s.errs[partChanges] == nil {
		if err := s.changes.firstMissing(want.changes); err != nil {
			return err
		}
	}
	for id := range want.resolved {
		if _, exists := s.resolved[id]; !exists && s.done[partResolve+" "+id] && s.errs[partResolve+" "+id] == nil {
			return fmt.Errorf("Resolve(%s) finds nothing", id)
		}
	}
	return nil
}

func equalItems(a, b connectors.Item) bool {
	return reflect.DeepEqual(withoutContent(a), withoutContent(b))
}

// withoutContent returns the item without its Content.
func withoutContent(item connectors.Item) connectors.Item {
	item.Content = nil
	return item
}

// check reports the errors in how a sync handled a fault.
func (s *syncResult) check(t *testing.T, description string, want *syncResult, injection FaultInjection, fault responseFault) {
	t.Helper()
	if err := s.firstWrong(want); err != nil {
		t.Errorf("%s: %v", description, err)
	}
	warned := injection.AllowWarnings && slices.ContainsFunc(s.warnings, func(w string) bool { return !slices.Contains(want.warnings, w) })
	if !warned {
		if err := s.firstMissing(want); err != nil {
			t.Errorf("%s: %v", description, err)
		}
		if len(s.errs) == 0 && !injection.AllowWarnings {
			t.Errorf("%s: no error", description)
		}
	}
	for part, err := range s.errs {
		injection.checkError(t, description+": "+part, err, fault.isLogin)
	}
}

// checkError checks an error that a fault caused.
func (l FaultInjection) checkError(t *testing.T, description string, err error, isLogin bool) {
	t.Helper()
	_, retryable := connectors.RetryAfterOf(err)
	text := err.Error()
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		t.Errorf("%s is ErrNotFound, so that the item would be deleted: %v", description, err)
	case connectors.IsSkip(err):
		t.Errorf("%s skips the item: %v", description, err)
	case !retryable && isLogin && strings.Contains(description, ": "+partOpen) && !connectors.IsFatal(err): // only this item fails, and its document stays
	case !retryable && (!isLogin || !connectors.IsNeedsAuth(err)):
		t.Errorf("%s is not retryable: %v (fatal %v, needs auth %v)", description, err, connectors.IsFatal(err), connectors.IsNeedsAuth(err))
	case len(text) > 1000 || strings.ContainsAny(text, "\n\r<>"):
		t.Errorf("%s has an unsuitable text: %.300q", description, text)
	}
	for name, secret := range l.Settings.Credentials {
		if len(secret) > 6 && strings.Contains(text, secret) {
			t.Errorf("%s contains credentials.%s: %v", description, name, err)
		}
	}
}

// isLaterPage reports whether a request reads a page after the first, judging
// by the usual parameters of paged lists.
func isLaterPage(e Exchange) bool {
	target, err := url.ParseRequestURI(e.URI)
	if err != nil {
		return false
	}
	form, _ := url.ParseQuery(string(e.Body))
	for _, values := range []url.Values{target.Query(), form} {
		page, start := values.Get("page"), values.Get("start")
		if page != "" && page != "1" || start != "" && start != "0" || values.Get("cursor") != "" || values.Get("continuation-token") != "" {
			return true
		}
	}
	return false
}

// injectLoops lets each paged list repeat its first page, and alternate between
// two pages.
func (l FaultInjection) injectLoops(t *testing.T, calls []Exchange, maxCalls int) {
	pages := map[string][]Exchange{}
	for _, c := range calls {
		if c.List == "" && isLaterPage(c) {
			t.Errorf("%s is a page of a list that PagedList does not name", c)
		}
		if c.List == "" || c.Status != http.StatusOK {
			continue
		}
		if at := slices.IndexFunc(pages[c.List], func(p Exchange) bool { return bytes.Equal(p.ResponseBody, c.ResponseBody) }); at < 0 {
			pages[c.List] = append(pages[c.List], c)
		}
	}
	for _, list := range slices.Sorted(maps.Keys(pages)) {
		distinct := pages[list]
		loops := map[string][]Exchange{}
		if len(distinct) > 1 {
			loops["itself"] = distinct[:1]
		}
		if len(distinct) > 2 { // the second page also has a next one
			loops["a page before it"] = distinct[:2]
		}
		for name, loop := range loops {
			t.Run("circle/"+list+"/"+name, func(t *testing.T) {
				t.Parallel()
				proxy := newFaultProxy(t, l)
				replies := 0
				got := l.sync(t, proxy, maxCalls, func(_ int, c Exchange) *response {
					if c.List != list {
						return nil
					}
					page := loop[replies%len(loop)]
					replies++
					return &response{status: page.Status, header: page.Header, body: page.ResponseBody, length: -1}
				}, false, &State{})
				if got.calls >= maxCalls {
					t.Errorf("the list %s was read for %d calls", list, got.calls)
				}
				if len(got.errs) == 0 {
					t.Errorf("the list %s leads to %s without an error", list, name)
				}
				for part, err := range got.errs {
					l.checkError(t, part, err, false)
				}
			})
		}
	}
}
