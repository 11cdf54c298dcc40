package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/cmd/magpie/profile"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/system"
)

// destination is a Magpie that is reached over HTTP.
type destination struct {
	url, token string
	profile    string // its name; empty for the settings
	// chosen means that a flag or a setting names it, and not only the profile in use.
	chosen bool
}

// remote returns the Magpie to reach over HTTP, or nil for one whose stores are reached.
// The first of these counts: --profile; a flag that names stores or a data folder; MAGPIE_URL;
// MAGPIE_PROFILE; the profile in use.
func (r *runtime) remote() (*destination, error) {
	c, err := r.settings(nil)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Profile != "":
		return r.ofProfile(c, r.Profile, true)
	case r.DatabaseURL != "" || r.RedisURL != "" || r.Data != "":
		return nil, nil //nolint:nilnil // see the comment
	case c.URL != "":
		return r.ofSettings(c)
	case c.Profile != "":
		return r.ofProfile(c, c.Profile, true)
	}
	return r.ofProfile(c, "", false)
}

func (r *runtime) ofSettings(c *config.Config) (*destination, error) {
	address, err := profile.Address(c.URL, r.Insecure)
	if err != nil {
		return nil, fmt.Errorf("MAGPIE_URL: %w", err)
	}
	if c.Token == "" {
		return nil, errors.New("set MAGPIE_TOKEN to a token for MAGPIE_URL")
	}
	return &destination{url: address, token: c.Token.Reveal(), chosen: true}, nil
}

// ofProfile returns the Magpie of a profile, or of the one in use, if there is one.
func (r *runtime) ofProfile(c *config.Config, name string, chosen bool) (*destination, error) {
	set, err := profile.Open(c.ProfilesFile)
	if err != nil {
		return nil, err
	}
	if name == "" {
		if name = set.Current; name == "" {
			return nil, nil //nolint:nilnil // there is none
		}
	}
	p, err := set.Find(name)
	if err != nil {
		return nil, err
	}
	address, err := profile.Address(p.URL, p.Insecure || r.Insecure)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	return &destination{url: address, token: p.Token, profile: name, chosen: chosen}, nil
}

// over lets do work on a Magpie over HTTP.
func (r *runtime) over(to destination, do func(api *client.Client, dashboard string) error) error {
	r.tellWhich(to)
	executor, err := newRemote(to)
	if err != nil {
		return err
	}
	defer executor.Close()
	api := client.New(executor)
	if r.Workspace != "" {
		if err := r.checkWorkspace(api); err != nil {
			return to.explain(err)
		}
	}
	return to.explain(do(api, to.url))
}

func newRemote(to destination) (*client.Remote, error) {
	return client.NewRemote(client.RemoteOptions{URL: to.url, Token: to.token, UserAgent: "magpie/" + system.Version()})
}

// tellWhich says that the profile in use is meant, where a Magpie runs that could be.
func (r *runtime) tellWhich(to destination) {
	if to.chosen {
		return
	}
	c, err := r.settings(nil)
	if err != nil {
		return // has been read before
	}
	folder, err := local.Find(c.DataDir)
	if err != nil {
		return
	}
	if _, found, err := folder.Running(); err == nil && found {
		r.console.Note("Using the profile %s (%s); for the Magpie that runs in %s give --data.", to.profile, to.url, folder.Path())
	}
}

// explain says what to do about the refusal of a token.
func (d destination) explain(err error) error {
	if !hasCode(err, apierr.Unauthorized) {
		return err
	}
	edge, _ := errors.AsType[*apierr.Error](err)
	if d.profile == "" {
		return fmt.Errorf("%s: %s; set MAGPIE_TOKEN to another token", d.url, edge.Message)
	}
	return fmt.Errorf("%s: %s; log in again with `magpie login %s`", d.url, edge.Message, d.url)
}

// hasCode reports whether an error has a code of the APIs.
func hasCode(err error, code apierr.Code) bool {
	edge, ok := errors.AsType[*apierr.Error](err)
	return ok && edge.Code == code
}

// meRow is who the caller is.
type meRow struct {
	Role string `json:"role"`
	User struct {
		ID    uuid.UUID `json:"id"`
		Email string    `json:"email"`
		Name  string    `json:"name"`
	} `json:"user"`
	Workspace struct {
		ID        uuid.UUID `json:"id"`
		Name      string    `json:"name"`
		CreatedAt time.Time `json:"createdAt"`
	} `json:"workspace"`
}

// me asks who the caller is; nil is a service token, which is no person.
func (r *runtime) me(api *client.Client) (*meRow, error) {
	var got struct{ Me *meRow }
	err := api.Do(r, "WhoAmI", nil, &got)
	if hasCode(err, apierr.Forbidden) {
		return nil, nil //nolint:nilnil // see above
	}
	return got.Me, err
}

// checkWorkspace compares --workspace with the workspace of the token.
func (r *runtime) checkWorkspace(api *client.Client) error {
	me, err := r.me(api)
	switch {
	case err != nil:
		return err
	case me == nil:
		return errors.New("a service token is for one workspace; leave out --workspace")
	case me.Workspace.ID.String() != r.Workspace && me.Workspace.Name != r.Workspace:
		return fmt.Errorf("the token is for the workspace %s (%s), not for %q", me.Workspace.Name, me.Workspace.ID, r.Workspace)
	}
	return nil
}
