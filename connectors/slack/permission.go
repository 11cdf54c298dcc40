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

// slackbot is the one bot account that Slack does not mark as a bot.
const slackbot = "USLACKBOT"

// Readers implements [connectors.PermissionLister]. All full members of the
// workspace and the guests in the channel may read what is in a public channel;
// the members of the channel may read what is in a private one. A file has the
// readers of all channels in which it is shared.
func (s *source) Readers(ctx context.Context, items []connectors.Item) (map[string]connectors.Readers, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w, err := s.workspace(ctx, reuseLoaded)
	if err != nil {
		return nil, err
	}
	out := make(map[string]connectors.Readers, len(items))
	for _, item := range items {
		ref, ok := parseItemID(item.ID)
		if !ok {
			continue
		}
		channels := []string{ref.channel}
		if ref.file != "" {
			if channels, err = s.fileChannels(ctx, item); err != nil {
				return nil, err
			}
		}
		var principals []string
		for _, id := range channels {
			c, known := w.channels[id]
			if !known {
				continue
			}
			principals = append(principals, groupPrefix+id)
			if !c.Private {
				principals = append(principals, groupPrefix+w.team)
			}
		}
		slices.Sort(principals)
		out[item.ID] = connectors.Readers{Principals: slices.Compact(principals)}
	}
	return out, nil
}

// fileChannels returns the channels of a file, as listed by the walk.
func (s *source) fileChannels(ctx context.Context, item connectors.Item) ([]string, error) {
	if list := item.Metadata["channels"]; list != "" {
		return strings.Split(list, ","), nil
	}
	f, err := s.client.fileInfo(ctx, item.ID)
	if errors.Is(err, connectors.ErrNotFound) {
		return nil, nil
	}
	return f.channelIDs(), err
}

// channelsPerPage is the number of channels on a page of groups.
const channelsPerPage = 10

// Groups implements [connectors.GroupLister]: the workspace, and then the
// channels.
func (s *source) Groups(ctx context.Context, cursor string) (connectors.GroupPage, error) {
	if err := ctx.Err(); err != nil {
		return connectors.GroupPage{}, err
	}
	if cursor != "" && !channelIDPattern.MatchString(cursor) {
		return connectors.GroupPage{}, connectors.Fatal(errors.New("this is no cursor of the workspace's groups"))
	}
	r := reuseLoaded
	if cursor == "" {
		r = reuseNothing
	}
	w, err := s.workspace(ctx, r)
	if err != nil {
		return connectors.GroupPage{}, err
	}
	directory, err := s.loadMembers(ctx, w, cursor == "")
	if err != nil {
		return connectors.GroupPage{}, err
	}
	var page connectors.GroupPage
	if cursor == "" {
		page.Groups = append(page.Groups, connectors.Group{Principal: groupPrefix + w.team, Name: "Slack workspace " + w.team, Members: directory.fullMembers})
	}
	listed := 0
	for _, c := range w.matched {
		if c.ID <= cursor {
			continue
		}
		if listed == channelsPerPage {
			return page, nil
		}
		listed++
		members, err := s.channelMembers(ctx, c, directory)
		if err != nil {
			return connectors.GroupPage{}, err
		}
		page.Groups = append(page.Groups, connectors.Group{Principal: groupPrefix + c.ID, Name: "#" + c.Name, Members: members})
		page.Next = c.ID
	}
	page.Next, page.Done = "", true
	return page, nil
}

// A memberDirectory has the principals of the full members, sorted, and of all
// members and guests, by id.
type memberDirectory struct {
	fullMembers []string
	principals  map[string]string
}

// loadMembers reads the users of the workspace. It leaves out deactivated
// users, bots, users of other workspaces, whose addresses others confirm, and
// users without a confirmed address.
func (s *source) loadMembers(ctx context.Context, w *workspace, reload bool) (*memberDirectory, error) {
	s.mutex.Lock()
	last := s.directory
	s.mutex.Unlock()
	if last != nil && !reload {
		return last, nil
	}
	d := &memberDirectory{principals: make(map[string]string)}
	users, addresses := 0, 0
	header, err := s.client.eachUser(ctx, func(user person) {
		if user.Deleted || user.Bot || user.ID == slackbot || user.IsStranger || !isOfTeam(user, w.team) {
			return
		}
		users++
		address := strings.ToLower(strings.TrimSpace(user.Profile.Email))
		if address == "" || !strings.Contains(address, "@") || (user.EmailConfirmed != nil && !*user.EmailConfirmed) {
			return
		}
		addresses++
		d.principals[user.ID] = "user:" + address
		if !user.Restricted && !user.UltraRestricted {
			d.fullMembers = append(d.fullMembers, "user:"+address)
		}
	})
	if err != nil {
		return nil, err
	}
	if granted := tokenScopes(header); users > 0 && addresses == 0 && granted != nil && !granted["users:read.email"] {
		return nil, connectors.NeedsAuth(errors.New("the token lacks the scope users:read.email, so that nobody can be told by their address; add it to the app and install the app again"))
	}
	slices.Sort(d.fullMembers)
	d.fullMembers = slices.Compact(d.fullMembers)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.directory = d
	return d, nil
}

func isOfTeam(user person, team string) bool {
	return user.Team == "" || user.Team == team || slices.Contains(user.Enterprise.Teams, team)
}

// channelMembers returns the principals in a channel, none if the bot cannot
// read them.
func (s *source) channelMembers(ctx context.Context, c channel, directory *memberDirectory) ([]string, error) {
	members := []string{}
	_, err := s.client.eachEntry(ctx, "conversations.members", "members", url.Values{"channel": {c.ID}}, func(entry json.RawMessage) {
		var id string
		if json.Unmarshal(entry, &id) == nil && directory.principals[id] != "" {
			members = append(members, directory.principals[id])
		}
	})
	if isUnreadable(err) {
		return []string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read who is in #%s: %w", c.Name, err)
	}
	slices.Sort(members)
	return slices.Compact(members), nil
}
