package hubspotserver

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxList   = 100
	maxSearch = 200
	maxBatch  = 100
)

// isObject reports whether the account has an object.
func (c *call) isObject(name string) bool {
	standard := []string{"contacts", "companies", "deals", "tickets", "notes", "emails", "calls", "meetings", "tasks"}
	return slices.Contains(standard, name) || slices.ContainsFunc(c.schemas, func(s Schema) bool { return s.ID == name })
}

// row returns a record with some properties and the ids of associated records.
func (c *call) row(name string, r *Record, properties, associated []string) object {
	values := object{"hs_object_id": r.ID, modifiedOf(name): r.value(name, modifiedOf(name)), "createdate": r.value(name, "createdate")}
	for _, property := range properties {
		if text := r.value(name, property); text != "" {
			values[property] = text
		} else {
			values[property] = nil
		}
	}
	row := object{
		"id": r.ID, "properties": values, "createdAt": r.Created.Format(timeFormat), "updatedAt": r.Updated.Format(timeFormat), "archived": !r.Archived.IsZero(),
	}
	if !r.Archived.IsZero() {
		row["archivedAt"] = r.Archived.Format(timeFormat)
	}
	linked := object{}
	for _, other := range associated {
		var ids []object
		for _, id := range r.Associated[other] {
			// A labelled association is told in addition to the one without a label.
			ids = append(ids, object{"id": id, "type": name + "_to_" + other}, object{"id": id, "type": name + "_to_" + other + "_unlabeled"})
		}
		if len(ids) > 0 {
			linked[other] = object{"results": ids}
		}
	}
	if len(linked) > 0 {
		row["associations"] = linked
	}
	return row
}

func (c *call) names(parameter string) []string {
	var names []string
	for _, list := range c.r.URL.Query()[parameter] {
		names = append(names, strings.Split(list, ",")...)
	}
	return names
}

func (c *call) limit(text string, most int) (int, bool) {
	limit := 10
	if text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > most {
			c.refuse(http.StatusBadRequest, "VALIDATION_ERROR", "Invalid limit: "+text, nil)
			return 0, false
		}
	}
	if c.MaxPage > 0 {
		limit = min(limit, c.MaxPage)
	}
	return limit, true
}

func (c *call) list(name string) {
	if !c.isObject(name) {
		c.refuse(http.StatusBadRequest, "VALIDATION_ERROR", "Unable to infer object type from: "+name, nil)
		return
	}
	query := c.r.URL.Query()
	limit, ok := c.limit(query.Get("limit"), maxList)
	if !ok {
		return
	}
	archived := query.Get("archived") == "true"
	after := number(query.Get("after"))
	records := c.sorted(name, func(r *Record) bool {
		return r.Archived.IsZero() != archived && (!archived || !r.Purged) && number(r.ID) > after
	})
	answer := object{}
	if len(records) > limit {
		records = records[:limit]
		answer["paging"] = object{"next": object{"after": records[limit-1].ID, "link": c.URL}}
	}
	rows := []object{}
	for _, r := range records {
		rows = append(rows, c.row(name, r, c.names("properties"), c.names("associations")))
	}
	answer["results"] = rows
	c.json(http.StatusOK, answer)
}

func (c *call) one(name, id string) {
	r := c.objects[name][id]
	if r == nil || !r.Archived.IsZero() {
		c.notFound()
		return
	}
	c.json(http.StatusOK, c.row(name, r, c.names("properties"), c.names("associations")))
}

type searchBody struct {
	FilterGroups []struct {
		Filters []struct{ PropertyName, Operator, Value string }
	}
	Sorts      []struct{ PropertyName, Direction string }
	Properties []string
	Limit      int
	After      string
}

// matches reports whether a record matches a filter.
func matches(name string, r *Record, property, operator, value string) bool {
	have, want := 0, 0
	if property == modifiedOf(name) {
		have, want = int(r.Updated.UnixMilli()), number(value)
	} else {
		have, want = number(r.value(name, property)), number(value)
	}
	switch operator {
	case "GT":
		return have > want
	case "GTE":
		return have >= want
	case "EQ":
		return r.value(name, property) == value
	}
	return false
}

func (c *call) search(name string) {
	var body searchBody
	if err := json.NewDecoder(c.r.Body).Decode(&body); err != nil || !c.isObject(name) {
		c.refuse(http.StatusBadRequest, "VALIDATION_ERROR", "Invalid input JSON", nil)
		return
	}
	limit, ok := c.limit(strconv.Itoa(cmp.Or(body.Limit, 10)), maxSearch)
	if !ok {
		return
	}
	found := c.sorted(name, func(r *Record) bool {
		if !r.Archived.IsZero() || r.Unindexed {
			return false
		}
		for _, group := range body.FilterGroups {
			for _, f := range group.Filters {
				if !matches(name, r, f.PropertyName, f.Operator, f.Value) {
					return false
				}
			}
		}
		return true
	})
	if len(body.Sorts) > 0 && body.Sorts[0].PropertyName == modifiedOf(name) {
		slices.SortStableFunc(found, func(a, b *Record) int { return a.Updated.Compare(b.Updated) })
	}
	if len(body.Sorts) > 0 && body.Sorts[0].Direction == "DESCENDING" {
		slices.Reverse(found)
	}
	start := number(body.After)
	if start+limit > c.MaxSearched {
		c.refuse(http.StatusBadRequest, "VALIDATION_ERROR", "The maximum number of results of a search is 10000", nil)
		return
	}
	answer := object{"total": len(found)}
	rows := []object{}
	for _, r := range found[min(start, len(found)):min(start+limit, len(found))] {
		rows = append(rows, c.row(name, r, body.Properties, nil))
	}
	if start+limit < len(found) {
		answer["paging"] = object{"next": object{"after": strconv.Itoa(start + limit)}}
	}
	answer["results"] = rows
	c.json(http.StatusOK, answer)
}

type batchBody struct {
	Inputs     []struct{ ID string }
	Properties []string
}

func (c *call) batchBody() (batchBody, bool) {
	var body batchBody
	if err := json.NewDecoder(c.r.Body).Decode(&body); err != nil || len(body.Inputs) > maxBatch {
		c.refuse(http.StatusBadRequest, "VALIDATION_ERROR", "Invalid input JSON", nil)
		return body, false
	}
	return body, true
}

// multiStatus answers with the results of a batch, of which some parts can have failed.
func (c *call) multiStatus(rows []object, failed []string, subCategory string) {
	answer := object{"status": "COMPLETE", "results": rows, "startedAt": c.clock.Format(timeFormat), "completedAt": c.clock.Format(timeFormat)}
	if len(failed) == 0 {
		c.json(http.StatusOK, answer)
		return
	}
	answer["numErrors"] = len(failed)
	answer["errors"] = []any{object{"status": "error", "category": "OBJECT_NOT_FOUND", "subCategory": subCategory, "message": "not found", "context": object{"ids": failed}}}
	c.json(http.StatusMultiStatus, answer)
}

func (c *call) batch(name string) {
	body, ok := c.batchBody()
	if !ok {
		return
	}
	rows, missing := []object{}, []string(nil)
	for _, input := range body.Inputs {
		if r := c.objects[name][input.ID]; r != nil && r.Archived.IsZero() {
			rows = append(rows, c.row(name, r, body.Properties, nil))
		} else {
			missing = append(missing, input.ID)
		}
	}
	c.multiStatus(rows, missing, "")
}

func (c *call) associations(name, other string) {
	body, ok := c.batchBody()
	if !ok {
		return
	}
	rows, missing := []object{}, []string(nil)
	for _, input := range body.Inputs {
		r := c.objects[name][input.ID]
		if r == nil || len(r.Associated[other]) == 0 {
			missing = append(missing, input.ID)
			continue
		}
		var to []object
		for _, id := range r.Associated[other] {
			to = append(to, object{"toObjectId": number(id), "associationTypes": []any{object{"category": "HUBSPOT_DEFINED", "typeId": 1, "label": nil}}})
		}
		rows = append(rows, object{"from": object{"id": input.ID}, "to": to})
	}
	c.multiStatus(rows, missing, "crm.associations.NO_ASSOCIATIONS_FOUND")
}

func (c *call) listOwners() {
	if !c.may("crm.objects.owners.read") {
		return
	}
	limit, ok := c.limit(c.r.URL.Query().Get("limit"), 500)
	if !ok {
		return
	}
	start := number(c.r.URL.Query().Get("after"))
	answer, rows := object{}, []object{}
	for _, o := range c.owners[min(start, len(c.owners)):min(start+limit, len(c.owners))] {
		rows = append(rows, object{"id": o.ID, "email": o.Email, "firstName": o.First, "lastName": o.Last, "type": "PERSON", "archived": false, "createdAt": c.clock.Format(timeFormat), "updatedAt": c.clock.Format(timeFormat)})
	}
	if start+limit < len(c.owners) {
		answer["paging"] = object{"next": object{"after": strconv.Itoa(start + limit)}}
	}
	answer["results"] = rows
	c.json(http.StatusOK, answer)
}

func (p Property) row(custom bool) object {
	options := []object{}
	for _, value := range slices.Sorted(maps.Keys(p.Options)) {
		options = append(options, object{"label": p.Options[value], "value": value, "hidden": false})
	}
	return object{"name": p.Name, "label": p.Label, "type": p.Type, "fieldType": p.FieldType, "options": options, "hubspotDefined": !custom, "hidden": false}
}

func (c *call) listProperties(name string) {
	if !c.may("crm.schemas." + name + ".read") {
		return
	}
	rows := []object{}
	for _, p := range c.properties[name] {
		rows = append(rows, p.row(false))
	}
	for _, s := range c.schemas {
		for _, p := range s.Properties {
			if s.ID == name {
				rows = append(rows, p.row(true))
			}
		}
	}
	c.json(http.StatusOK, object{"results": rows})
}

func (c *call) listSchemas() {
	if !c.may("crm.schemas.custom.read") {
		return
	}
	rows := []object{}
	for _, s := range c.schemas {
		properties := []object{{"name": "hs_object_id", "label": "Record ID", "type": "number", "fieldType": "number", "hubspotDefined": true}}
		for _, p := range s.Properties {
			properties = append(properties, p.row(true))
		}
		rows = append(rows, object{
			"id": s.ID, "objectTypeId": s.ID, "name": s.Name, "fullyQualifiedName": "p12345678_" + s.Name, "labels": object{"singular": s.Singular, "plural": s.Plural},
			"primaryDisplayProperty": s.Primary, "secondaryDisplayProperties": s.Secondary, "requiredProperties": []string{s.Primary}, "properties": properties, "archived": false,
			"createdAt": c.clock.Format(time.RFC3339), "updatedAt": c.clock.Format(time.RFC3339),
		})
	}
	c.json(http.StatusOK, object{"results": rows})
}
