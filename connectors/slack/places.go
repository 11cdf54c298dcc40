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

// places are the channels that the token sees, as they were read once.
type places struct {
	team, address, self string // the workspace's id and web address, the token's user
	bot                 bool
	all                 map[string]channel
	chosen              []channel // those to be walked, by id
	matched             []channel // those chosen by name, archived ones too
	warnings            []string
	scopes              map[string]bool // nil where Slack does not tell
}

type whoami struct {
	URL    string `json:"url"`
	Team   string `json:"team"`
	TeamID string `json:"team_id"`
	UserID string `json:"user_id"`
	BotID  string `json:"bot_id"`
}

// look reads who the token is and which channels it sees.
func (s *source) look(ctx context.Context) (*places, error) {
	var who whoami
	_, header, err := s.api.call(ctx, "auth.test", nil, &who)
	if err != nil {
		return nil, err
	}
	p := &places{
		team: who.TeamID, address: strings.TrimRight(who.URL, "/"), self: who.UserID, bot: who.BotID != "",
		all: make(map[string]channel), scopes: scopes(header),
	}
	types := "public_channel"
	if s.private {
		types += ",private_channel"
	}
	arguments := url.Values{"types": {types}, "exclude_archived": {"false"}, "limit": {listLimit}}
	var page struct {
		Channels []json.RawMessage `json:"channels"`
	}
	improper := false
	err = s.api.each(ctx, "conversations.list", arguments, func() any { page.Channels = nil; return &page }, func() bool {
		for _, data := range page.Channels {
			var c channel
			improper = improper || json.Unmarshal(data, &c) != nil || c.ID == ""
			if json.Unmarshal(data, &c) == nil && channelShape.MatchString(c.ID) && c.Name != "" && !c.Direct && !c.DirectMany {
				p.all[c.ID] = c
			}
		}
		return false
	})
	if err == nil && improper {
		err = otherShape("conversations.list") // a channel that is passed over is not walked
	}
	if err != nil {
		return nil, err
	}
	s.choose(p)
	return p, nil
}

// choose picks the channels that config.channels asks for.
func (s *source) choose(p *places) {
	met := make(map[string]bool)
	for _, c := range p.all {
		if c.Private && !s.private {
			continue
		}
		named := len(s.wanted) == 0
		for _, want := range s.wanted {
			if want == c.ID || glob.Match(want, c.Name) || slices.Contains(c.Previous, want) {
				named, met[want] = true, true
			}
		}
		if !named {
			continue
		}
		p.matched = append(p.matched, c)
		readable := c.Member || (!c.Private && (!p.bot || (s.join && !c.Archived)))
		switch {
		case c.Archived && !s.archived:
		case readable:
			p.chosen = append(p.chosen, c)
		case len(s.wanted) > 0:
			p.warnings = append(p.warnings, fmt.Sprintf("The bot is not in #%s, so its messages cannot be read: invite it there, or switch config.%s on.", c.Name, optionJoin))
		}
	}
	for _, want := range s.wanted {
		if !met[want] && !strings.ContainsAny(want, "*?") {
			p.warnings = append(p.warnings, fmt.Sprintf("There is no channel #%s that the bot can see.", want))
		}
	}
	byID := func(a, b channel) int { return strings.Compare(a.ID, b.ID) }
	slices.SortFunc(p.chosen, byID)
	slices.SortFunc(p.matched, byID)
	slices.Sort(p.warnings)
}

// freshness says how old what is known of the channels may be.
type freshness int

const (
	// anew has them read again.
	anew freshness = iota
	// once has them read once for a source.
	once
	// lately takes what another process of the same walk has read, minutes ago.
	lately
)

const (
	placesNote = "places"
	placesAge  = 5 * time.Minute
)

// placesKept is what is kept of the channels, so that not every slice of a walk
// has to list them again.
type placesKept struct {
	At       int64     `json:"at"`
	Team     string    `json:"t"`
	Address  string    `json:"a"`
	Self     string    `json:"u"`
	Bot      bool      `json:"b"`
	Print    string    `json:"p"`
	Channels []channel `json:"c"`
}

// places are the channels, as fresh as is asked for.
func (s *source) places(ctx context.Context, how freshness) (*places, error) {
	s.mutex.Lock()
	known := s.seen
	s.mutex.Unlock()
	if known != nil && how != anew {
		return known, nil
	}
	var p *places
	var err error
	if how == lately {
		if p, err = s.placesKept(ctx); err != nil {
			return nil, err
		}
	}
	if p == nil {
		if p, err = s.look(ctx); err != nil {
			return nil, err
		}
		if err := s.keepPlaces(ctx, p); err != nil {
			return nil, err
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.seen = p
	return p, nil
}

func (s *source) keepPlaces(ctx context.Context, p *places) error {
	if !s.lasting {
		return nil
	}
	kept := placesKept{At: s.now().Unix(), Team: p.team, Address: p.address, Self: p.self, Bot: p.bot, Print: s.print, Channels: slices.Collect(maps.Values(p.all))}
	data, err := json.Marshal(kept)
	if err != nil || len(data) > 1<<20 {
		return err // read again each time
	}
	if err := s.notes.Put(ctx, placesNote, data); err != nil {
		return fmt.Errorf("keep which channels there are: %w", err)
	}
	return nil
}

// placesKept are the channels in the notes, nil when they are too old.
func (s *source) placesKept(ctx context.Context) (*places, error) {
	data, err := s.notes.Get(ctx, placesNote)
	if err != nil {
		return nil, fmt.Errorf("read which channels there are: %w", err)
	}
	var kept placesKept
	if len(data) == 0 || json.Unmarshal(data, &kept) != nil {
		return nil, nil //nolint:nilnil // documented
	}
	if age := s.now().Sub(time.Unix(kept.At, 0)); kept.Print != s.print || age < 0 || age > placesAge {
		return nil, nil //nolint:nilnil // documented
	}
	p := &places{team: kept.Team, address: kept.Address, self: kept.Self, bot: kept.Bot, all: make(map[string]channel)}
	for _, c := range kept.Channels {
		p.all[c.ID] = c
	}
	s.choose(p)
	return p, nil
}

// chosenByID finds a channel among those that are walked.
func (p *places) chosenByID(id string) (channel, bool) {
	at, found := slices.BinarySearchFunc(p.chosen, id, func(c channel, id string) int { return strings.Compare(c.ID, id) })
	if !found {
		return channel{}, false
	}
	return p.chosen[at], true
}

// chosenByName finds one by its name, or by a name that it had.
func (p *places) chosenByName(name string) (channel, bool) {
	for _, c := range p.chosen {
		if c.Name == name {
			return c, true
		}
	}
	for _, c := range p.chosen {
		if slices.Contains(c.Previous, name) {
			return c, true
		}
	}
	return channel{}, false
}

// enter has the bot join a public channel that it is to read and is not in.
func (s *source) enter(ctx context.Context, p *places, c channel) error {
	if c.Member || c.Private || !p.bot || !s.join {
		return nil
	}
	_, _, err := s.api.call(ctx, "conversations.join", url.Values{"channel": {c.ID}}, nil)
	return err
}

// unreadable says that an error is about one channel alone.
func unreadable(err error) bool { return errors.Is(err, connectors.ErrNotFound) }

// known are the names in texts: of people, and of the public channels that the
// token sees. That of a private one is not told, as Slack does not tell it to
// those outside.
type known struct {
	people *people
	places *places
}

func (k known) person(id string) string { return k.people.label(id) }

func (k known) channel(id string) string {
	if c, seen := k.places.all[id]; seen && !c.Private {
		return c.Name
	}
	return "private-channel"
}
