package automation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the time zones, for systems that have none

	"github.com/google/uuid"
	"github.com/robfig/cron/v3"

	"github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/internal/apierr"
)

// Trigger has the settings of a trigger. Each kind uses the fields of its own and
// refuses the others.
type Trigger struct {
	// Schedule: a cron expression of five fields, and the name of a time zone.
	Cron     string `json:"cron,omitempty"`
	Timezone string `json:"timezone,omitempty"` // UTC if empty

	// Email, event and meeting: an integration; nil for any of the kind.
	Integration *uuid.UUID `json:"integrationId,omitempty"`
	// Event and meeting: types such as "issues.opened"; "issues.*" stands for all that
	// begin so. Empty for every type.
	Types []string `json:"types,omitempty"`

	// Email: addresses that the mail must be for, and addresses or domains that it must
	// come from. Empty for any.
	Addresses []string `json:"addresses,omitempty"`
	Senders   []string `json:"senders,omitempty"`
	// Email: whether mails of unverified senders start runs, too.
	AllowUnverified bool `json:"allowUnverified,omitempty"`

	// Document: collections, and which changes count. Neither means both.
	Collections []uuid.UUID `json:"collectionIds,omitempty"`
	Added       bool        `json:"added,omitempty"`
	Changed     bool        `json:"changed,omitempty"`
}

// Limits of the settings of a trigger.
const (
	maxEntries  = 100 // of a list
	maxEntry    = 320 // characters of an entry
	minInterval = 5 * time.Minute
)

// fieldsOf returns the fields that a kind of trigger has.
func fieldsOf(kind automation.Kind) []string {
	switch kind {
	case automation.KindSchedule:
		return []string{"cron", "timezone"}
	case automation.KindEmail:
		return []string{"integrationId", "addresses", "senders", "allowUnverified"}
	case automation.KindEvent, automation.KindMeeting:
		return []string{"integrationId", "types"}
	case automation.KindDocument:
		return []string{"collectionIds", "added", "changed"}
	default:
		return nil
	}
}

// decode decodes settings strictly.
func decode(field string, settings, into any) error {
	text, err := json.Marshal(settings)
	if err != nil {
		return apierr.Invalid(field, "must be JSON")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return apierr.Invalid(field, "cannot be used: "+strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// parseTrigger checks the settings of a trigger.
func parseTrigger(kind automation.Kind, settings map[string]any) (Trigger, error) {
	var t Trigger
	known := fieldsOf(kind)
	for name := range settings {
		if !slices.Contains(known, name) {
			if len(known) == 0 {
				return t, apierr.Invalid("trigger."+name, "is not known: this kind of trigger has no settings")
			}
			return t, apierr.Invalid("trigger."+name, "is not known; this kind of trigger has "+strings.Join(known, ", "))
		}
	}
	if err := decode("trigger", settings, &t); err != nil {
		return t, err
	}
	for name, list := range map[string][]string{"types": t.Types, "addresses": t.Addresses, "senders": t.Senders} {
		if err := checkList("trigger."+name, list); err != nil {
			return t, err
		}
	}
	switch kind {
	case automation.KindSchedule:
		return t, checkSchedule(t)
	case automation.KindDocument:
		if len(t.Collections) == 0 || len(t.Collections) > maxEntries {
			return t, apierr.Invalid("trigger.collectionIds", fmt.Sprintf("must have 1 to %d collections", maxEntries))
		}
	}
	return t, nil
}

func checkList(field string, list []string) error {
	if len(list) > maxEntries {
		return apierr.Invalid(field, fmt.Sprintf("must have at most %d entries", maxEntries))
	}
	for i, entry := range list {
		if strings.TrimSpace(entry) == "" || len(entry) > maxEntry {
			return apierr.Invalid(fmt.Sprintf("%s[%d]", field, i), fmt.Sprintf("must have 1 to %d characters", maxEntry))
		}
	}
	return nil
}

// schedule returns the schedule of a trigger.
func (t Trigger) schedule() (cron.Schedule, error) {
	expression := strings.TrimSpace(t.Cron)
	if strings.Contains(expression, "TZ=") || strings.HasPrefix(expression, "@every") {
		return nil, apierr.Invalid("trigger.cron", "must have five fields: minute, hour, day, month, weekday")
	}
	name := t.Timezone
	if name == "" {
		name = "UTC"
	}
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		return nil, apierr.Invalid("trigger.timezone", "must be a time zone such as Europe/Berlin")
	}
	s, err := cron.ParseStandard("CRON_TZ=" + name + " " + expression)
	if err != nil {
		return nil, apierr.Invalid("trigger.cron", "must have five fields such as 0 9 * * 1-5: "+err.Error())
	}
	return s, nil
}

func checkSchedule(t Trigger) error {
	s, err := t.schedule()
	if err != nil {
		return err
	}
	at := s.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if at.IsZero() {
		return apierr.Invalid("trigger.cron", "has no next time")
	}
	for range 50 {
		next := s.Next(at)
		if next.IsZero() {
			break
		}
		if next.Sub(at) < minInterval {
			return apierr.Invalid("trigger.cron", "must leave at least 5 minutes between two runs")
		}
		at = next
	}
	return nil
}

// next returns when a schedule is due after a time; nil for other triggers.
func (t Trigger) next(kind automation.Kind, after time.Time) *time.Time {
	if kind != automation.KindSchedule {
		return nil
	}
	s, err := t.schedule()
	if err != nil {
		return nil
	}
	at := s.Next(after)
	if at.IsZero() {
		return nil
	}
	return &at
}

// hasType reports whether events of a type start the automation.
func (t Trigger) hasType(name string) bool {
	if len(t.Types) == 0 {
		return true
	}
	for _, wanted := range t.Types {
		if prefix, open := strings.CutSuffix(wanted, "*"); wanted == name || open && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// listed reports whether an address is on a list of addresses and domains.
func listed(list []string, address string) bool {
	address = strings.ToLower(address)
	for _, entry := range list {
		entry = strings.ToLower(strings.TrimPrefix(strings.TrimSpace(entry), "@"))
		if entry == address || !strings.Contains(entry, "@") && strings.HasSuffix(address, "@"+entry) {
			return true
		}
	}
	return false
}

// integrationKind returns the kind of the integrations that a trigger listens to.
func integrationKind(kind automation.Kind) (inboundintegration.Kind, bool) {
	switch kind {
	case automation.KindEmail:
		return inboundintegration.KindEmail, true
	case automation.KindEvent:
		return inboundintegration.KindEvents, true
	case automation.KindMeeting:
		return inboundintegration.KindMeetings, true
	default:
		return "", false
	}
}
