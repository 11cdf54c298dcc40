package googledrive

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
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

const maxCheckedUnits = 5

// Check implements [connectors.Source]. It tries the rights in tiers: to read
// files, and to read permissions if they are imported.
func (s *source) Check(ctx context.Context) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	units, err := s.listUnits(ctx, nil)
	if err != nil {
		return err
	}
	for _, u := range units[:min(maxCheckedUnits, len(units))] {
		query := s.listQuery(u, "trashed = false", 1)
		if u.Type == unitFolder {
			query.Set("q", parentsQuery([]string{u.ID})+" and trashed = false")
			if _, err := s.fileByID(ctx, u.Subject, u.ID); err != nil {
				return fmt.Errorf("read the folder %s: %w", u.Name, s.accessError(err))
			}
		}
		if _, err := s.listPage(ctx, u, query); err != nil {
			return fmt.Errorf("read %s: %w", s.title(u), s.accessError(err))
		}
	}
	if s.importsPermissions {
		if err := s.checkDirectory(ctx); err != nil {
			return fmt.Errorf("files can be read, but not the members of groups; people whose access comes from a group would find nothing: %w", err)
		}
	}
	return nil
}

// accessError marks a missing place as a missing right: the account does not see
// what the config names.
func (s *source) accessError(err error) error {
	if errors.Is(err, connectors.ErrNotFound) {
		return connectors.NeedsAuth(errors.New("the account does not see it; share it with the account, or correct the config"))
	}
	return err
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

// checkDirectory asks for a group that does not exist: Google answers 404 to those
// who may read groups.
func (s *source) checkDirectory(ctx context.Context) error {
	address := s.admin()
	if address == "" {
		var about struct{ User struct{ EmailAddress string } }
		if err := s.api.get(ctx, "", "about", url.Values{"fields": {"user(emailAddress)"}}, "user", &about); err != nil {
			return err
		}
		address = about.User.EmailAddress
	}
	_, domain, _ := strings.Cut(address, "@")
	_, err := s.readMembers(ctx, "magpie-connection-test@"+domain, "")
	if errors.Is(err, connectors.ErrNotFound) {
		return nil
	}
	if isForbidden(err) {
		return connectors.NeedsAuth(fmt.Errorf("%s needs the administrator's right Groups, Read, and the scope %s: %w", address, scopeMembers, err))
	}
	return err
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
