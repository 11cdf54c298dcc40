package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/glob"
)

// workspace is what the token can see of a workspace.
type workspace struct {
	team, url string // the workspace's id and web address
	userID    string // the token's user
	isBot     bool
	channels  map[string]channel // by id
	selected  []channel          // the channels of the walk, sorted by id
	matched   []channel          // those and the archived ones that the settings name
	warnings  []string
	scopes    map[string]bool // of the token, nil if unknown
}

type whoami struct {
	URL    string `json:"url"`
	Team   string `json:"team"`
	TeamID string `json:"team_id"`
	UserID string `json:"user_id"`
	BotID  string `json:"bot_id"`
}

// loadWorkspace reads the token's identity and its channels from Slack.
func (s *source) loadWorkspace(ctx context.Context) (*workspace, error) {
	var who whoami
	_, header, err := s.client.call(ctx, "auth.test", nil, &who)
	if err != nil {
		return nil, err
	}
	w := &workspace{
		team: who.TeamID, url: strings.TrimRight(who.URL, "/"), userID: who.UserID, isBot: who.BotID != "",
		channels: make(map[string]channel), scopes: tokenScopes(header),
	}
	types := "public_channel"
	if s.includePrivate {
		types += ",private_channel"
	}
	args := url.Values{"types": {types}, "exclude_archived": {"false"}}
	invalid := false
	_, err = s.client.eachEntry(ctx, "conversations.list", "channels", args, func(entry json.RawMessage) {
		var c channel
		if json.Unmarshal(entry, &c) != nil || c.ID == "" {
			invalid = true
			return
		}
		if channelIDPattern.MatchString(c.ID) && c.Name != "" && !c.Direct && !c.DirectMany {
			w.channels[c.ID] = c
		}
	})
	if err == nil && invalid {
		err = errUnexpectedShape("conversations.list") // an ignored channel would not be walked
	}
	if err != nil {
		return nil, err
	}
	s.selectChannels(w)
	return w, nil
}

// selectChannels selects the channels of the walk.
func (s *source) selectChannels(w *workspace) {
	matched := make(map[string]bool)
	for _, c := range w.channels {
		if c.Private && !s.includePrivate {
			continue
		}
		named := len(s.channelNames) == 0
		for _, name := range s.channelNames {
			if name == c.ID || glob.Match(name, c.Name) || slices.Contains(c.PreviousNames, name) {
				named, matched[name] = true, true
			}
		}
		if !named {
			continue
		}
		w.matched = append(w.matched, c)
		readable := c.Member || (!c.Private && (!w.isBot || (s.joinPublic && !c.Archived)))
		switch {
		case c.Archived && !s.includeArchived:
		case readable:
			w.selected = append(w.selected, c)
		case len(s.channelNames) > 0:
			w.warnings = append(w.warnings, fmt.Sprintf("The bot is not in #%s, so its messages cannot be read: invite it there, or switch config.%s on.", c.Name, optionJoin))
		}
	}
	for _, name := range s.channelNames {
		if !matched[name] && !strings.ContainsAny(name, "*?") {
			w.warnings = append(w.warnings, fmt.Sprintf("There is no channel #%s that the bot can see.", name))
		}
	}
	byID := func(a, b channel) int { return strings.Compare(a.ID, b.ID) }
	slices.SortFunc(w.selected, byID)
	slices.SortFunc(w.matched, byID)
	slices.Sort(w.warnings)
}

// reuse says which workspace may be used instead of loading it.
type reuse int

const (
	reuseNothing reuse = iota
	reuseLoaded        // the one that this source has loaded
	reuseSaved         // that, or one that another process saved minutes ago
)

const (
	workspaceKey    = "places"
	workspaceMaxAge = 5 * time.Minute
)

// savedWorkspace is the workspace in the state. It spares each slice of a walk the
// list of channels.
type savedWorkspace struct {
	SavedAt    int64     `json:"at"`
	Team       string    `json:"t"`
	URL        string    `json:"a"`
	UserID     string    `json:"u"`
	IsBot      bool      `json:"b"`
	ConfigHash string    `json:"p"`
	Channels   []channel `json:"c"`
}

// workspace returns the workspace, loaded as r allows.
func (s *source) workspace(ctx context.Context, r reuse) (*workspace, error) {
	s.mutex.Lock()
	loaded := s.loaded
	s.mutex.Unlock()
	if loaded != nil && r != reuseNothing {
		return loaded, nil
	}
	var w *workspace
	ok := false
	var err error
	if r == reuseSaved {
		if w, ok, err = s.loadSavedWorkspace(ctx); err != nil {
			return nil, err
		}
	}
	if !ok {
		if w, err = s.loadWorkspace(ctx); err != nil {
			return nil, err
		}
		if err := s.saveWorkspace(ctx, w); err != nil {
			return nil, err
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.loaded = w
	return w, nil
}

func (s *source) saveWorkspace(ctx context.Context, w *workspace) error {
	if !s.hasState {
		return nil
	}
	return connectors.PutJSON(ctx, s.state, workspaceKey, savedWorkspace{
		SavedAt: s.now().Unix(), Team: w.team, URL: w.url, UserID: w.userID, IsBot: w.isBot, ConfigHash: s.configHash,
		Channels: slices.Collect(maps.Values(w.channels)),
	})
}

// loadSavedWorkspace returns the workspace in the state. It reports false if there
// is none or it is too old.
func (s *source) loadSavedWorkspace(ctx context.Context) (w *workspace, ok bool, err error) {
	var saved savedWorkspace
	if ok, err = connectors.GetJSON(ctx, s.state, workspaceKey, &saved); err != nil || !ok {
		return nil, false, err
	}
	if age := s.now().Sub(time.Unix(saved.SavedAt, 0)); saved.ConfigHash != s.configHash || age < 0 || age > workspaceMaxAge {
		return nil, false, nil
	}
	w = &workspace{team: saved.Team, url: saved.URL, userID: saved.UserID, isBot: saved.IsBot, channels: make(map[string]channel)}
	for _, c := range saved.Channels {
		w.channels[c.ID] = c
	}
	s.selectChannels(w)
	return w, true, nil
}

// selectedByID returns the selected channel with an id.
func (w *workspace) selectedByID(id string) (channel, bool) {
	at, found := slices.BinarySearchFunc(w.selected, id, func(c channel, id string) int { return strings.Compare(c.ID, id) })
	if !found {
		return channel{}, false
	}
	return w.selected[at], true
}

// selectedByName returns the selected channel with a name or former name.
func (w *workspace) selectedByName(name string) (channel, bool) {
	for _, c := range w.selected {
		if c.Name == name {
			return c, true
		}
	}
	for _, c := range w.selected {
		if slices.Contains(c.PreviousNames, name) {
			return c, true
		}
	}
	return channel{}, false
}

// joinIfNeeded lets the bot join a public channel of the walk.
func (s *source) joinIfNeeded(ctx context.Context, w *workspace, c channel) error {
	if c.Member || c.Private || !w.isBot || !s.joinPublic {
		return nil
	}
	_, _, err := s.client.call(ctx, "conversations.join", url.Values{"channel": {c.ID}}, nil)
	return err
}

// isUnreadable reports whether an error concerns one channel only.
func isUnreadable(err error) bool { return errors.Is(err, connectors.ErrNotFound) }

// knownNames are the names of users and public channels. Those of private
// channels are hidden, as Slack hides them from people outside of the channel.
type knownNames struct {
	users     *userNames
	workspace *workspace
}

func (k knownNames) personName(id string) string { return k.users.name(id) }

func (k knownNames) channelName(id string) string {
	if c, seen := k.workspace.channels[id]; seen && !c.Private {
		return c.Name
	}
	return "private-channel"
}
