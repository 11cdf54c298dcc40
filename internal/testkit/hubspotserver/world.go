package hubspotserver

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// Record is a record of an object.
type Record struct {
	ID         string
	Properties map[string]string
	// Associated has the ids of associated records by object.
	Associated map[string][]string
	Created    time.Time
	Updated    time.Time
	// Archived is when the record was archived, zero for one that is not.
	Archived time.Time
	// Unindexed keeps the last change out of the search, Purged the record out of the list
	// of archived ones.
	Unindexed, Purged bool
}

// Owner is a person who is responsible for records.
type Owner struct{ ID, Email, First, Last string }

// Schema is a custom object.
type Schema struct {
	ID, Name, Singular, Plural, Primary string
	Secondary                           []string
	Properties                          []Property
}

// Property describes a property.
type Property struct {
	Name, Label, Type, FieldType string
	// Options are labels by value.
	Options map[string]string
}

// modifiedOf returns the property with the time of the last change.
func modifiedOf(object string) string {
	if object == "contacts" {
		return "lastmodifieddate"
	}
	return "hs_lastmodifieddate"
}

func (s *Server) now() time.Time {
	s.clock = s.clock.Add(time.Second)
	return s.clock
}

// Advance moves the clock.
func (s *Server) Advance(by time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.clock = s.clock.Add(by)
}

// SetClock sets the clock.
func (s *Server) SetClock(at time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.clock = at
}

// Add adds a record of an object and returns its id.
func (s *Server) Add(object string, r Record) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if r.ID == "" {
		s.serial++
		r.ID = strconv.Itoa(s.serial)
	}
	r.Created = s.now()
	r.Updated = r.Created
	if r.Properties == nil {
		r.Properties = map[string]string{}
	}
	if s.objects[object] == nil {
		s.objects[object] = map[string]*Record{}
	}
	s.objects[object][r.ID] = &r
	return r.ID
}

// Change edits a record.
func (s *Server) Change(object, id string, change func(*Record)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	r := s.objects[object][id]
	r.Updated = s.now()
	change(r)
}

// Set changes a record without an edit.
func (s *Server) Set(object, id string, change func(*Record)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change(s.objects[object][id])
}

// Archive archives a record.
func (s *Server) Archive(object, id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.objects[object][id].Archived = s.now()
}

// Remove deletes a record for good, as a merge does.
func (s *Server) Remove(object, id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.objects[object], id)
}

// Associate associates two records in both directions.
func (s *Server) Associate(object, id, other, otherID string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	link := func(object, id, other, otherID string) {
		r := s.objects[object][id]
		if r.Associated == nil {
			r.Associated = map[string][]string{}
		}
		r.Associated[other] = append(r.Associated[other], otherID)
	}
	link(object, id, other, otherID)
	link(other, otherID, object, id)
}

// AddOwner adds an owner.
func (s *Server) AddOwner(o Owner) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.owners = append(s.owners, o)
}

// AddSchema adds a custom object.
func (s *Server) AddSchema(schema Schema) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.schemas = append(s.schemas, schema)
}

// SetProperties describes the properties of an object.
func (s *Server) SetProperties(object string, properties ...Property) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.properties[object] = properties
}

// Revoke takes scopes from the token.
func (s *Server) Revoke(scopes ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, scope := range scopes {
		s.revoked[scope] = true
	}
}

// Grant gives scopes back.
func (s *Server) Grant(scopes ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, scope := range scopes {
		delete(s.revoked, scope)
	}
}

// sorted returns the records of an object in the order of ids.
func (s *Server) sorted(object string, match func(*Record) bool) []*Record {
	var found []*Record
	for r := range maps.Values(s.objects[object]) {
		if match(r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *Record) int { return number(a.ID) - number(b.ID) })
	return found
}

func number(id string) int {
	n, _ := strconv.Atoi(id)
	return n
}

// value returns the value of a property.
func (r *Record) value(object, name string) string {
	switch name {
	case "hs_object_id":
		return r.ID
	case modifiedOf(object):
		return r.Updated.Format(timeFormat)
	case "createdate", "hs_createdate":
		return r.Created.Format(timeFormat)
	}
	return r.Properties[name]
}

const timeFormat = "2006-01-02T15:04:05.000Z"

// AddSample fills the account with some content.
func (s *Server) AddSample() {
	s.AddOwner(Owner{ID: "71", Email: "ada@example.com", First: "Ada", Last: "Lovelace"})
	s.SetProperties("deals", Property{Name: "dealstage", Label: "Deal stage", Type: "enumeration", FieldType: "radio", Options: map[string]string{"contractsent": "Contract sent"}},
		Property{Name: "amount", Label: "Amount", Type: "number", FieldType: "number"}, Property{Name: "closedate", Label: "Close date", Type: "datetime", FieldType: "date"})
	s.SetProperties("contacts", Property{Name: "jobtitle", Label: "Job title", Type: "string", FieldType: "text"}, Property{Name: "email", Label: "Email", Type: "string", FieldType: "text"})
	company := s.Add("companies", Record{Properties: map[string]string{"name": "Lighthouse Ltd", "domain": "lighthouse.example", "city": "Brest", "description": "Keeps the lamps of nine harbours lit."}})
	person := s.Add("contacts", Record{Properties: map[string]string{"firstname": "Grace", "lastname": "Hopper", "email": "grace@lighthouse.example", "jobtitle": "Keeper", "hubspot_owner_id": "71"}})
	deal := s.Add("deals", Record{Properties: map[string]string{"dealname": "Nine new lamps", "amount": "48000", "dealstage": "contractsent", "closedate": "2026-12-01T00:00:00Z", "hubspot_owner_id": "71"}})
	ticket := s.Add("tickets", Record{Properties: map[string]string{"subject": "The lamp of Ouessant flickers", "content": "Since Tuesday.\nOnly in fog."}})
	note := s.Add("notes", Record{Properties: map[string]string{"hs_note_body": "<p>Grace wants the lamps <b>before the winter</b>.</p>", "hs_timestamp": "2026-05-01T08:00:00Z"}})
	mail := s.Add("emails", Record{Properties: map[string]string{
		"hs_email_subject": "Your offer", "hs_email_html": "<div>We take the nine lamps. The fog horn can wait.</div>", "hs_email_from_email": "grace@lighthouse.example", "hs_email_to_email": "ada@example.com",
	}})
	task := s.Add("tasks", Record{Properties: map[string]string{"hs_task_subject": "Send the contract", "hs_task_body": "<p>Two signatures.</p>", "hs_task_status": "NOT_STARTED"}})
	s.Associate("contacts", person, "companies", company)
	for object, id := range map[string]string{"deals": deal, "tickets": ticket, "notes": note, "emails": mail, "tasks": task} {
		s.Associate(object, id, "companies", company)
		s.Associate(object, id, "contacts", person)
	}
}
