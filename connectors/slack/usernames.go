package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	userNamesPrefix = "people/"
	userNamesMaxAge = 24 * time.Hour
	// namesPerValue is the number of names in a value of the state.
	namesPerValue = 5000
	listLimit     = "500"
	// maxNameBytes is the largest length of a saved name.
	maxNameBytes = 100
	// maxLookups bounds the lookups of single users.
	maxLookups = 200
)

// userNames are the names of users, loaded once and saved in the state.
type userNames struct {
	client *client
	state  connectors.State
	now    func() time.Time

	mutex    sync.Mutex
	names    map[string]string
	lookedUp map[string]string // those of names that were looked up one by one
	lookups  int
}

type userNamesHead struct {
	SavedAt int64 `json:"at"`
	Values  int   `json:"notes"`
}

// load loads the names from the state or, if they are too old, from Slack.
func (n *userNames) load(ctx context.Context) error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.names != nil {
		return nil
	}
	saved, ok, err := n.loadSaved(ctx)
	if err != nil {
		return err
	}
	if ok {
		n.names = saved
		return nil
	}
	if err := n.state.DeletePrefix(ctx, userNamesPrefix); err != nil {
		return fmt.Errorf("delete the saved user names: %w", err)
	}
	names := make(map[string]string)
	if _, err := n.client.eachUser(ctx, func(user person) { names[user.ID] = user.displayName() }); err != nil {
		return err
	}
	if err := n.save(ctx, names); err != nil {
		return err
	}
	n.names = names
	return nil
}

// loadSaved returns the names in the state. It reports false if there are none or
// they are too old.
func (n *userNames) loadSaved(ctx context.Context) (names map[string]string, ok bool, err error) {
	var head userNamesHead
	ok, err = connectors.GetJSON(ctx, n.state, userNamesPrefix+"head", &head)
	if err != nil || !ok || n.now().Sub(time.Unix(head.SavedAt, 0)) > userNamesMaxAge {
		return nil, false, err
	}
	names = make(map[string]string)
	for i := range head.Values {
		if ok, err := connectors.GetJSON(ctx, n.state, userNamesPrefix+strconv.Itoa(i), &names); err != nil || !ok {
			return nil, false, err
		}
	}
	var lookedUp map[string]string
	if ok, err = connectors.GetJSON(ctx, n.state, userNamesPrefix+"others", &lookedUp); err != nil {
		return nil, false, err
	}
	if ok {
		n.lookedUp = lookedUp
		maps.Copy(names, lookedUp)
	}
	return names, true, nil
}

// save stores the names in values of at most namesPerValue names.
func (n *userNames) save(ctx context.Context, names map[string]string) error {
	values := 0
	batch := make(map[string]string)
	flush := func() error {
		err := connectors.PutJSON(ctx, n.state, userNamesPrefix+strconv.Itoa(values), batch)
		values++
		clear(batch)
		return err
	}
	for id, name := range names {
		batch[id] = safetext.TruncateBytes(name, maxNameBytes)
		if len(batch) == namesPerValue {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return connectors.PutJSON(ctx, n.state, userNamesPrefix+"head", userNamesHead{SavedAt: n.now().Unix(), Values: values})
}

// loadAuthors looks up the authors of messages that are not in the list of users:
// those of other workspaces, and those who joined since.
func (n *userNames) loadAuthors(ctx context.Context, messages []*message) error {
	if err := n.load(ctx); err != nil {
		return err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	changed := false
	for _, m := range messages {
		id := m.User
		if id == "" || len(id) > 40 || n.names[id] != "" || n.lookups >= maxLookups {
			continue
		}
		n.lookups++
		changed = true
		var result struct {
			User person `json:"user"`
		}
		_, _, err := n.client.call(ctx, "users.info", url.Values{"user": {id}}, &result)
		switch {
		case err == nil && result.User.ID == id:
			n.names[id] = result.User.displayName()
		case err == nil, errors.Is(err, connectors.ErrNotFound):
			n.names[id] = id
		default:
			return err
		}
		if n.lookedUp == nil {
			n.lookedUp = make(map[string]string)
		}
		n.lookedUp[id] = safetext.TruncateBytes(n.names[id], maxNameBytes)
	}
	if !changed || len(n.lookedUp) > namesPerValue {
		return nil
	}
	return connectors.PutJSON(ctx, n.state, userNamesPrefix+"others", n.lookedUp)
}

// name returns the name of a user, or the id if the name is unknown.
func (n *userNames) name(id string) string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return cmp.Or(n.names[id], id)
}

// eachUser calls yield with each user of the workspace. It returns the header of the
// last response.
func (c *client) eachUser(ctx context.Context, yield func(person)) (header http.Header, err error) {
	return c.eachEntry(ctx, "users.list", "members", url.Values{}, func(entry json.RawMessage) {
		var user person
		if json.Unmarshal(entry, &user) == nil && user.ID != "" {
			yield(user)
		}
	})
}
