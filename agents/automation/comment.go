package automation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/ent/integrationtool"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/store/lookup"
)

// commentTool returns the tool that comments on the objects of a provider's events. The
// integration that has it is of the provider of the same name.
func commentTool(provider string) (string, bool) {
	tool, ok := map[string]string{"jira": "comment", "github": "comment", "zendesk": "comment_internal", "hubspot": "log_note", "salesforce": "log_note"}[provider]
	return tool, ok
}

// The lengths of the longest comments in characters, with room for the mark.
const (
	maxComment    = 19_000
	maxSalesforce = 9_500
)

// A CommentCall is the call of a tool that comments on the object of an event.
type CommentCall struct {
	Tool      string // of the integration
	Target    string // for people
	Arguments json.RawMessage
}

// CommentCall returns the call that makes a comment. mark is the line by which it is
// found; the tools of most platforms add it themselves. The error is a *NotSent.
func (o *Object) CommentCall(a Arguments, mark string) (CommentCall, error) {
	if o == nil {
		return CommentCall{}, &NotSent{Reason: "the event is not about an object"}
	}
	tool, ok := commentTool(o.Provider)
	if !ok {
		return CommentCall{}, &NotSent{Reason: "there is no tool for comments on objects of " + o.Provider}
	}
	out := CommentCall{Tool: tool}
	text := safetext.Truncate(strings.TrimSpace(a.Text), maxComment)
	var arguments map[string]any
	number, err := strconv.Atoi(o.ID)
	isNumber := err == nil && number > 0
	switch {
	case o.Provider == "jira" && o.Kind == "issue" && o.ID != "":
		out.Target, arguments = o.ID, map[string]any{"key": o.ID, "text": text}
	case o.Provider == "github" && (o.Kind == "issue" || o.Kind == "pull_request") && isNumber && o.Parent != "":
		out.Target, arguments = o.Parent+"#"+o.ID, map[string]any{"repo": o.Parent, "number": number, "body": text}
	case o.Provider == "zendesk" && o.Kind == "ticket" && isNumber:
		if mark != "" { // the tool hides its own mark, which events do not have
			text += "\n\n" + mark
		}
		out.Target, arguments = "the ticket "+o.ID, map[string]any{"ticket_id": number, "text": text}
	case o.Provider == "hubspot" && hubSpotObject(o.Kind) != "" && o.ID != "":
		out.Target, arguments = "the "+o.Kind+" "+o.ID, map[string]any{"object": hubSpotObject(o.Kind), "id": o.ID, "text": text}
	case o.Provider == "salesforce" && len(o.ID) >= 15:
		arguments = map[string]any{"record_id": o.ID, "subject": safetext.Truncate(a.Title, 255), "text": safetext.Truncate(text, maxSalesforce)}
		out.Target = "the record " + o.ID
	default:
		return CommentCall{}, &NotSent{Reason: fmt.Sprintf("an event about a %s of %s cannot be commented on", safetext.Truncate(safetext.Line(o.Kind), 40), o.Provider)}
	}
	if out.Arguments, err = json.Marshal(arguments); err != nil {
		return CommentCall{}, &NotSent{Reason: "the comment cannot be encoded", Cause: err}
	}
	out.Target = safetext.Truncate(safetext.Line(out.Target), 200)
	return out, nil
}

func hubSpotObject(kind string) string {
	return map[string]string{"contact": "contacts", "company": "companies", "deal": "deals", "ticket": "tickets"}[kind]
}

// commentMark begins the last line of what the tools of Magpie write.
const commentMark = "magpie-run: "

// isOwn reports whether an event is about what a tool of Magpie has written.
func isOwn(e inbox.Received) bool {
	o := e.Content.Object
	if o == nil || !slices.Contains([]string{"commented", "created", "opened", "submitted"}, o.Action) {
		return false
	}
	text := strings.TrimSpace(o.Text)
	last := text[strings.LastIndexByte(text, '\n')+1:]
	return strings.Contains(last, commentMark)
}

// checkComment checks that the integration of a comment fits the trigger, and that a run
// may use it.
func (s *Store) checkComment(ctx context.Context, d *Draft, t Trigger, i int, id uuid.UUID) error {
	client, field := s.client(ctx), fmt.Sprintf("delivery[%d].integrationId", i)
	if t.Integration == nil {
		return apierr.Invalid("trigger.integrationId", "is required with the delivery comment, which goes to the platform of the event")
	}
	source, err := client.InboundIntegration.Query().Where(inboundintegration.ID(*t.Integration)).Only(ctx)
	if err != nil {
		return lookup.Error("Integration", err)
	}
	tool, ok := commentTool(source.Provider)
	if !ok {
		return apierr.Invalid(fmt.Sprintf("delivery[%d].kind", i), "is not possible for events of "+source.Provider+"; choose document or slack_message")
	}
	row, err := client.ToolIntegration.Query().Where(toolintegration.ID(id)).
		WithTools(func(q *ent.IntegrationToolQuery) { q.Where(integrationtool.Name(tool)) }).Only(ctx)
	if err != nil {
		return lookup.Error("Integration", err)
	}
	switch {
	case row.Provider != source.Provider || row.Kind != toolintegration.KindPack:
		return apierr.Invalid(field, fmt.Sprintf("must be an integration with %s, because the events come from there", source.Provider))
	case d.RunAs == automation.RunAsService && (row.PersonID != nil || row.CredentialsOf != toolintegration.CredentialsOfShared):
		return apierr.Invalid(field, "must be an integration with shared credentials, because the service member has none of its own")
	case !row.Enabled:
		return apierr.Invalid(field, "must be an integration that is turned on")
	case len(row.Edges.Tools) == 0 || !row.Edges.Tools[0].Enabled:
		return apierr.Invalid(field, fmt.Sprintf("must be an integration whose tool %s is turned on", tool))
	case row.Edges.Tools[0].CallPolicy != nil && *row.Edges.Tools[0].CallPolicy == integrationtool.CallPolicyDeny:
		return apierr.Invalid(field, fmt.Sprintf("must be an integration whose tool %s may be called; its policy is deny", tool))
	}
	return nil
}

// Inspection describes a delivery that is a call of a tool.
type Inspection struct {
	Preview string // Markdown; the exact values of the call
	Policy  policy.Policy
}

// An Inspector is a Deliverer whose deliveries are calls of tools.
type Inspector interface {
	// Inspect describes a delivery without making it. An error means that it cannot be
	// made at all.
	Inspect(ctx context.Context, j Job) (Inspection, error)
}
