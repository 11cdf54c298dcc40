package hubspot

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// account returns the account of the token.
func (s *source) account(ctx context.Context) (account, error) {
	s.mutex.Lock()
	known := s.owned
	s.mutex.Unlock()
	if known != nil {
		return *known, nil
	}
	var found account
	if err := s.api.call(ctx, familyAccount, nil, restapi.Request{}, &found); err != nil && !isRefused(err) && !errors.Is(err, connectors.ErrNotFound) {
		return account{}, err // without it, documents have no addresses
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.owned = &found
	return found, nil
}

// objects returns the objects of the settings.
func (s *source) objects(ctx context.Context) ([]object, error) {
	s.mutex.Lock()
	known := s.chosen
	s.mutex.Unlock()
	if known != nil {
		return known, nil
	}
	names := s.settings.Strings(optionObjects)
	if len(names) == 0 {
		names = standardNames()
	}
	var chosen []object
	var schemas []schema
	for _, name := range names {
		o, standard := standardObject(name)
		if !standard {
			if schemas == nil {
				var err error
				if schemas, err = s.readSchemas(ctx); err != nil {
					return nil, err
				}
			}
			var err error
			if o, err = customObject(schemas, name); err != nil {
				return nil, err
			}
		}
		for _, text := range s.settings.Strings(optionProperties) {
			if of, property, err := parseProperty(text); err == nil && (strings.EqualFold(of, name) || of == o.name || of == o.typeID) {
				o.more = append(o.more, property)
			}
		}
		if !slices.ContainsFunc(chosen, func(other object) bool { return other.name == o.name }) {
			chosen = append(chosen, o)
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.chosen = chosen
	return chosen, nil
}

func (s *source) readSchemas(ctx context.Context) ([]schema, error) {
	var page struct{ Results []schema }
	r := restapi.Request{Query: url.Values{"archived": {"false"}}, RequiredFields: []string{"results"}}
	if err := s.api.call(ctx, familySchemas, nil, r, &page); err != nil {
		return nil, scopeError(err, "custom objects", "crm.schemas.custom.read")
	}
	for _, found := range page.Results {
		if !objectName.MatchString(found.ObjectTypeID) || found.Name == "" {
			return nil, errInvalid("a custom object")
		}
	}
	if page.Results == nil {
		page.Results = []schema{}
	}
	return page.Results, nil
}

// customObject returns the custom object with a name or id.
func customObject(schemas []schema, name string) (object, error) {
	i := slices.IndexFunc(schemas, func(found schema) bool {
		return found.ObjectTypeID == name || strings.EqualFold(found.FullyQualifiedName, name) || strings.EqualFold(found.Name, strings.TrimPrefix(name, "p_"))
	})
	if i < 0 {
		var names []string
		for _, found := range schemas {
			names = append(names, found.Name)
		}
		has := "the account has no custom objects"
		if len(names) > 0 {
			has = "the account has " + strings.Join(names, ", ")
		}
		return object{}, connectors.NeedsAuth(fmt.Errorf("there is no object %q; correct config.%s (%s)", name, optionObjects, has))
	}
	found := schemas[i]
	o := object{
		name: found.ObjectTypeID, typeID: found.ObjectTypeID, title: found.Labels.Plural, single: found.Labels.Singular, modified: modified,
		associated: []string{contacts, companies, deals, tickets}, scope: "crm.objects.custom.read",
	}
	if o.title == "" {
		o.title = found.Name
	}
	if o.single == "" {
		o.single = found.Name
	}
	if found.PrimaryDisplayProperty != "" {
		o.titles = [][]string{{found.PrimaryDisplayProperty}}
	}
	o.shown = slices.Concat(found.SecondaryDisplayProperties, found.RequiredProperties)
	for _, p := range found.Properties {
		if !p.HubspotDefined && !p.Hidden && p.Name != found.PrimaryDisplayProperty && len(o.shown) < maxProperties/2 {
			o.shown = append(o.shown, p.Name)
		}
	}
	slices.Sort(o.shown)
	o.shown = append(slices.DeleteFunc(slices.Compact(o.shown), func(name string) bool { return name == found.PrimaryDisplayProperty }), propertyOwner)
	return o, nil
}

// labels returns the descriptions of the properties of an object, by name. If the token
// may not read them, documents have the names in place of labels.
func (s *source) labels(ctx context.Context, o *object) (map[string]property, error) {
	s.mutex.Lock()
	known := s.described[o.name]
	s.mutex.Unlock()
	if known != nil {
		return known, nil
	}
	var page struct{ Results []property }
	r := restapi.Request{Query: url.Values{"archived": {"false"}}, RequiredFields: []string{"results"}}
	err := s.api.call(ctx, familyProperties, []string{o.name}, r, &page)
	switch {
	case isRefused(err):
		s.addWarning(fmt.Sprintf("The names of the properties of %s cannot be read: %s.", o.title, scopeError(err, "them", "crm.schemas."+o.name+".read")))
	case err != nil:
		return nil, err
	}
	found := map[string]property{}
	for _, p := range page.Results {
		if p.Name == "" {
			return nil, errInvalid("a property")
		}
		found[p.Name] = p
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.described[o.name] = found
	return found, nil
}

// ownerName returns the name of the owner with an id, "" if it is unknown.
func (s *source) ownerName(ctx context.Context, id string) (string, error) {
	s.mutex.Lock()
	known := s.owners
	s.mutex.Unlock()
	if known == nil {
		var err error
		if known, err = s.readOwners(ctx); err != nil {
			return "", err
		}
		s.mutex.Lock()
		s.owners = known
		s.mutex.Unlock()
	}
	return known[id], nil
}

func (s *source) readOwners(ctx context.Context) (map[string]string, error) {
	names := map[string]string{}
	err := restapi.AllPages("HubSpot", "the owners", 1000, func(after string) (string, error) {
		var page struct {
			Results []owner
			Paging  paging
		}
		query := url.Values{"limit": {"500"}, "archived": {"false"}}
		if after != "" {
			query.Set("after", after)
		}
		if err := s.api.call(ctx, familyOwners, nil, restapi.Request{Query: query, RequiredFields: []string{"results"}}, &page); err != nil {
			return "", err
		}
		for _, o := range page.Results {
			if o.ID == "" {
				return "", errInvalid("an owner")
			}
			names[string(o.ID)] = o.name()
		}
		return page.Paging.Next.After, nil
	})
	if isRefused(err) {
		s.addWarning("Documents have no owners: the token lacks the scope crm.objects.owners.read.")
		return map[string]string{}, nil
	}
	return names, err
}
