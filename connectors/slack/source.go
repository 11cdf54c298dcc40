package slack

import (
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
	_ connectors.GroupLister        = (*source)(nil)
)

// source is a workspace that is open.
type source struct {
	api      *api
	settings connectors.Settings
	dial     restapi.Dial
	base     *url.URL
	wanted   []string // of config.channels, without #
	span     span
	private  bool
	archived bool
	files    bool
	bots     bool
	join     bool
	team     string
	print    string // of the whole config
	notes    connectors.State
	lasting  bool // the notes outlive the source
	people   *people
	now      func() time.Time

	mutex   sync.Mutex // of what follows
	seen    *places
	clients map[string]*restapi.Client
	part    *part
	edits   map[string]map[string]string
	roster  *roster
}

func open(dial restapi.Dial, s connectors.Settings, now func() time.Time) (*source, error) {
	if dial == nil {
		return nil, errors.New("open a slack source: no dialer was given")
	}
	address := or(s.String(optionAddress), defaultAddress)
	base, err := url.Parse(address)
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("config.%s is no address", optionAddress))
	}
	client, err := newAPI(dial, s, address)
	if err != nil {
		return nil, err
	}
	span, err := parseSpan(s.String(optionRange))
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("config.%s: %w", optionRange, err))
	}
	config, err := json.Marshal(s.Config)
	if err != nil {
		return nil, connectors.Fatal(errors.New("the settings cannot be written down"))
	}
	src := &source{
		api: client, settings: s, dial: dial, base: base, span: span,
		private: s.Boolean(optionPrivate), archived: s.Boolean(optionArchived), files: s.Boolean(optionFiles), bots: s.Boolean(optionBots),
		join: s.Boolean(optionJoin), team: s.String(optionTeam), print: digest(string(config)),
		notes: s.State, lasting: s.State != nil, now: now,
		clients: make(map[string]*restapi.Client), edits: make(map[string]map[string]string),
	}
	if src.notes == nil {
		src.notes = &connectors.MemoryState{}
	}
	for _, name := range s.Strings(optionChannels) {
		src.wanted = append(src.wanted, strings.TrimPrefix(strings.TrimSpace(name), "#"))
	}
	src.people = &people{api: client, notes: src.notes, now: now}
	return src, nil
}

// within says whether a moment is in the range that is taken.
func (s *source) within(at time.Time) bool {
	from, to := s.span.bounds(s.now())
	return (from.IsZero() || !at.Before(from)) && (to.IsZero() || at.Before(to))
}

// knowing are the names in the texts of messages.
func (s *source) knowing(ctx context.Context, p *places, messages []*message) (names, error) {
	if err := s.people.know(ctx, messages); err != nil {
		return nil, err
	}
	return known{people: s.people, places: p}, nil
}

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	place, ok := placeOf(item.ID)
	if !ok {
		return nil, fmt.Errorf("open what is no item of the workspace: %w", connectors.ErrNotFound)
	}
	if place.file != "" {
		return s.openFile(ctx, item)
	}
	now, err := s.find(ctx, place)
	switch {
	case err != nil:
		return nil, err
	case now == nil:
		return nil, fmt.Errorf("open a conversation: %w", connectors.ErrNotFound)
	case item.Version != "" && grown(item.Version, now.Version):
		return nil, connectors.Retryable(errors.New("the conversation went on since it was listed"), 0)
	}
	return io.NopCloser(strings.NewReader(string(now.Content))), nil
}

// grown says whether something was said after a version; of a thread, an edit
// alone makes no other one, since the walk that named it may not know.
func grown(version, now string) bool {
	first, _, thread := strings.Cut(version, "-")
	second, _, _ := strings.Cut(now, "-")
	if thread {
		return first != second
	}
	return version != now
}

// Check implements [connectors.Source]: who the token is, what it may do, and
// whether the channels can be read.
func (s *source) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, err := s.places(ctx, anew)
	if err != nil {
		return err
	}
	if s.team != "" && !strings.EqualFold(s.team, p.team) {
		return connectors.Fatal(fmt.Errorf("the token is of the workspace %s, config.%s names %s", p.team, optionTeam, s.team))
	}
	if missing := s.missingScopes(p); len(missing) > 0 {
		return connectors.NeedsAuth(fmt.Errorf("the token lacks the scopes %s; add them to the app and install the app again", strings.Join(missing, ", ")))
	}
	if len(s.wanted) > 0 && len(p.chosen) == 0 {
		if len(p.warnings) > 0 {
			return connectors.Fatal(errors.New(p.warnings[0]))
		}
		return connectors.Fatal(fmt.Errorf("no channel is one of config.%s", optionChannels))
	}
	if len(p.chosen) == 0 {
		return connectors.Fatal(errors.New("there is no channel that the bot can read; invite it to channels with /invite, or switch config." + optionJoin + " on"))
	}
	at := max(slices.IndexFunc(p.chosen, func(c channel) bool { return c.Member }), 0)
	if c := p.chosen[at]; c.Member || !p.bot {
		arguments := url.Values{"channel": {c.ID}, "limit": {"1"}}
		if _, _, err := s.api.call(ctx, "conversations.history", arguments, nil); err != nil {
			return err
		}
	}
	return nil
}

// missingScopes are those that a sync with these settings needs and the token
// lacks, as far as Slack tells.
func (s *source) missingScopes(p *places) []string {
	if p.scopes == nil {
		return nil
	}
	needed := []string{"channels:read", "channels:history", "users:read"}
	if s.private {
		needed = append(needed, "groups:read", "groups:history")
	}
	if s.files {
		needed = append(needed, "files:read")
	}
	if s.join && p.bot {
		needed = append(needed, "channels:join")
	}
	if imports, _ := s.settings.IncludesPermissions(); imports {
		needed = append(needed, "users:read.email")
	}
	return slices.DeleteFunc(needed, func(scope string) bool { return p.scopes[scope] })
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.api.rest.Close()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, c := range s.clients {
		c.Close()
	}
	return nil
}
