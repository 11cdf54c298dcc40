package automation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/safetext"
)

var _ inbox.Handler = (*Store)(nil)

// HandleEvent starts a run of every automation whose trigger and conditions fit an event.
// The same event starts no second run of an automation.
func (s *Store) HandleEvent(ctx context.Context, e inbox.Received) (inbox.Outcome, error) {
	o, kind := occurrenceOf(e)
	if kind == "" {
		return inbox.Outcome{Reason: inbox.NoAutomation}, nil
	}
	rows, err := s.opt.Ent.Automation.Query().
		Where(automation.Enabled(true), automation.KindEQ(kind), automation.Or(automation.IntegrationIDIsNil(), automation.IntegrationID(e.Integration.ID))).
		Order(automation.ByCreatedAt(), automation.ByID()).All(ctx)
	if err != nil {
		return inbox.Outcome{}, fmt.Errorf("find automations: %w", err)
	}
	values, err := plain(o.Data)
	if err != nil {
		return inbox.Outcome{}, err
	}
	var out inbox.Outcome
	var reasons []string
	for _, a := range rows {
		settings, err := SettingsOf(a)
		if err != nil {
			reasons = append(reasons, a.Name+": its settings cannot be used")
			s.opt.Log.WarnContext(ctx, "automation settings unusable", slog.Any("automation", a.ID), slog.Any("error", err))
			continue
		}
		if reason := mismatch(settings, e, values); reason != "" {
			reasons = append(reasons, a.Name+": "+reason)
			continue
		}
		run, err := s.admit(ctx, a.ID, start{Occurrence: o, key: keyOf("event", e.ID.String()), event: &e.ID, skip: loopReason(settings, e)})
		if ent.IsNotFound(err) {
			continue // deleted meanwhile
		}
		if err != nil {
			return inbox.Outcome{}, err
		}
		if run.Status == automationrun.StatusSkipped {
			reasons = append(reasons, a.Name+": "+orEmpty(run.Reason))
			continue
		}
		out.Automations = append(out.Automations, a.ID)
	}
	if len(out.Automations) == 0 {
		out.Reason = inbox.NoAutomation
		if len(reasons) > 0 {
			out.Reason = safetext.TruncateBytes(inbox.NoAutomation+": "+strings.Join(reasons, "; "), 500)
		}
	}
	return out, nil
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// occurrenceOf returns an event in the form of automations, and the kind of trigger that
// it fits; empty if there is none.
func occurrenceOf(e inbox.Received) (Occurrence, automation.Kind) {
	o := Occurrence{Title: e.Summary}
	switch c := e.Content; {
	case c.Mail != nil:
		m := c.Mail
		o.Data, o.Sender = mailData(m), m.From.Email
		o.Mail = &ReplyTo{From: m.From.Email, Recipient: recipientOf(m), Subject: m.Subject, MessageID: m.MessageID, Refs: m.References, Integration: e.Integration.ID}
		return o, automation.KindEmail
	case c.Object != nil:
		o.Data, o.Sender = objectData(e.Type, c.Object), c.Object.Actor.Email
		if o.Sender == "" {
			o.Sender = c.Object.Actor.ID
		}
		o.Object = &Object{Provider: e.Integration.Provider, Kind: c.Object.Kind, ID: c.Object.ID, Parent: c.Object.Parent}
		return o, automation.KindEvent
	case c.Meeting != nil:
		o.Data, o.Attendees = meetingData(e.Type, c.Meeting, e.Document)
		if e.Document != nil {
			o.Document = *e.Document
		}
		return o, automation.KindMeeting
	default:
		return o, ""
	}
}

// recipientOf returns the address that a mail was sent to.
func recipientOf(m *event.Mail) string {
	switch {
	case m.Recipient != "":
		return m.Recipient
	case len(m.To) > 0:
		return m.To[0].Email
	default:
		return ""
	}
}

// mismatch says why an event does not fit an automation; empty if it does.
func mismatch(settings Settings, e inbox.Received, values any) string {
	t := settings.Trigger
	if !t.hasType(e.Type) {
		return "not one of its types"
	}
	if m := e.Content.Mail; m != nil {
		received := func(address string) bool { return listed(t.Addresses, address) }
		recipients := append(slices.Collect(emailsOf(m.To, m.CC)), m.Recipient)
		switch {
		case len(t.Addresses) > 0 && !slices.ContainsFunc(recipients, received):
			return "for another address"
		case len(t.Senders) > 0 && !listed(t.Senders, m.From.Email):
			return "the sender is not on its list"
		}
	}
	for i, rule := range settings.Conditions {
		if !rule.Holds(values) {
			return fmt.Sprintf("condition %d (%s %s) does not hold", i+1, rule.Path, rule.Op)
		}
	}
	return ""
}

func emailsOf(lists ...[]event.Address) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, list := range lists {
			for _, a := range list {
				if !yield(a.Email) {
					return
				}
			}
		}
	}
}

// loopReason says why nobody must answer a mail or a comment; empty if somebody may.
func loopReason(settings Settings, e inbox.Received) string {
	if isOwn(e) {
		return "it was written by a tool of Magpie"
	}
	m := e.Content.Mail
	if m == nil {
		return ""
	}
	from := strings.ToLower(m.From.Email)
	switch {
	case m.Automatic != "":
		return "no mail of a person: " + m.Automatic
	case from == "" || !strings.Contains(from, "@"):
		return "it has no sender"
	case m.Headers[LoopHeader] != "":
		return "it is a mail of Magpie"
	case strings.EqualFold(from, m.Recipient) || listed(settings.Trigger.Addresses, from) && !onlyDomains(settings.Trigger.Addresses):
		return "it comes from the address that it is for"
	case !m.Verified && !settings.Trigger.AllowUnverified:
		return "the sender is not verified by SPF, DKIM or DMARC"
	}
	return ""
}

// LoopHeader is the header of all mails that Magpie sends.
const LoopHeader = "X-Magpie-Run"

func onlyDomains(list []string) bool {
	return !slices.ContainsFunc(list, func(entry string) bool { return strings.Contains(strings.TrimPrefix(entry, "@"), "@") })
}

// valueAt returns the value at a path of an event as text; empty if there is none.
func (s *Store) valueAt(data map[string]any, path string) string {
	values, err := plain(data)
	if err != nil {
		return ""
	}
	var parts []string
	for _, v := range policy.Values(values, path) {
		parts = append(parts, textOf(v))
	}
	return strings.Join(parts, "\x1f")
}

// errGone is the error of an automation or agent that was deleted.
var errGone = errors.New("deleted meanwhile")
