package salesforce

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/connectors"
)

// A source is an opened organization.
type source struct {
	api      *api
	settings connectors.Settings
	state    connectors.State
	filters  map[string][]string
	fields   map[string][]string
	imports  bool // permissions

	loading sync.Mutex // held while the objects or the rules are read

	mutex    sync.Mutex // guards the fields below
	objects  []*object  // nil until they are read
	lost     []string   // objects that the organization does not have
	absent   map[string]bool
	warnings []string
	warned   map[string]bool
	sharing  *sharing        // nil until it is read
	window   *window         // of the last token
	facts    map[string]fact // of records, by id
	saved    map[string]bool // groups of readers that are in the state
}

func open(dial connectors.Dial, s connectors.Settings) (*source, error) {
	filters, err := parseFilters(s.String(optionFilter))
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("config.%s: %w", optionFilter, err))
	}
	fields, err := parseFields(s.Strings(optionFields))
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("config.%s: %w", optionFields, err))
	}
	a, err := newAPI(dial, s)
	if err != nil {
		return nil, err
	}
	imports, _ := s.IncludesPermissions()
	src := &source{api: a, settings: s, state: s.State, filters: filters, fields: fields, imports: imports, warned: map[string]bool{}, saved: map[string]bool{}}
	if src.state == nil {
		src.state = &connectors.MemoryState{}
	}
	src.reset()
	return src, nil
}

// reset deletes what a new walk must request again.
func (s *source) reset() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.objects, s.lost, s.absent, s.sharing, s.window, s.facts = nil, nil, map[string]bool{}, nil, nil, map[string]fact{}
}

// warn adds a warning to the next page, once.
func (s *source) warn(text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.warned[text] {
		s.warned[text] = true
		s.warnings = append(s.warnings, text)
	}
}

func (s *source) takeWarnings() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	warnings := s.warnings
	s.warnings = nil
	return warnings
}

// names returns the names of the objects that the settings select.
func (s *source) names(ctx context.Context) ([]string, error) {
	names := slices.Clone(s.settings.Strings(optionObjects))
	if len(names) == 0 {
		names = defaultObjects()
	}
	if s.settings.Boolean(optionCustom) {
		custom, err := s.api.customObjects(ctx)
		if err != nil {
			return nil, err
		}
		names = append(names, custom...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// load returns the objects, with the fields that documents have.
func (s *source) load(ctx context.Context) ([]*object, error) {
	s.loading.Lock()
	defer s.loading.Unlock()
	s.mutex.Lock()
	objects := s.objects
	s.mutex.Unlock()
	if objects != nil {
		return objects, nil
	}
	names, err := s.names(ctx)
	if err != nil {
		return nil, err
	}
	described, err := s.api.describe(ctx, names)
	if err != nil {
		return nil, err
	}
	var lost []string
	for i, o := range described {
		if o == nil {
			lost = append(lost, names[i])
			continue
		}
		if err := s.configure(o); err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	if len(objects) == 0 {
		return nil, connectors.NeedsAuth(fmt.Errorf("the account sees none of the objects %s; give it the right to read them, or correct config.%s", strings.Join(names, ", "), optionObjects))
	}
	var rules *sharing
	if s.imports {
		if rules, err = s.readRules(ctx, objects); err != nil {
			return nil, permissionError(err)
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.objects, s.lost, s.sharing = objects, lost, rules
	return objects, nil
}

// configure applies the settings to an object.
func (s *source) configure(o *object) error {
	if err := o.choose(s.fields[o.Name]); err != nil {
		return err
	}
	o.children = s.selectedChildren(o)
	o.filters = slices.Concat(s.filters[everyObject], s.filters[o.Name])
	if !o.isKnowledge() {
		return nil
	}
	languages := s.settings.Strings(optionLanguages)
	if f := o.byName["Language"]; f != nil && len(languages) == 0 {
		for _, v := range f.PicklistValues {
			if v.Active && checkLanguage(v.Value) == nil {
				languages = append(languages, v.Value)
			}
		}
	}
	o.filters = append(o.filters, "PublishStatus = 'Online'")
	if len(languages) > 0 {
		slices.Sort(languages)
		o.filters = append(o.filters, in("Language", languages))
	}
	return nil
}

// objectNamed returns one of the objects.
func (s *source) objectNamed(ctx context.Context, name string) (*object, error) {
	objects, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(objects, func(o *object) bool { return o.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the object is none of the connector's: %w", connectors.ErrNotFound)
	}
	return objects[i], nil
}

// hash identifies what documents are made of.
func (s *source) hash(objects []*object) string {
	var b strings.Builder
	for _, o := range objects {
		b.WriteString(o.Name + " " + o.hash() + "\n")
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

// errChanged says that an item has another version now.
var errChanged = errors.New("the record has changed since it was listed")

// seenKey is the prefix of the names of objects that had records.
const seenKey = "object/"

// markSeen remembers that an object has records.
func (s *source) markSeen(ctx context.Context, name string) error {
	known, err := s.state.Get(ctx, seenKey+name)
	if err == nil && known == nil {
		err = s.state.Put(ctx, seenKey+name, []byte("1"))
	}
	if err != nil {
		return fmt.Errorf("remember an object: %w", err)
	}
	return nil
}

// incomplete returns the objects that a walk cannot list, and warns about those that
// the settings name or that had records.
func (s *source) incomplete(ctx context.Context) ([]string, error) {
	s.mutex.Lock()
	lost := slices.Clone(s.lost)
	s.mutex.Unlock()
	for _, name := range lost {
		seen, err := s.state.Get(ctx, seenKey+name)
		if err != nil {
			return nil, fmt.Errorf("read the objects of the connector: %w", err)
		}
		if seen != nil || slices.Contains(s.settings.Strings(optionObjects), name) {
			s.warn(fmt.Sprintf("Salesforce does not show the object %s to the account; none of its documents is deleted. Give the account the right to read it, or take it out of config.%s.", name, optionObjects))
		}
	}
	return lost, nil
}

// Check implements [connectors.Source].
func (s *source) Check(ctx context.Context) error {
	if err := s.checkRead(ctx); err != nil || !s.imports {
		return err
	}
	return s.checkPermissions(ctx)
}

// CheckTiers implements [connectors.TierChecker].
func (s *source) CheckTiers(ctx context.Context) ([]connectors.Tier, error) {
	err := s.checkRead(ctx)
	tiers := []connectors.Tier{{Name: connectors.TierRead, Err: err}}
	if s.imports && err == nil {
		tiers = append(tiers, connectors.Tier{Name: connectors.TierPermissions, Err: s.checkPermissions(ctx)})
	}
	return tiers, ctx.Err()
}

func (s *source) checkRead(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.reset()
	objects, err := s.load(ctx)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	lost := s.lost
	s.mutex.Unlock()
	for _, name := range lost {
		if slices.Contains(s.settings.Strings(optionObjects), name) {
			return connectors.NeedsAuth(fmt.Errorf("the organization does not have the object %s, or does not show it to the account; give the account the right to read it, or take it out of config.%s", name, optionObjects))
		}
	}
	for _, o := range objects {
		if _, err := s.api.readPage(ctx, o.selected(), "", 1); err != nil {
			return s.queryError(o, err)
		}
	}
	return nil
}

// queryError names the setting that a refused query comes from.
func (s *source) queryError(o *object, err error) error {
	switch codeOf(err) {
	case "MALFORMED_QUERY", "INVALID_FIELD", "INVALID_QUERY_FILTER_OPERATOR":
		if len(s.filters[everyObject])+len(s.filters[o.Name]) > 0 {
			return connectors.Fatal(fmt.Errorf("config.%s for %s: %w", optionFilter, o.Name, err))
		}
	}
	return fmt.Errorf("read records of %s: %w", o.Name, err)
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.api.close()
	return nil
}
