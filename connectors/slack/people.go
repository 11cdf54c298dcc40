package slack

import (
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
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	peopleNotes = "people/"
	// peopleAge is how long names are kept before the workspace is asked again.
	peopleAge = 24 * time.Hour
	// peopleNote is how many names a note has.
	peopleNote = 5000
	listLimit  = "500"
	// maxStrangers is how many people outside of the list are asked for one by one.
	maxStrangers = 200
)

// people knows what people are called.
type people struct {
	api   *api
	notes connectors.State
	now   func() time.Time

	mutex     sync.Mutex
	labels    map[string]string
	others    map[string]string // those of the labels that were asked for one by one
	strangers int
}

type peopleHead struct {
	At    int64 `json:"at"`
	Notes int   `json:"notes"`
}

// load reads the names, from the notes where they are fresh enough.
func (p *people) load(ctx context.Context) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.labels != nil {
		return nil
	}
	if labels, err := p.kept(ctx); err != nil || labels != nil {
		p.labels = labels
		return err
	}
	if err := p.notes.DeletePrefix(ctx, peopleNotes); err != nil {
		return fmt.Errorf("forget what people were called: %w", err)
	}
	labels := make(map[string]string)
	if _, err := p.api.members(ctx, func(m person) { labels[m.ID] = m.label() }); err != nil {
		return err
	}
	if err := p.keep(ctx, labels); err != nil {
		return err
	}
	p.labels = labels
	return nil
}

// kept are the names in the notes, nil when there are none or they are old.
func (p *people) kept(ctx context.Context) (map[string]string, error) {
	data, err := p.notes.Get(ctx, peopleNotes+"head")
	if err != nil {
		return nil, fmt.Errorf("read what people are called: %w", err)
	}
	var head peopleHead
	if len(data) == 0 || json.Unmarshal(data, &head) != nil || p.now().Sub(time.Unix(head.At, 0)) > peopleAge {
		return nil, nil //nolint:nilnil // documented
	}
	labels := make(map[string]string)
	for number := range head.Notes {
		data, err := p.notes.Get(ctx, peopleNotes+strconv.Itoa(number))
		if err != nil {
			return nil, fmt.Errorf("read what people are called: %w", err)
		}
		if len(data) == 0 || json.Unmarshal(data, &labels) != nil {
			return nil, nil //nolint:nilnil // documented
		}
	}
	if data, err = p.notes.Get(ctx, peopleNotes+"others"); err != nil {
		return nil, fmt.Errorf("read what people are called: %w", err)
	}
	others := make(map[string]string)
	if len(data) > 0 && json.Unmarshal(data, &others) == nil {
		p.others = others
		maps.Copy(labels, others)
	}
	return labels, nil
}

func (p *people) keep(ctx context.Context, labels map[string]string) error {
	number := 0
	some := make(map[string]string)
	save := func() error {
		data, err := json.Marshal(some)
		if err != nil {
			return err
		}
		err = p.notes.Put(ctx, peopleNotes+strconv.Itoa(number), data)
		number++
		clear(some)
		return err
	}
	for id, label := range labels {
		some[id] = clip(label, 100)
		if len(some) == peopleNote {
			if err := save(); err != nil {
				return fmt.Errorf("keep what people are called: %w", err)
			}
		}
	}
	if err := save(); err != nil {
		return fmt.Errorf("keep what people are called: %w", err)
	}
	data, err := json.Marshal(peopleHead{At: p.now().Unix(), Notes: number})
	if err != nil {
		return err
	}
	if err := p.notes.Put(ctx, peopleNotes+"head", data); err != nil {
		return fmt.Errorf("keep what people are called: %w", err)
	}
	return nil
}

// know asks for the people whom messages name and the list did not: those of
// other workspaces, and who came since.
func (p *people) know(ctx context.Context, messages []*message) error {
	if err := p.load(ctx); err != nil {
		return err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	found := 0
	for _, m := range messages {
		id := m.User
		if id == "" || len(id) > 40 || p.labels[id] != "" || p.strangers >= maxStrangers {
			continue
		}
		p.strangers++
		found++
		var answer struct {
			User person `json:"user"`
		}
		_, _, err := p.api.call(ctx, "users.info", url.Values{"user": {id}}, &answer)
		switch {
		case err == nil && answer.User.ID == id:
			p.labels[id] = answer.User.label()
		case err == nil, errors.Is(err, connectors.ErrNotFound):
			p.labels[id] = id
		default:
			return err
		}
		if p.others == nil {
			p.others = make(map[string]string)
		}
		p.others[id] = clip(p.labels[id], 100)
	}
	if found == 0 || len(p.others) > peopleNote {
		return nil
	}
	data, err := json.Marshal(p.others)
	if err != nil {
		return err
	}
	if err := p.notes.Put(ctx, peopleNotes+"others", data); err != nil {
		return fmt.Errorf("keep what people are called: %w", err)
	}
	return nil
}

// label is what somebody is called, the id where that is not known.
func (p *people) label(id string) string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return or(p.labels[id], id)
}

// members goes through all people of the workspace.
func (a *api) members(ctx context.Context, take func(person)) (header http.Header, err error) {
	arguments := url.Values{"limit": {listLimit}}
	var trail restapi.LoopDetector
	for range maxListPages {
		var page struct {
			Members []json.RawMessage `json:"members"`
		}
		cursor, header, err := a.call(ctx, "users.list", arguments, &page)
		if err != nil {
			return header, err
		}
		for _, data := range page.Members {
			var one person
			if json.Unmarshal(data, &one) == nil && one.ID != "" {
				take(one)
			}
		}
		if cursor == "" {
			return header, nil
		}
		if err := trail.Visit("Slack", "users.list", cursor); err != nil {
			return nil, err
		}
		arguments.Set("cursor", cursor)
	}
	return nil, connectors.Retryable(errors.New("the pages of Slack's users.list do not come to an end"), 0)
}
