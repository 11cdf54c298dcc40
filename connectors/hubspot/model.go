package hubspot

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// A value is the value of a property, which the API describes as a text. Other values
// are kept as they are written.
type value string

// UnmarshalJSON implements [json.Unmarshaler].
func (v *value) UnmarshalJSON(text []byte) error {
	var plain *string
	if json.Unmarshal(text, &plain) == nil {
		if plain != nil {
			*v = value(strings.TrimSpace(*plain))
		}
		return nil
	}
	*v = value(text)
	return nil
}

// An identifier is an id that HubSpot writes as a text or as a number.
type identifier string

// UnmarshalJSON implements [json.Unmarshaler].
func (i *identifier) UnmarshalJSON(text []byte) error {
	*i = identifier(strings.Trim(string(text), `"`))
	return nil
}

var recordID = regexp.MustCompile(`^[1-9][0-9]{0,19}$`)

// isID reports whether a text can be the id of a record.
func isID(text string) bool { return recordID.MatchString(text) }

// compareIDs compares ids by their number.
func compareIDs(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// A record is an object of the CRM.
type record struct {
	ID           identifier
	Properties   map[string]value
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Archived     bool
	ArchivedAt   time.Time
	Associations map[string]struct {
		Results []struct{ ID identifier }
	}
}

// RequiredFields are those without which an answer is no record.
func (record) RequiredFields() []string { return []string{"id", "properties", "updatedAt"} }

func (r *record) isValid() bool {
	return isID(string(r.ID)) && r.Properties != nil && !r.UpdatedAt.IsZero()
}

// ids returns the ids of the associated records of an object, in their order.
func (r *record) ids(object string) []string {
	var ids []string
	for _, to := range r.Associations[object].Results {
		ids = append(ids, string(to.ID))
	}
	return sortedIDs(ids)
}

type paging struct {
	Next struct{ After string }
}

// A recordPage is a part of a list of records.
type recordPage struct {
	Results []record
	Total   *int
	Paging  paging
}

// RequiredFields are those without which an answer is no list.
func (recordPage) RequiredFields() []string { return []string{"results"} }

// A schema describes a custom object.
type schema struct {
	ObjectTypeID             string
	Name, FullyQualifiedName string
	Labels                   struct{ Singular, Plural string }
	PrimaryDisplayProperty   string
	SecondaryDisplayProperties,
	RequiredProperties []string
	Properties []property
	Archived   bool
}

// A property describes a property of an object.
type property struct {
	Name, Label, Type, FieldType string
	Options                      []struct{ Label, Value string }
	HubspotDefined, Hidden       bool
}

// An owner is a person who is responsible for records.
type owner struct {
	ID                         identifier
	Email, FirstName, LastName string
}

func (o owner) name() string {
	if name := strings.TrimSpace(o.FirstName + " " + o.LastName); name != "" {
		return name
	}
	return o.Email
}

// An account is what the token gives access to.
type account struct {
	PortalID identifier
	UIDomain string
}

// RequiredFields are those without which an answer is no account.
func (account) RequiredFields() []string { return []string{"portalId", "uiDomain"} }
