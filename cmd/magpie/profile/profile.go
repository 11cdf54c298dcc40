package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Profile is a Magpie and the token for it.
type Profile struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	// User is the mail address of the person; empty for a service token.
	User string `json:"user,omitempty"`
	// Made is whether the login made the token, so that logging out may end it.
	Made bool `json:"made,omitempty"`
	// Insecure allows an address without encryption.
	Insecure bool `json:"insecure,omitempty"`
}

// A Set has profiles by name.
type Set struct {
	// Current is the name of the profile in use; empty for none.
	Current  string             `json:"current,omitempty"`
	Profiles map[string]Profile `json:"profiles"`

	path string
}

const (
	privateFolder = 0o700
	privateFile   = 0o600
)

// Open reads the profiles of a file; the default is magpie/profiles.json in the user's
// folder of settings. A missing file has no profiles.
func Open(path string) (*Set, error) {
	if path == "" {
		folder, err := os.UserConfigDir()
		if err != nil {
			// Without a home there are no profiles; saving one tells why.
			return &Set{Profiles: map[string]Profile{}}, nil //nolint:nilerr // see above
		}
		path = filepath.Join(folder, "magpie", "profiles.json")
	}
	s := &Set{path: path}
	content, err := os.ReadFile(path) //nolint:gosec // the user names it
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission) && !exists(path):
	case err != nil:
		return nil, fmt.Errorf("read the profiles: %w", err)
	default:
		if err := json.Unmarshal(content, s); err != nil {
			return nil, fmt.Errorf("%s is damaged; remove it and log in again", path) // the cause may quote a token
		}
		if err := readableByOthers(path); err != nil {
			return nil, err
		}
	}
	if s.Profiles == nil {
		s.Profiles = map[string]Profile{}
	}
	return s, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readableByOthers returns an error if not only the owner can read a file.
func readableByOthers(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read the profiles: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("other users of this machine may have read the tokens in %s; run chmod 600 on it, and replace the tokens", path)
	}
	return nil
}

// Save replaces the file.
func (s *Set) Save() error {
	if s.path == "" {
		return errors.New("there is no folder for the profiles: HOME is not set; set MAGPIE_PROFILES to a file")
	}
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write the profiles: %w", err)
	}
	folder := filepath.Dir(s.path)
	if err := os.MkdirAll(folder, privateFolder); err != nil {
		return fmt.Errorf("write the profiles: %w", err)
	}
	temporary, err := os.CreateTemp(folder, "profiles.*")
	if err != nil {
		return fmt.Errorf("write the profiles: %w", err)
	}
	err = temporary.Chmod(privateFile)
	if err == nil {
		_, err = temporary.Write(append(content, '\n'))
	}
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), s.path)
	}
	if err != nil {
		return fmt.Errorf("write the profiles: %w", errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}

// Path returns the path of the file.
func (s *Set) Path() string { return s.path }

// Names returns the names of the profiles in order.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.Profiles)) }

// Find returns the profile of a name, or the current one if the name is empty.
func (s *Set) Find(name string) (Profile, error) {
	if name == "" {
		name = s.Current
	}
	p, ok := s.Profiles[name]
	if !ok {
		known := "there are none; `magpie login URL` makes one"
		if len(s.Profiles) > 0 {
			known = "there are " + strings.Join(s.Names(), ", ")
		}
		return Profile{}, fmt.Errorf("there is no profile %q; %s", name, known)
	}
	return p, nil
}

// DefaultName returns the name of the profile of an address: its host, and the port if
// there is one.
func DefaultName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}
