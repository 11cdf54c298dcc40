package hubspot

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	batchSize = 100
	// maxNamed is the number of associated records of an object that a document names.
	maxNamed = 20
	// maxNames bounds the titles of records that are kept.
	maxNames = 50_000
)

// sortedIDs returns ids in their order, each once.
func sortedIDs(ids []string) []string {
	slices.SortFunc(ids, compareIDs)
	return slices.Compact(ids)
}

// A batchInput is an input of a batch.
type batchInput struct {
	ID string `json:"id"`
}

func batchInputs(ids []string) []batchInput {
	inputs := make([]batchInput, len(ids))
	for i, id := range ids {
		inputs[i].ID = id
	}
	return inputs
}

// readAssociations adds the ids of associated records to records of a search, which come
// without them.
func (s *source) readAssociations(ctx context.Context, o *object, records []record) error {
	if !s.associations {
		return nil
	}
	at := map[string]*record{}
	var ids []string
	for i := range records {
		records[i].Associations = nil
		at[string(records[i].ID)] = &records[i]
		ids = append(ids, string(records[i].ID))
	}
	for _, to := range o.associated {
		for batch := range slices.Chunk(ids, batchSize) {
			if err := s.readBatch(ctx, o, to, batch, at); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *source) readBatch(ctx context.Context, o *object, to string, ids []string, at map[string]*record) error {
	var page struct {
		Results []struct {
			From struct{ ID identifier }
			To   []struct {
				ID identifier `json:"toObjectId"`
			}
		}
	}
	r := restapi.Request{
		Method: http.MethodPost, Body: map[string]any{"inputs": batchInputs(ids)}, RequiredFields: []string{"status"}, RequiredList: "results", AllowMultiStatus: true,
	}
	err := s.api.call(ctx, familyAssociations, []string{o.name, to, "batch", "read"}, r, &page)
	if isRefused(err) {
		return nil // the walk's list leaves them out as well
	}
	if err != nil {
		return err
	}
	for _, result := range page.Results {
		found := at[string(result.From.ID)]
		if found == nil {
			return errInvalid("an association")
		}
		var list struct{ Results []struct{ ID identifier } }
		for _, other := range result.To {
			list.Results = append(list.Results, struct{ ID identifier }{other.ID})
		}
		if found.Associations == nil {
			found.Associations = map[string]struct{ Results []struct{ ID identifier } }{}
		}
		found.Associations[to] = list
	}
	return nil
}

func nameKey(object, id string) string { return object + ":" + id }

// readNames reads the titles of the records that others belong to.
func (s *source) readNames(ctx context.Context, o *object, records []record) error {
	if !s.associations {
		return nil
	}
	for _, to := range o.associated {
		other, _ := standardObject(to)
		var unknown []string
		s.mutex.Lock()
		if len(s.names) > maxNames {
			s.names = map[string]string{}
		}
		for i := range records {
			ids := records[i].ids(to)
			for _, id := range ids[:min(len(ids), maxNamed)] {
				if _, known := s.names[nameKey(to, id)]; !known && isID(id) {
					unknown = append(unknown, id)
				}
			}
		}
		s.mutex.Unlock()
		for batch := range slices.Chunk(sortedIDs(unknown), batchSize) {
			if err := s.readTitles(ctx, &other, batch); err != nil {
				return err
			}
		}
	}
	return nil
}

// readTitles keeps the titles of records. Those that the account does not have, or may
// not read, have none.
func (s *source) readTitles(ctx context.Context, o *object, ids []string) error {
	var page recordPage
	r := restapi.Request{
		Method: http.MethodPost, Body: map[string]any{"inputs": batchInputs(ids), "properties": o.titleProperties()}, RequiredFields: []string{"status"}, AllowMultiStatus: true,
	}
	err := s.api.call(ctx, familyObjects, []string{o.name, "batch", "read"}, r, &page)
	if isRefused(err) {
		s.addWarning(fmt.Sprintf("Documents do not name associated %s: %s.", o.title, scopeError(err, "they", o.scope)))
		err = nil
	}
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, id := range ids {
		s.names[nameKey(o.name, id)] = ""
	}
	for i := range page.Results {
		found := &page.Results[i]
		if !isID(string(found.ID)) || found.Properties == nil {
			return errInvalid("a record")
		}
		s.names[nameKey(o.name, string(found.ID))] = o.titleOf(found)
	}
	return nil
}

// namesOf returns the titles of the records of an object that a record belongs to.
func (s *source) namesOf(r *record, object string) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	ids := r.ids(object)
	var names []string
	for _, id := range ids[:min(len(ids), maxNamed)] {
		if name := s.names[nameKey(object, id)]; name != "" {
			names = append(names, name)
		}
	}
	return names
}
