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
	needed := s.scopesToRead(w)
	if s.importsPermissions() {
		needed = append(needed, scopeAddresses)
	}
	return s.checkRead(ctx, w, needed)
}

// CheckTiers implements [connectors.TierChecker]. Events need the scopes of what they
// notify of; only a delivery shows whether the signing secret is right.
func (s *source) CheckTiers(ctx context.Context) ([]connectors.Tier, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w, err := s.workspace(ctx, reuseNothing)
	if err != nil {
		return []connectors.Tier{{Name: connectors.TierRead, Err: err}}, ctx.Err()
	}
	tiers := []connectors.Tier{{Name: connectors.TierRead, Err: s.checkRead(ctx, w, s.scopesToRead(w))}}
	if s.importsPermissions() {
		tiers = append(tiers, connectors.Tier{Name: connectors.TierPermissions, Err: s.checkPermissions(ctx, w)})
	}
	if s.settings.Credentials[credentialSecret] != "" {
		tiers = append(tiers, connectors.Tier{Name: connectors.TierWebhooks, Err: scopeError(w, s.scopesToRead(w))})
	}
	return tiers, ctx.Err()
}

func (s *source) importsPermissions() bool {
	imports, _ := s.settings.IncludesPermissions()
	return imports
}

// checkPermissions checks that the people of the workspace have addresses and that
// the members of a channel can be read.
func (s *source) checkPermissions(ctx context.Context, w *workspace) error {
	if err := scopeError(w, []string{"users:read", scopeAddresses}); err != nil {
		return err
	}
	directory, err := s.loadMembers(ctx, w, true)
	if err != nil {
		return err
	}
	if len(directory.principals) == 0 {
		return connectors.NeedsAuth(errors.New("Slack shows no mail address of any person, so that nobody can be told by their address; add the scope " + //nolint:staticcheck // a name
			scopeAddresses + " to the app and install the app again"))
	}
	if len(w.matched) == 0 {
		return nil
	}
	_, err = s.channelMembers(ctx, w.matched[0], directory)
	return err
}

// checkRead checks that the token is of the workspace of the settings, that it has
// some scopes, and that it can read a channel.
func (s *source) checkRead(ctx context.Context, w *workspace, needed []string) error {
	if s.teamID != "" && !strings.EqualFold(s.teamID, w.team) {
		return connectors.Fatal(fmt.Errorf("the token is of the workspace %s, config.%s names %s", w.team, optionTeam, s.teamID))
	}
	if err := scopeError(w, needed); err != nil {
		return err
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

// scopeAddresses is the scope for the mail addresses of people.
const scopeAddresses = "users:read.email"

// scopeError returns an error that names the scopes that are needed and the token
// lacks, as far as Slack names the token's scopes.
func scopeError(w *workspace, needed []string) error {
	if w.scopes == nil {
		return nil
	}
	missing := slices.DeleteFunc(slices.Clone(needed), func(scope string) bool { return w.scopes[scope] })
	if len(missing) == 0 {
		return nil
	}
	return connectors.NeedsAuth(fmt.Errorf("the token lacks the scopes %s; add them to the app and install the app again", strings.Join(missing, ", ")))
}

// scopesToRead returns the scopes that the content needs.
func (s *source) scopesToRead(w *workspace) []string {
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
	return needed
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
