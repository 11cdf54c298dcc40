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

// Lies describe a kind to [RunLies]: a platform that answers truly, and a source
// of it whose sync makes every call that the kind knows.
type Lies struct {
	// Kind makes the kind with the suite's dialer, which leads through a proxy to
	// where Dial does; a nil Dial is the net package's. The platform speaks HTTP
	// without TLS.
	Kind func(dial Dial) connectors.Kind
	Dial Dial
	// Settings open the source. Its notes are made by the suite.
	Settings connectors.Settings
	// Absent are names that a look-up is to find nothing at.
	Absent []string
	// List names the paged list that a request is for a page of, "" for none: the
	// suite has these lists go round in circles. Small asks for less at once, so
	// that they have several pages; see [FewAtOnce]. Both may be nil.
	List  func(r *http.Request) string
	Small func(r *http.Request)
	// Believes says why a kind may take a lie for the truth at a call, "" where it
	// may not: a crawler takes any web page for one of its site's. Nil: nowhere.
	Believes func(e Exchange, lie string) string
	// Warns says that a walk may leave out what it was lied to about, and warn, or
	// ask once more. Only a kind whose walks delete nothing may: one that is not
	// bounded.
	Warns bool
}

// RunLies has a source sync against a platform that lies: once for each call that
// a true sync makes and each way to lie. A lie has to make the call fail, with an
// error that is retryable and fit to be shown. No walk may end as if it were
// complete with an item missing, no item may have another content, nothing may be
// open to others than truly are, and nothing may be remembered: a true sync
// afterwards has to find everything. Then it has every paged list go round in
// circles, and each answer drip for ever, which must end in an error.
//
// The calls are those that the source makes, so that a new one is part of the
// suite by being made.
func RunLies(t *testing.T, setup func(t *testing.T) Lies) {
	t.Helper()
	lies := setup(t)
	l := newLiar(t, lies)
	truth := lies.sync(t, l, 0, nil, false, &Notes{})
	calls := l.made()
	if failed := truth.failure(); failed != nil || len(truth.items) == 0 {
		t.Fatalf("the true sync brought %d items: %v", len(truth.items), failed)
	}
	if lies.Warns {
		if kind := lies.Kind(l.Dial); kind.Bounded {
			t.Error("a kind whose walks delete what they miss may not leave items out with a warning")
		}
	}
	var names []string
	for _, c := range calls {
		names = append(names, c.String())
	}
	t.Logf("a sync makes %d calls:\n%s", len(calls), strings.Join(names, "\n"))
	most := 4*len(calls) + 200
	first, last := occurrences(calls)
	for nth, way := range allLies() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			l := newLiar(t, lies)
			for number, call := range calls {
				told := first[number] || way.often && last[number]
				if !told || way.tell(call) == nil || (lies.Believes != nil && lies.Believes(call, way.name) != "") {
					continue
				}
				notes := &Notes{}
				got := lies.sync(t, l, most, func(at int, c Exchange) *answer {
					if at != number {
						return nil
					}
					return way.tell(c)
				}, true, notes)
				doing := fmt.Sprintf("call %d, %s, answered with %s", number, call, way.name)
				if got.calls <= number {
					t.Errorf("%s: the call was not made again", doing)
				}
				got.judge(t, doing, truth, lies, way)
				kept, err := notes.Names(t.Context(), "")
				if err == nil && len(kept) == 0 || (number+nth)%4 != 0 {
					continue // nothing is remembered; else a part of the ways is enough for each call
				}
				if after := lies.sync(t, l, most, nil, false, notes); !after.equals(truth) {
					t.Errorf("%s: a true sync afterwards does not find everything: %v", doing, after.difference(truth))
				}
			}
		})
	}
	lies.circles(t, calls, most)
	lies.drips(t, calls, first)
}

// The parts of a sync.
const (
	partWalk    = "walk"
	partOpen    = "open"
	partReaders = "readers"
	partGroups  = "groups"
	partResolve = "resolve"
	partCheck   = "check"
)

// synced is what a sync came to.
type synced struct {
	errs     map[string]error // by part, or "open ID"
	items    map[string]connectors.Item
	contents map[string]string
	readers  map[string]connectors.Readers
	groups   map[string]connectors.Group
	found    map[string]connectors.Item
	missing  []string
	warnings []string
	calls    int
	done     map[string]bool // the parts that were done
}

var hexOrNumber = regexp.MustCompile(`[0-9a-f]{7,}|[0-9]+`)

// occurrences are the first and the last call of each sort: those that differ in
// their numbers and hashes alone are of one.
func occurrences(calls []Exchange) (first, last map[int]bool) {
	first, last = map[int]bool{}, map[int]bool{}
	latest := map[string]int{}
	for number, c := range calls {
		const told = 600
		sort := hexOrNumber.ReplaceAllString(c.Method+" "+c.URI+"\n"+string(c.Body[:min(told, len(c.Body))]), "#") + http.StatusText(c.Status)
		if _, met := latest[sort]; !met {
			first[number] = true
		}
		latest[sort] = number
	}
	for _, number := range latest {
		last[number] = !first[number]
	}
	return first, last
}

func (l Lies) open(t *testing.T, dial Dial, notes *Notes) connectors.Source {
	t.Helper()
	registry, err := connectors.NewRegistry(l.Kind(dial))
	if err != nil {
		t.Fatalf("register the kind: %v", err)
	}
	kind := registry.Kinds()[0]
	settings := l.Settings
	settings.Notes, settings.Whole = notes, true
	source, err := kind.New(t.Context(), settings)
	if err != nil {
		t.Fatalf("open the source: %v", err)
	}
	return source
}

// sync does all that Magpie does with a source, one call after the other. What
// fails is noted, and the next part is done all the same, but where once is set:
// then it ends with the part in which the script had something else to say than
// the truth.
func (l Lies) sync(t *testing.T, liar *liar, most int, script func(int, Exchange) *answer, once bool, notes *Notes) *synced {
	t.Helper()
	var lied atomic.Bool
	liar.begin(most, func(number int, c Exchange) *answer {
		if script == nil {
			return nil
		}
		lie := script(number, c)
		if lie != nil && once {
			lied.Store(true)
		}
		return lie
	})
	ctx := t.Context()
	s := &synced{
		done: map[string]bool{}, errs: map[string]error{}, items: map[string]connectors.Item{}, contents: map[string]string{},
		readers: map[string]connectors.Readers{}, groups: map[string]connectors.Group{}, found: map[string]connectors.Item{},
	}
	defer func() { s.calls = len(liar.made()) }()
	source := l.open(t, liar.Dial, notes)
	defer func() { _ = source.Close() }()
	s.walk(ctx, source)
	all := s.open(ctx, source, lied.Load)
	if lister, ok := source.(connectors.PermissionLister); ok && !lied.Load() {
		readers, err := lister.Readers(ctx, all)
		s.note(partReaders, err)
		maps.Copy(s.readers, readers)
	}
	if directory, ok := source.(connectors.Directory); ok && !lied.Load() {
		s.groupsOf(ctx, directory)
	}
	// Look-ups and tests are made by sources of their own, which have nothing at hand.
	again := l.open(t, liar.Dial, notes)
	defer func() { _ = again.Close() }()
	if resolver, ok := again.(connectors.Resolver); ok {
		for _, name := range append(s.ids(), l.Absent...) {
			if !lied.Load() {
				s.resolve(ctx, resolver, name)
			}
		}
	}
	if lied.Load() {
		return s
	}
	tested := l.open(t, liar.Dial, &Notes{})
	defer func() { _ = tested.Close() }()
	s.note(partCheck, tested.Check(ctx))
	return s
}

func (s *synced) note(part string, err error) {
	s.done[part] = true
	if err != nil {
		s.errs[part] = err
	}
}

// ids are those of the items that were walked, in their order.
func (s *synced) ids() []string { return slices.Sorted(maps.Keys(s.items)) }

// open reads the content of each item until it is to end, and returns all items.
func (s *synced) open(ctx context.Context, source connectors.Source, end func() bool) []connectors.Item {
	var all []connectors.Item
	for _, id := range s.ids() {
		item := s.items[id]
		all = append(all, item)
		switch {
		case end():
			return all
		case item.Content != nil:
			s.contents[id] = string(item.Content)
			continue
		}
		content, err := read(ctx, source, item)
		if err != nil {
			s.errs[partOpen+" "+id] = err
			continue
		}
		s.contents[id] = string(content)
	}
	return all
}

func (s *synced) walk(ctx context.Context, source connectors.Source) {
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
			s.errs[partWalk] = connectors.Retryable(fmt.Errorf("a page names itself as the next one: %q", cursor), 0) // as the engine says
			return
		}
		cursor = page.Next
	}
	s.errs[partWalk] = errors.New("the walk did not come to an end")
}

func (s *synced) groupsOf(ctx context.Context, directory connectors.Directory) {
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
			s.errs[partGroups] = connectors.Retryable(fmt.Errorf("a page names itself as the next one: %q", cursor), 0)
			return
		}
		cursor = page.Next
	}
	s.errs[partGroups] = errors.New("the groups did not come to an end")
}

// resolve looks a name up, apart from others so that the calls come in one order.
func (s *synced) resolve(ctx context.Context, resolver connectors.Resolver, name string) {
	s.done[partResolve+" "+name] = true
	found, missing, err := resolver.Resolve(ctx, []string{name})
	if err != nil {
		s.errs[partResolve+" "+name] = err
		return
	}
	for _, item := range found {
		item.Content = nil
		s.found[item.ID] = item
	}
	s.missing = append(s.missing, missing...)
}

// failure is any error of the sync, nil for none.
func (s *synced) failure() error {
	for _, part := range slices.Sorted(maps.Keys(s.errs)) {
		return fmt.Errorf("%s: %w", part, s.errs[part])
	}
	return nil
}

func (s *synced) equals(truth *synced) bool { return s.difference(truth) == nil }

// difference is the first thing in which a sync is another one, nil for none.
func (s *synced) difference(truth *synced) error {
	if err := s.failure(); err != nil {
		return err
	}
	if err := s.wrong(truth); err != nil {
		return err
	}
	return s.lacks(truth)
}

// wrong is the first thing that a sync got which is not so.
func (s *synced) wrong(truth *synced) error {
	for id, item := range s.items {
		if real, known := truth.items[id]; !known || !same(item, real) {
			return fmt.Errorf("the item %s is %+v, truly %+v", id, bare(item), bare(real))
		}
	}
	for id, content := range s.contents {
		if want := truth.contents[id]; content != want {
			return fmt.Errorf("the content of %s is %.300q, truly %.300q", id, content, want)
		}
	}
	for id, r := range s.readers {
		if want := truth.readers[id]; !reflect.DeepEqual(r, want) && (r.Everyone || len(r.Principals) > 0) {
			return fmt.Errorf("%s is shown to %+v, truly to %+v", id, r, want)
		}
	}
	for name, g := range s.groups {
		if want := truth.groups[name]; slices.ContainsFunc(g.Members, func(m string) bool { return !slices.Contains(want.Members, m) }) {
			return fmt.Errorf("the group %s has %q, truly %q", name, g.Members, want.Members)
		}
	}
	for id, item := range s.found {
		if real, known := truth.found[id]; !known || !same(item, real) {
			return fmt.Errorf("looking up %s gives %+v, truly %+v", id, bare(item), bare(real))
		}
	}
	for _, name := range s.missing {
		if !slices.Contains(truth.missing, name) {
			return fmt.Errorf("looking up %s finds nothing, which would delete it", name)
		}
	}
	return nil
}

// lacks is the first thing that a part of a sync which did not fail left out.
func (s *synced) lacks(truth *synced) error {
	if s.errs[partWalk] == nil {
		for id := range truth.items {
			if _, there := s.items[id]; !there {
				return fmt.Errorf("a walk that calls itself complete lacks %s, which would delete it", id)
			}
		}
	}
	if s.done[partReaders] && s.errs[partReaders] == nil {
		for id, want := range truth.readers {
			if _, walked := s.items[id]; walked && !reflect.DeepEqual(s.readers[id], want) {
				return fmt.Errorf("%s is shown to %+v, truly to %+v", id, s.readers[id], want)
			}
		}
	}
	if s.done[partGroups] && s.errs[partGroups] == nil && !reflect.DeepEqual(s.groups, truth.groups) {
		return fmt.Errorf("the groups are %+v, truly %+v", s.groups, truth.groups)
	}
	for id := range truth.found {
		if _, there := s.found[id]; !there && s.done[partResolve+" "+id] && s.errs[partResolve+" "+id] == nil {
			return fmt.Errorf("looking up %s finds nothing", id)
		}
	}
	return nil
}

func same(a, b connectors.Item) bool { return reflect.DeepEqual(bare(a), bare(b)) }

// bare is an item without a content that was at hand.
func bare(item connectors.Item) connectors.Item {
	item.Content = nil
	return item
}

// judge says what is wrong with how a sync took a lie.
func (s *synced) judge(t *testing.T, doing string, truth *synced, lies Lies, way lie) {
	t.Helper()
	if err := s.wrong(truth); err != nil {
		t.Errorf("%s: %v", doing, err)
	}
	warned := lies.Warns && slices.ContainsFunc(s.warnings, func(w string) bool { return !slices.Contains(truth.warnings, w) })
	if !warned {
		if err := s.lacks(truth); err != nil {
			t.Errorf("%s: %v", doing, err)
		}
		if len(s.errs) == 0 && !lies.Warns {
			t.Errorf("%s: nobody noticed", doing)
		}
	}
	for part, err := range s.errs {
		lies.proper(t, doing+": "+part, err, way.login)
	}
}

// proper checks an error that a lie led to.
func (l Lies) proper(t *testing.T, doing string, err error, login bool) {
	t.Helper()
	_, again := connectors.RetryAfterOf(err)
	text := err.Error()
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		t.Errorf("%s takes it for deleted: %v", doing, err)
	case connectors.IsSkip(err):
		t.Errorf("%s leaves it out: %v", doing, err)
	case !again && login && strings.Contains(doing, ": "+partOpen) && !connectors.IsFatal(err): // it fails alone, and keeps the document it has
	case !again && (!login || !connectors.IsNeedsAuth(err)):
		t.Errorf("%s is not to be tried again: %v (fatal %v, needs auth %v)", doing, err, connectors.IsFatal(err), connectors.IsNeedsAuth(err))
	case len(text) > 1000 || strings.ContainsAny(text, "\n\r<>"):
		t.Errorf("%s is not fit to be shown: %.300q", doing, text)
	}
	for name, secret := range l.Settings.Credentials {
		if len(secret) > 6 && strings.Contains(text, secret) {
			t.Errorf("%s tells credentials.%s: %v", doing, name, err)
		}
	}
}

// goesOn says whether a request is for a page that another one named, by the
// parameters that lists have for it.
func goesOn(e Exchange) bool {
	at, err := url.ParseRequestURI(e.URI)
	if err != nil {
		return false
	}
	form, _ := url.ParseQuery(string(e.Body))
	for _, values := range []url.Values{at.Query(), form} {
		page, start := values.Get("page"), values.Get("start")
		if page != "" && page != "1" || start != "" && start != "0" || values.Get("cursor") != "" || values.Get("continuation-token") != "" {
			return true
		}
	}
	return false
}

// circles has each paged list lead to itself, and then to and fro between two of
// its pages.
func (l Lies) circles(t *testing.T, calls []Exchange, most int) {
	pages := map[string][]Exchange{}
	for _, c := range calls {
		if c.List == "" && goesOn(c) {
			t.Errorf("%s is a page of a list that List does not name", c)
		}
		if c.List == "" || c.Status != http.StatusOK {
			continue
		}
		if at := slices.IndexFunc(pages[c.List], func(p Exchange) bool { return bytes.Equal(p.Answer, c.Answer) }); at < 0 {
			pages[c.List] = append(pages[c.List], c)
		}
	}
	for _, list := range slices.Sorted(maps.Keys(pages)) {
		some := pages[list]
		circles := map[string][]Exchange{}
		if len(some) > 1 {
			circles["itself"] = some[:1]
		}
		if len(some) > 2 { // the second leads on, too
			circles["and back"] = some[:2]
		}
		for name, circle := range circles {
			t.Run("circle/"+list+"/"+name, func(t *testing.T) {
				t.Parallel()
				liar := newLiar(t, l)
				told := 0
				got := l.sync(t, liar, most, func(_ int, c Exchange) *answer {
					if c.List != list {
						return nil
					}
					page := circle[told%len(circle)]
					told++
					return &answer{status: page.Status, header: page.Header, body: page.Answer, length: -1}
				}, false, &Notes{})
				if got.calls >= most {
					t.Errorf("the list %s was followed for %d calls", list, got.calls)
				}
				if len(got.errs) == 0 {
					t.Errorf("the list %s leads to %s, and nobody noticed", list, name)
				}
				for part, err := range got.errs {
					l.proper(t, part, err, false)
				}
			})
		}
	}
}
