package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

const groupPrefix = "group:"

// slackbot is the one account that Slack does not mark as a bot.
const slackbot = "USLACKBOT"

// Readers implements [connectors.PermissionLister]. What is in a public channel
// may be read by all full members of the workspace and by the guests in the
// channel; what is in a private one by those in the channel. A file may be read
// by who may read one of the channels that it was shared in.
func (s *source) Readers(ctx context.Context, items []connectors.Item) (map[string]connectors.Readers, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := s.places(ctx, once)
	if err != nil {
		return nil, err
	}
	out := make(map[string]connectors.Readers, len(items))
	for _, item := range items {
		at, ok := placeOf(item.ID)
		if !ok {
			continue
		}
		channels := []string{at.channel}
		if at.file != "" {
			if channels, err = s.sharedIn(ctx, item); err != nil {
				return nil, err
			}
		}
		var principals []string
		for _, id := range channels {
			c, seen := p.all[id]
			if !seen {
				continue
			}
			principals = append(principals, groupPrefix+id)
			if !c.Private {
				principals = append(principals, groupPrefix+p.team)
			}
		}
		slices.Sort(principals)
		out[item.ID] = connectors.Readers{Principals: slices.Compact(principals)}
	}
	return out, nil
}

// sharedIn are the channels of a file, as the walk that named it found them.
func (s *source) sharedIn(ctx context.Context, item connectors.Item) ([]string, error) {
	if list := item.Metadata["channels"]; list != "" {
		return strings.Split(list, ","), nil
	}
	f, err := s.api.fileInfo(ctx, item.ID)
	if errors.Is(err, connectors.ErrNotFound) {
		return nil, nil
	}
	return f.places(), err
}

// channelsOnPage is how many channels a page of the directory looks at.
const channelsOnPage = 10

// Groups implements [connectors.GroupLister]: the workspace, then the channels.
func (s *source) Groups(ctx context.Context, cursor string) (connectors.GroupPage, error) {
	if err := ctx.Err(); err != nil {
		return connectors.GroupPage{}, err
	}
	if cursor != "" && !channelShape.MatchString(cursor) {
		return connectors.GroupPage{}, connectors.Fatal(errors.New("this is no cursor of the workspace's groups"))
	}
	how := once
	if cursor == "" {
		how = anew
	}
	p, err := s.places(ctx, how)
	if err != nil {
		return connectors.GroupPage{}, err
	}
	who, err := s.directory(ctx, p, cursor == "")
	if err != nil {
		return connectors.GroupPage{}, err
	}
	var page connectors.GroupPage
	if cursor == "" {
		page.Groups = append(page.Groups, connectors.Group{Principal: groupPrefix + p.team, Name: "Slack workspace " + p.team, Members: who.full})
	}
	looked := 0
	for _, c := range p.matched {
		if c.ID <= cursor {
			continue
		}
		if looked == channelsOnPage {
			return page, nil
		}
		looked++
		members, err := s.membersOf(ctx, c, who)
		if err != nil {
			return connectors.GroupPage{}, err
		}
		page.Groups = append(page.Groups, connectors.Group{Principal: groupPrefix + c.ID, Name: "#" + c.Name, Members: members})
		page.Next = c.ID
	}
	page.Next, page.Done = "", true
	return page, nil
}

// roster is who is in the workspace: the principals of the full members, and
// those of all who count by their ids.
type roster struct {
	full []string
	byID map[string]string
}

// directory reads the workspace's people. Left out are those who were deactivated,
// bots, people of other workspaces, whose addresses others vouch for, and those
// without an address or with one that they have not confirmed.
func (s *source) directory(ctx context.Context, p *places, again bool) (*roster, error) {
	s.mutex.Lock()
	last := s.roster
	s.mutex.Unlock()
	if last != nil && !again {
		return last, nil
	}
	r := &roster{byID: make(map[string]string)}
	people, addresses := 0, 0
	header, err := s.api.members(ctx, func(one person) {
		if one.Deleted || one.Bot || one.ID == slackbot || one.Stranger || !ofTeam(one, p.team) {
			return
		}
		people++
		address := strings.ToLower(strings.TrimSpace(one.Profile.Email))
		if address == "" || !strings.Contains(address, "@") || (one.Confirmed != nil && !*one.Confirmed) {
			return
		}
		addresses++
		r.byID[one.ID] = "user:" + address
		if !one.Restricted && !one.UltraRestricted {
			r.full = append(r.full, "user:"+address)
		}
	})
	if err != nil {
		return nil, err
	}
	if have := scopes(header); people > 0 && addresses == 0 && have != nil && !have["users:read.email"] {
		return nil, connectors.NeedsAuth(errors.New("the token lacks the scope users:read.email, so that nobody can be told by their address; add it to the app and install the app again"))
	}
	slices.Sort(r.full)
	r.full = slices.Compact(r.full)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.roster = r
	return r, nil
}

func ofTeam(one person, team string) bool {
	return one.Team == "" || one.Team == team || slices.Contains(one.Enterprise.Teams, team)
}

// membersOf are the principals in a channel; none where the bot cannot look.
func (s *source) membersOf(ctx context.Context, c channel, who *roster) ([]string, error) {
	members := []string{}
	arguments := url.Values{"channel": {c.ID}, "limit": {listLimit}}
	var page struct {
		Members []json.RawMessage `json:"members"`
	}
	err := s.api.each(ctx, "conversations.members", arguments, func() any { page.Members = nil; return &page }, func() bool {
		for _, data := range page.Members {
			var id string
			if json.Unmarshal(data, &id) == nil && who.byID[id] != "" {
				members = append(members, who.byID[id])
			}
		}
		return false
	})
	if unreadable(err) {
		return []string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read who is in #%s: %w", c.Name, err)
	}
	slices.Sort(members)
	return slices.Compact(members), nil
}
