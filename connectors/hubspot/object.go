package hubspot

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// An object is a type of records.
type object struct {
	// name is the name in paths of the API and in ids: "contacts", or "2-123" for a custom
	// object. typeID is that in addresses for people.
	name, typeID string
	// title is the name for people, in the plural, and single in the singular.
	title, single string
	// titles are the properties of which a record's title consists. Each list replaces
	// the ones before it if they are all empty.
	titles [][]string
	// shown are the properties that a document lists, bodies those with longer texts.
	shown, bodies []string
	// more are the properties that the settings add.
	more []string
	// modified is the property with the time of the last change.
	modified string
	// associated are the names of the objects that a document names records of.
	associated []string
	// scope is the right to read the records.
	scope string
}

const (
	propertyID    = "hs_object_id"
	propertyOwner = "hubspot_owner_id"
	modified      = "hs_lastmodifieddate"
)

// The names of the objects that other records belong to.
const (
	contacts  = "contacts"
	companies = "companies"
	deals     = "deals"
	tickets   = "tickets"
)

// standardObjects returns the objects that every account has.
func standardObjects() []object {
	about := []string{contacts, companies, deals, tickets}
	title := func(names ...string) [][]string { return [][]string{names} }
	return []object{
		{
			name: contacts, typeID: "0-1", title: "Contacts", single: "Contact", titles: [][]string{{"firstname", "lastname"}, {"email"}},
			shown:    []string{"email", "phone", "mobilephone", "jobtitle", "company", "website", "city", "country", "lifecyclestage", "hs_lead_status", propertyOwner},
			modified: "lastmodifieddate", associated: []string{companies}, scope: "crm.objects.contacts.read",
		},
		{
			name: companies, typeID: "0-2", title: "Companies", single: "Company", titles: [][]string{{"name"}, {"domain"}},
			shown:  []string{"domain", "phone", "city", "country", "industry", "type", "numberofemployees", "annualrevenue", "lifecyclestage", propertyOwner},
			bodies: []string{"description"}, modified: modified, scope: "crm.objects.companies.read",
		},
		{
			name: deals, typeID: "0-3", title: "Deals", single: "Deal", titles: title("dealname"),
			shown:  []string{"amount", "deal_currency_code", "pipeline", "dealstage", "dealtype", "closedate", "hs_priority", "hs_next_step", propertyOwner},
			bodies: []string{"description"}, modified: modified, associated: []string{companies, contacts}, scope: "crm.objects.deals.read",
		},
		{
			name: tickets, typeID: "0-5", title: "Tickets", single: "Ticket", titles: title("subject"),
			shown:  []string{"hs_pipeline", "hs_pipeline_stage", "hs_ticket_priority", "hs_ticket_category", "source_type", "closed_date", propertyOwner},
			bodies: []string{"content", "hs_resolution"}, modified: modified, associated: []string{companies, contacts}, scope: "tickets",
		},
		{
			name: "notes", typeID: "0-46", title: "Notes", single: "Note", shown: []string{"hs_timestamp", propertyOwner}, bodies: []string{"hs_note_body"},
			modified: modified, associated: about, scope: "crm.objects.contacts.read",
		},
		{
			name: "emails", typeID: "0-49", title: "Emails", single: "Email", titles: title("hs_email_subject"),
			shown:  []string{"hs_timestamp", "hs_email_direction", "hs_email_from_email", "hs_email_to_email", "hs_email_cc_email", propertyOwner},
			bodies: []string{"hs_email_html", "hs_email_text"}, modified: modified, associated: about, scope: "sales-email-read",
		},
		{
			name: "calls", typeID: "0-48", title: "Calls", single: "Call", titles: title("hs_call_title"),
			shown:  []string{"hs_timestamp", "hs_call_direction", "hs_call_status", "hs_call_disposition", propertyOwner},
			bodies: []string{"hs_call_summary", "hs_call_body"}, modified: modified, associated: about, scope: "crm.objects.contacts.read",
		},
		{
			name: "meetings", typeID: "0-47", title: "Meetings", single: "Meeting", titles: title("hs_meeting_title"),
			shown:  []string{"hs_meeting_start_time", "hs_meeting_end_time", "hs_meeting_location", "hs_meeting_outcome", propertyOwner},
			bodies: []string{"hs_meeting_body", "hs_internal_meeting_notes"}, modified: modified, associated: about, scope: "crm.objects.contacts.read",
		},
		{
			name: "tasks", typeID: "0-27", title: "Tasks", single: "Task", titles: title("hs_task_subject"),
			shown:  []string{"hs_timestamp", "hs_task_status", "hs_task_priority", "hs_task_type", propertyOwner},
			bodies: []string{"hs_task_body"}, modified: modified, associated: about, scope: "crm.objects.contacts.read",
		},
	}
}

func standardNames() []string {
	var names []string
	for _, o := range standardObjects() {
		names = append(names, o.name)
	}
	return names
}

// standardObject returns the standard object with a name, which may be its id.
func standardObject(name string) (object, bool) {
	for _, o := range standardObjects() {
		if strings.EqualFold(o.name, name) || o.typeID == name {
			return o, true
		}
	}
	return object{}, false
}

// maxNameBytes bounds the names of properties in an address.
const maxNameBytes = 12_000

// properties returns the properties that are requested of a record.
func (o *object) properties() []string {
	var all []string
	for _, names := range o.titles {
		all = append(all, names...)
	}
	all = append(all, slices.Concat(o.shown, o.bodies, o.more)...)
	var distinct []string
	length := 0
	for _, name := range all {
		if length += len(name) + 1; length <= maxNameBytes && len(distinct) < maxProperties && !slices.Contains(distinct, name) {
			distinct = append(distinct, name)
		}
	}
	return distinct
}

// titleProperties returns the properties of which titles consist.
func (o *object) titleProperties() []string {
	all := slices.Concat(o.titles...)
	if len(all) == 0 {
		return o.bodies
	}
	return all
}

// variant tells apart versions of a record whose documents have other properties. It
// is empty for the usual ones.
func (o *object) variant(associations bool) string {
	variant := ""
	if usual, ok := standardObject(o.name); !ok || !slices.Equal(usual.properties(), o.properties()) {
		sum := sha256.Sum256([]byte(strings.Join(o.properties(), " ")))
		variant = "-" + hex.EncodeToString(sum[:4])
	}
	if !associations && len(o.associated) > 0 {
		variant += "-n"
	}
	return variant
}
