package automation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/internal/apierr"
)

// Mode says what a person must approve.
type Mode string

// The modes of approval.
const (
	// ModeNone asks nobody, except for calls that the policy of their tool asks about.
	ModeNone Mode = "none"
	// ModeActing asks about every call of a tool that acts.
	ModeActing Mode = "acting_tools"
	// ModeAlways asks about every call that acts, and about every delivery.
	ModeAlways Mode = "always"
)

// What happens with an approval that nobody decides in time.
const (
	OnTimeoutReject   = "reject"
	OnTimeoutApprove  = "approve" // not for what sends or deletes
	OnTimeoutEscalate = "escalate"
)

// Approval says what a person must approve, and who.
type Approval struct {
	Mode Mode `json:"mode,omitempty"` // always if empty
	// Approvers are members who may decide, besides the subject of the run; Role lets
	// every member decide who has at least this role.
	Approvers []uuid.UUID `json:"approvers,omitempty"`
	Role      string      `json:"role,omitempty"`
	// Channel is "dashboard" or "slack"; with slack the question is also posted in a
	// channel by an inbound integration of the kind slack.
	Channel          string     `json:"channel,omitempty"`
	SlackIntegration *uuid.UUID `json:"slackIntegrationId,omitempty"`
	SlackChannel     string     `json:"slackChannel,omitempty"`
	TimeoutHours     int        `json:"timeoutHours,omitempty"` // 24 if zero
	OnTimeout        string     `json:"onTimeout,omitempty"`    // reject if empty
	// EscalateTo are the members who are asked instead after the timeout.
	EscalateTo []uuid.UUID `json:"escalateTo,omitempty"`
}

// Timeout returns how long a decision is waited for.
func (a Approval) Timeout() time.Duration {
	if a.TimeoutHours <= 0 {
		return 24 * time.Hour
	}
	return time.Duration(a.TimeoutHours) * time.Hour
}

// Delivery says where an answer goes.
type Delivery struct {
	Kind string `json:"kind"`
	// reply_email: the subject; empty for that of the mail. document: the title; empty
	// for the name of the automation and the day.
	Subject string `json:"subject,omitempty"`
	// slack_message: an inbound integration of the kind slack, and a channel.
	// comment: a tool integration.
	Integration *uuid.UUID `json:"integrationId,omitempty"`
	Channel     string     `json:"channel,omitempty"`
	// document: the collection, and who may find it: addresses, or nobody named for
	// all who reach the collection. "attendees" stands for those of the meeting.
	Collection *uuid.UUID `json:"collectionId,omitempty"`
	Readers    []string   `json:"readers,omitempty"`
}

// The kinds of deliveries.
const (
	ReplyEmail   = "reply_email"
	SlackMessage = "slack_message"
	Comment      = "comment"
	Document     = "document"
)

// DocType is the type of the documents that automations store.
const DocType = "automation"

// Attendees in the readers of a document stands for the attendees of the meeting.
const Attendees = "attendees"

// risk returns what a delivery does to the world outside.
func (d Delivery) risk() policy.Risk {
	switch d.Kind {
	case ReplyEmail, SlackMessage:
		return policy.Send
	default:
		return policy.Write
	}
}

// Limits bound the runs of an automation. Zero means the default in the comment.
type Limits struct {
	RunsPerHour  int `json:"runsPerHour,omitempty"`  // 60
	PerSender    int `json:"perSender,omitempty"`    // runs for one sender an hour: 10
	TokensPerDay int `json:"tokensPerDay,omitempty"` // no limit
}

func (l Limits) withDefaults() Limits {
	if l.RunsPerHour == 0 {
		l.RunsPerHour = 60
	}
	if l.PerSender == 0 {
		l.PerSender = 10
	}
	return l
}

const (
	maxDeliveries   = 5
	maxRunsPerHour  = 3600
	maxTimeoutHours = 30 * 24
)

// Settings are the checked settings of an automation.
type Settings struct {
	Trigger    Trigger
	Conditions []policy.Rule
	Approval   Approval
	Delivery   []Delivery
	Limits     Limits
}

// SettingsOf returns the settings of a row. A row that an older version has stored and
// this one cannot use gives an error.
func SettingsOf(row *ent.Automation) (Settings, error) {
	return parseSettings(row.Kind, row.Trigger, row.Conditions, row.Approval, row.Delivery, row.Limits)
}

func parseSettings(kind automation.Kind, trigger map[string]any, conditions []map[string]any, approval map[string]any, delivery []map[string]any, limits map[string]any) (s Settings, err error) {
	if s.Trigger, err = parseTrigger(kind, trigger); err != nil {
		return s, err
	}
	if s.Conditions, err = parseConditions(conditions); err != nil {
		return s, err
	}
	if s.Approval, err = parseApproval(approval); err != nil {
		return s, err
	}
	if s.Delivery, err = parseDelivery(kind, delivery); err != nil {
		return s, err
	}
	s.Limits, err = parseLimits(limits)
	return s, err
}

type condition struct {
	Path  string    `json:"path"`
	Op    policy.Op `json:"op"`
	Value any       `json:"value"`
}

func parseConditions(settings []map[string]any) ([]policy.Rule, error) {
	var out []policy.Rule
	for i, one := range settings {
		var c condition
		if err := decode(fmt.Sprintf("conditions[%d]", i), one, &c); err != nil {
			return nil, err
		}
		out = append(out, policy.Rule{Path: strings.TrimPrefix(c.Path, "event."), Op: c.Op, Value: c.Value, Policy: policy.Allow})
	}
	return out, policy.Check("conditions", out)
}

func parseApproval(settings map[string]any) (Approval, error) {
	var a Approval
	if err := decode("approval", settings, &a); err != nil {
		return a, err
	}
	if a.Mode == "" {
		a.Mode = ModeAlways
	}
	if a.Channel == "" {
		a.Channel = "dashboard"
	}
	if a.OnTimeout == "" {
		a.OnTimeout = OnTimeoutReject
	}
	a.Role = strings.ToLower(a.Role)
	for _, rule := range []struct {
		broken         bool
		field, problem string
	}{
		{!slices.Contains([]Mode{ModeNone, ModeActing, ModeAlways}, a.Mode), "mode", "must be one of none, acting_tools, always"},
		{!slices.Contains([]string{"dashboard", "slack"}, a.Channel), "channel", "must be dashboard or slack"},
		{a.Channel == "slack" && (a.SlackIntegration == nil || a.SlackChannel == ""), "slackChannel", "is required with the channel slack, as is slackIntegrationId"},
		{len(a.SlackChannel) > 100, "slackChannel", "must have at most 100 characters"},
		{!slices.Contains([]string{"", "viewer", "editor", "admin", "owner"}, a.Role), "role", "must be one of viewer, editor, admin, owner"},
		{len(a.Approvers) > maxEntries, "approvers", fmt.Sprintf("must have at most %d members", maxEntries)},
		{len(a.EscalateTo) > maxEntries, "escalateTo", fmt.Sprintf("must have at most %d members", maxEntries)},
		{a.TimeoutHours < 0 || a.TimeoutHours > maxTimeoutHours, "timeoutHours", fmt.Sprintf("must be 1 to %d", maxTimeoutHours)},
		{!slices.Contains([]string{OnTimeoutReject, OnTimeoutApprove, OnTimeoutEscalate}, a.OnTimeout), "onTimeout", "must be one of reject, approve, escalate"},
		{a.OnTimeout == OnTimeoutEscalate && len(a.EscalateTo) == 0, "escalateTo", "is required with escalate"},
	} {
		if rule.broken {
			return a, apierr.Invalid("approval."+rule.field, rule.problem)
		}
	}
	return a, nil
}

func parseDelivery(kind automation.Kind, settings []map[string]any) ([]Delivery, error) {
	if len(settings) > maxDeliveries {
		return nil, apierr.Invalid("delivery", fmt.Sprintf("must have at most %d entries", maxDeliveries))
	}
	var out []Delivery
	for i, one := range settings {
		field := fmt.Sprintf("delivery[%d]", i)
		var d Delivery
		if err := decode(field, one, &d); err != nil {
			return nil, err
		}
		if err := checkList(field+".readers", d.Readers); err != nil {
			return nil, err
		}
		problem, part := d.problem(kind)
		if problem != "" {
			return nil, apierr.Invalid(field+"."+part, problem)
		}
		out = append(out, d)
	}
	return out, nil
}

func (d Delivery) problem(kind automation.Kind) (problem, part string) {
	switch {
	case len(d.Subject) > 200 || strings.ContainsAny(d.Subject, "\r\n"):
		return "must be one line of at most 200 characters", "subject"
	case len(d.Channel) > 100:
		return "must have at most 100 characters", "channel"
	}
	switch d.Kind {
	case ReplyEmail:
		if kind != automation.KindEmail {
			return "needs the trigger email", "kind"
		}
	case SlackMessage:
		if d.Integration == nil || d.Channel == "" {
			return "is required, as is integrationId", "channel"
		}
	case Comment:
		if kind != automation.KindEvent {
			return "needs the trigger event", "kind"
		}
		if d.Integration == nil {
			return "is required", "integrationId"
		}
	case Document:
		if d.Collection == nil {
			return "is required", "collectionId"
		}
	default:
		return "must be one of reply_email, slack_message, comment, document", "kind"
	}
	return "", ""
}

func parseLimits(settings map[string]any) (Limits, error) {
	var l Limits
	if err := decode("limits", settings, &l); err != nil {
		return l, err
	}
	switch {
	case l.RunsPerHour < 0 || l.RunsPerHour > maxRunsPerHour:
		return l, apierr.Invalid("limits.runsPerHour", fmt.Sprintf("must be 1 to %d", maxRunsPerHour))
	case l.PerSender < 0 || l.PerSender > maxRunsPerHour:
		return l, apierr.Invalid("limits.perSender", fmt.Sprintf("must be 1 to %d", maxRunsPerHour))
	case l.TokensPerDay < 0:
		return l, apierr.Invalid("limits.tokensPerDay", "must not be negative")
	}
	return l.withDefaults(), nil
}
