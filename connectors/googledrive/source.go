package googledrive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

var (
	_ connectors.Resolver    = (*source)(nil)
	_ connectors.GroupLister = (*source)(nil)
	_ connectors.Feeder      = (*source)(nil)
	_ connectors.Subscriber  = (*source)(nil)
	_ connectors.TierChecker = (*source)(nil)

	errClosed  = errors.New("the source is closed")
	errChanged = errors.New("it was changed since it was listed")
)

// A source is an opened Drive.
type source struct {
	api                *api
	settings           connectors.Settings
	state              connectors.State
	importsPermissions bool
	now                func() time.Time
	closed             atomic.Bool

	mutex         sync.Mutex // guards the fields below
	units         []unit
	trees         map[string]*tree // by key
	noAdmin       bool
	driveSubjects map[string]string       // by drive
	access        map[string]access       // by file
	inherited     map[string][]permission // by folder or drive
	noDirectory   bool                    // the right to read groups is missing
	warnings      []string
	warningSet    map[string]bool
}

func open(dial connectors.Dial, s connectors.Settings) (*source, error) {
	if dial == nil {
		return nil, errors.New("open a Google Drive source: no dialer was given")
	}
	permissions, _ := s.IncludesPermissions()
	src := &source{
		settings: s, state: s.State, importsPermissions: permissions, now: time.Now,
		trees: map[string]*tree{}, driveSubjects: map[string]string{}, access: map[string]access{}, inherited: map[string][]permission{}, warningSet: map[string]bool{},
	}
	if src.state == nil {
		src.state = &connectors.MemoryState{}
	}
	var err error
	src.api, err = newAPI(dial, s, src.now)
	return src, err
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.closed.Store(true)
	s.api.close()
	return nil
}

func (s *source) checkOpen(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return connectors.Fatal(errClosed)
	}
	return nil
}

// resetCaches forgets what a new walk must ask again.
func (s *source) resetCaches() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.units = nil
	clear(s.trees)
	clear(s.access)
	clear(s.inherited)
}

// addWarning adds a warning to the next page, once.
func (s *source) addWarning(text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.warningSet[text] {
		s.warningSet[text] = true
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

// warnHidden says that a unit is left out.
func (s *source) warnHidden(u unit, err error) {
	if isUnknownPerson(err) {
		s.warnPerson(u.Subject)
		return
	}
	s.addWarning("Google does not show " + s.title(u) + " to the account. Its documents stay as they are until it is shared again or removed from the config.")
}

// warnPerson says that the files of a person are left out.
func (s *source) warnPerson(person string) {
	s.addWarning(fmt.Sprintf("Google does not know %s, or has suspended the account. The person's documents stay as they are until the account is back or removed from config.%s.", person, optionUsers))
}

// title returns the name of a unit for people.
func (s *source) title(u unit) string {
	switch {
	case u.Type == unitDrive:
		return fmt.Sprintf("the shared drive %q", u.Name)
	case u.Type == unitFolder:
		return fmt.Sprintf("the folder %q", u.Name)
	case u.Subject != "" && u.Subject == s.admin():
		return "the administrator's Drive"
	case u.Subject != "":
		return "the Drive of " + u.Subject
	}
	return "My Drive"
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
