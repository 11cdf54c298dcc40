package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

var (
	_ connectors.Source           = (*source)(nil)
	_ connectors.Resolver         = (*source)(nil)
	_ connectors.PermissionLister = (*source)(nil)
	_ connectors.GroupLister      = (*source)(nil)
)

// A source is an opened workspace.
type source struct {
	client          *client
	settings        connectors.Settings
	dial            connectors.Dial
	base            *url.URL
	channelNames    []string // of config.channels, without #
	dateRange       dateRange
	includePrivate  bool
	includeArchived bool
	includeFiles    bool
	includeBots     bool
	joinPublic      bool
	teamID          string
	configHash      string // of the whole config
	state           connectors.State
	hasState        bool // the state outlives the source
	userNames       *userNames
	now             func() time.Time

	mutex        sync.Mutex // guards the fields below
	loaded       *workspace
	clients      map[string]*restapi.Client
	pending      *pendingSegment
	editsByMonth map[string]map[string]string
	directory    *memberDirectory
}

func open(dial connectors.Dial, s connectors.Settings, now func() time.Time) (*source, error) {
	if dial == nil {
		return nil, errors.New("open a slack source: no dialer was given")
	}
	base, err := restapi.ParseBaseURL(cmp.Or(s.String(optionAddress), defaultAddress), exampleAddress)
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("config.%s %w", optionAddress, err))
	}
	client, err := newClient(dial, s, base.String())
	if err != nil {
		return nil, err
	}
	dates, err := parseDateRange(s.String(optionRange))
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("config.%s: %w", optionRange, err))
	}
	config, err := json.Marshal(s.Config)
	if err != nil {
		return nil, connectors.Fatal(errors.New("the settings cannot be encoded"))
	}
	src := &source{
		client: client, settings: s, dial: dial, base: base, dateRange: dates,
		includePrivate: s.Boolean(optionPrivate), includeArchived: s.Boolean(optionArchived), includeFiles: s.Boolean(optionFiles), includeBots: s.Boolean(optionBots),
		joinPublic: s.Boolean(optionJoin), teamID: s.String(optionTeam), configHash: versionHash(string(config)),
		state: s.State, hasState: s.State != nil, now: now,
		clients: make(map[string]*restapi.Client), editsByMonth: make(map[string]map[string]string),
	}
	if src.state == nil {
		src.state = &connectors.MemoryState{}
	}
	for _, name := range s.Strings(optionChannels) {
		src.channelNames = append(src.channelNames, strings.TrimPrefix(strings.TrimSpace(name), "#"))
	}
	src.userNames = &userNames{client: client, state: src.state, now: now}
	return src, nil
}

// inDateRange reports whether a time is in config.dateRange.
func (s *source) inDateRange(t time.Time) bool {
	from, to := s.dateRange.bounds(s.now())
	return (from.IsZero() || !t.Before(from)) && (to.IsZero() || t.Before(to))
}

// namesFor returns the names for the texts of messages.
func (s *source) namesFor(ctx context.Context, w *workspace, messages []*message) (nameResolver, error) {
	if err := s.userNames.loadAuthors(ctx, messages); err != nil {
		return nil, err
	}
	return knownNames{users: s.userNames, workspace: w}, nil
}

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ref, ok := parseItemID(item.ID)
	if !ok {
		return nil, errNoItem
	}
	if ref.file != "" {
		return s.openFile(ctx, item)
	}
	current, err := s.findItem(ctx, ref)
	if err != nil {
		return nil, err
	}
	if item.Version != "" && hasNewMessages(item.Version, current.Version) {
		return nil, connectors.Retryable(errors.New("the conversation went on since it was listed"), 0)
	}
	return io.NopCloser(bytes.NewReader(current.Content)), nil
}

// hasNewMessages reports whether a conversation has changed since it was
// listed. An edit in a thread is no change, since the walk may not have seen
// it.
func hasNewMessages(listed, current string) bool {
	listedLatest, _, isThread := strings.Cut(listed, "-")
	currentLatest, _, _ := strings.Cut(current, "-")
	if isThread {
		return listedLatest != currentLatest
	}
	return listed != current
}

// Check implements [connectors.Source]. It checks the token, its scopes and
// whether the channels can be read.
func (s *source) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w, err := s.workspace(ctx, reuseNothing)
	if err != nil {
		return err
	}
	if s.teamID != "" && !strings.EqualFold(s.teamID, w.team) {
		return connectors.Fatal(fmt.Errorf("the token is of the workspace %s, config.%s names %s", w.team, optionTeam, s.teamID))
	}
	if missing := s.missingScopes(w); len(missing) > 0 {
		return connectors.NeedsAuth(fmt.Errorf("the token lacks the scopes %s; add them to the app and install the app again", strings.Join(missing, ", ")))
	}
	if len(s.channelNames) > 0 && len(w.selected) == 0 {
		if len(w.warnings) > 0 {
			return connectors.Fatal(errors.New(w.warnings[0]))
		}
		return connectors.Fatal(fmt.Errorf("no channel is one of config.%s", optionChannels))
	}
	if len(w.selected) == 0 {
		return connectors.Fatal(errors.New("there is no channel that the bot can read; invite it to channels with /invite, or switch config." + optionJoin + " on"))
	}
	i := max(slices.IndexFunc(w.selected, func(c channel) bool { return c.Member }), 0)
	if c := w.selected[i]; c.Member || !w.isBot {
		args := url.Values{"channel": {c.ID}, "limit": {"1"}}
		if _, _, err := s.client.call(ctx, "conversations.history", args, nil); err != nil {
			return err
		}
	}
	return nil
}

// missingScopes returns the scopes that a sync needs and the token lacks, as
// far as Slack names the token's scopes.
func (s *source) missingScopes(w *workspace) []string {
	if w.scopes == nil {
		return nil
	}
	needed := []string{"channels:read", "channels:history", "users:read"}
	if s.includePrivate {
		needed = append(needed, "groups:read", "groups:history")
	}
	if s.includeFiles {
		needed = append(needed, "files:read")
	}
	if s.joinPublic && w.isBot {
		needed = append(needed, "channels:join")
	}
	if imports, _ := s.settings.IncludesPermissions(); imports {
		needed = append(needed, "users:read.email")
	}
	return slices.DeleteFunc(needed, func(scope string) bool { return w.scopes[scope] })
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.client.rest.Close()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, c := range s.clients {
		c.Close()
	}
	return nil
}
