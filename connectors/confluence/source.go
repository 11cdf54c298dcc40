package confluence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/atlassian"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A source is an opened site.
type source struct {
	client             *client
	deployment         deployment
	settings           connectors.Settings
	include            inclusions
	readers            *atlassian.Readers
	importsPermissions bool

	mutex          sync.Mutex // guards the fields below
	accountChecked bool
	selected       []space // the spaces of the walk, sorted by key
	userNames      userNames
	warnings       []string
	warningSet     map[string]bool
	ancestors      map[string][]ancestor   // of pages that were listed, by id
	spaceKeys      map[string]string       // by page id
	restrictions   map[string]*allowList   // by page id
	readersBySpace map[string]spaceReaders // by key
	addressOf      map[string]string       // by user, "" for a hidden address
	membersByGroup map[string][]string     // ids
}

func open(dial connectors.Dial, gateway string, s connectors.Settings) (*source, error) {
	target, err := product().Site(s)
	if err != nil {
		return nil, connectors.Fatal(err)
	}
	permissions, _ := s.IncludesPermissions()
	src := &source{
		client: &client{product().NewClient(target, gateway, dial, s)}, settings: s, importsPermissions: permissions,
		include: inclusions{
			files: s.Boolean(optionAttachments), comments: s.Boolean(optionComments), archived: s.Boolean(optionArchived), restrictions: permissions,
		},
		userNames: userNames{}, warningSet: map[string]bool{}, readersBySpace: map[string]spaceReaders{}, addressOf: map[string]string{}, membersByGroup: map[string][]string{},
	}
	src.readers = &atlassian.Readers{
		State: s.State, People: src.addresses,
		Members: func(ctx context.Context, id string) ([]string, error) { return src.groupMembers(ctx, group{ID: id}) },
	}
	src.resetCaches()
	if target.Cloud {
		src.deployment = &cloud{client: src.client, include: src.include, parents: map[string]parent{}, spaceKeys: map[string]string{}}
	} else {
		src.deployment = &dataCenter{client: src.client, include: src.include}
	}
	return src, nil
}

// resetCaches deletes what a new walk must request again.
func (s *source) resetCaches() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.selected = nil
	s.ancestors, s.spaceKeys, s.restrictions = map[string][]ancestor{}, map[string]string{}, map[string]*allowList{}
	s.readersBySpace = map[string]spaceReaders{}
	if c, ok := s.deployment.(*cloud); ok {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		clear(c.parents)
	}
}

// addWarning adds a warning to the next page of the walk, once.
func (s *source) addWarning(text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.warningSet[text] {
		s.warningSet[text] = true
		s.warnings = append(s.warnings, text)
	}
}

// takeWarnings returns the warnings since the last call.
func (s *source) takeWarnings() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	warnings := s.warnings
	s.warnings = nil
	return warnings
}

// checkAccount checks that the site knows the account. To unknown accounts,
// both deployments show public content, which may be none.
func (s *source) checkAccount(ctx context.Context) error {
	s.mutex.Lock()
	checked := s.accountChecked
	s.mutex.Unlock()
	if checked {
		return nil
	}
	var me user
	if err := s.client.get(ctx, "rest/api/user/current", nil, &me); err != nil {
		if errors.Is(err, connectors.ErrNotFound) {
			return connectors.Fatal(fmt.Errorf("there is no Confluence at config.%s; correct the address, with the path that pages have in front of /display or /spaces", atlassian.OptionURL))
		}
		return err
	}
	if me.Type == "anonymous" || me.id() == "" {
		return connectors.NeedsAuth(errors.New("the wiki does not know the account; enter the credentials again"))
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.accountChecked = true
	return nil
}

// selectedSpaces returns the spaces of the connector, sorted by key. It is an
// error if a named space is not visible: the walk would seem complete without
// it.
func (s *source) selectedSpaces(ctx context.Context) ([]space, error) {
	s.mutex.Lock()
	selected := s.selected
	s.mutex.Unlock()
	if selected != nil {
		return selected, nil
	}
	if err := s.checkAccount(ctx); err != nil {
		return nil, err
	}
	named := s.settings.Strings(optionSpaces)
	all, err := s.deployment.spaces(ctx, named)
	if err != nil {
		return nil, err
	}
	if selected, err = s.selectSpaces(named, all); err != nil {
		return nil, err
	}
	slices.SortFunc(selected, func(a, b space) int { return strings.Compare(a.key, b.key) })
	selected = slices.CompactFunc(selected, func(a, b space) bool { return a.key == b.key })
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.selected = selected
	return selected, nil
}

func (s *source) selectSpaces(named []string, all []space) ([]space, error) {
	selected := []space{}
	if len(named) == 0 {
		if len(all) == 0 {
			return nil, connectors.NeedsAuth(errors.New("the account does not see any space; give it the right to view those that are to be found"))
		}
		for _, sp := range all {
			if (!sp.personal || s.settings.Boolean(optionPersonal)) && (!sp.archived || s.include.archived) {
				selected = append(selected, sp)
			}
		}
		return selected, nil
	}
	for _, key := range named {
		i := slices.IndexFunc(all, func(sp space) bool { return strings.EqualFold(sp.key, key) })
		switch {
		case i < 0:
			return nil, connectors.NeedsAuth(fmt.Errorf("the space %q does not exist, or the account may not see it; give it the right to view the space, or take it out of config.%s", key, optionSpaces))
		case all[i].archived && !s.include.archived:
			return nil, connectors.Fatal(fmt.Errorf("the space %q is archived; set config.%s, or take it out of config.%s", key, optionArchived, optionSpaces))
		}
		selected = append(selected, all[i])
	}
	return selected, nil
}

// Check implements [connectors.Source].
func (s *source) Check(ctx context.Context) error {
	spaces, err := s.checkRead(ctx)
	if err != nil || len(spaces) == 0 || !s.importsPermissions {
		return err
	}
	return s.checkPermissions(ctx, spaces[0])
}

// CheckTiers implements [connectors.TierChecker].
func (s *source) CheckTiers(ctx context.Context) ([]connectors.Tier, error) {
	spaces, err := s.checkRead(ctx)
	tiers := []connectors.Tier{{Name: connectors.TierRead, Err: err}}
	if s.importsPermissions && len(spaces) > 0 {
		tiers = append(tiers, connectors.Tier{Name: connectors.TierPermissions, Err: s.checkPermissions(ctx, spaces[0])})
	}
	return tiers, ctx.Err()
}

// checkRead checks the rights to read, and returns the spaces.
func (s *source) checkRead(ctx context.Context) ([]space, error) {
	s.resetCaches()
	spaces, err := s.selectedSpaces(ctx)
	if err != nil || len(spaces) == 0 {
		return spaces, err
	}
	pages, _, err := s.deployment.list(ctx, spaces[0], kindPage, "")
	if err != nil {
		return nil, err
	}
	if clause := s.settings.String(optionCQL); clause != "" {
		if len(pages) == 0 {
			pages = []*page{{id: "1"}}
		}
		if _, err := s.client.matchCQL(ctx, pages[:1], clause); err != nil {
			return nil, err
		}
	}
	return spaces, nil
}

// checkPermissions checks the rights that an import of permissions needs.
func (s *source) checkPermissions(ctx context.Context, sp space) error {
	if _, err := s.spaceReaders(ctx, sp); err != nil {
		return fmt.Errorf("read who may see the space %s: %w", sp.key, err)
	}
	if _, _, err := s.deployment.groups(ctx, 0); err != nil {
		return fmt.Errorf("read the groups: %w", err)
	}
	return nil
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.client.Close()
	return nil
}

// namesIn returns the names of the users that texts mention.
func (s *source) namesIn(ctx context.Context, texts ...string) (userNames, error) {
	ids := mentionedUsers(texts...)
	s.mutex.Lock()
	var missing []string
	for id := range ids {
		if _, cached := s.userNames[id]; !cached {
			missing = append(missing, id)
		}
	}
	s.mutex.Unlock()
	if len(missing) > 0 {
		slices.Sort(missing)
		found := userNames{}
		if err := s.deployment.names(ctx, missing, found); err != nil {
			if status := restapi.StatusOf(err); status != 403 && status != 404 {
				return nil, err
			}
			s.addWarning("The account may not read the names of people; mentions of them read @user.")
		}
		s.mutex.Lock()
		for _, id := range missing {
			s.userNames[id] = found[id]
		}
		s.mutex.Unlock()
	}
	names := userNames{}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for id := range ids {
		names[id] = s.userNames[id]
	}
	return names, nil
}
