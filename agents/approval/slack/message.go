package slack

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/ent"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/internal/safetext"
)

// object is JSON for Slack.
type object = map[string]any

// The limits of Slack's texts, in characters, with room for marks.
const (
	maxHeader  = 150
	maxSection = 2900
	maxInput   = 3000
	maxButton  = 75
	maxButtons = 20 // answers of a question
)

// The names of buttons, forms and fields.
const (
	actionApprove = "approve"
	actionConfirm = "confirm"
	actionEdit    = "edit"
	actionReject  = "reject"
	actionAnswer  = "answer"
	actionOpen    = "open"
	optionPrefix  = "option_"

	fieldArguments = "arguments"
	fieldComment   = "comment"
	fieldAnswer    = "answer"
	fieldConfirm   = "confirm"
)

// escape makes text safe inside Slack's mark-up.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// cut shortens a text before it is escaped, so that no escape is cut.
func cut(text string, limit int) string {
	for {
		if out := escape(text); len([]rune(out)) <= limit {
			return out
		}
		text = safetext.Truncate(text, len([]rune(text))*9/10)
	}
}

func plain(text string, limit int) object {
	return object{"type": "plain_text", "text": safetext.Truncate(safetext.Line(text), limit), "emoji": false}
}

func section(text string) object {
	return object{"type": "section", "text": object{"type": "mrkdwn", "text": text, "verbatim": true}}
}

func note(text string) object {
	return object{"type": "context", "elements": []object{{"type": "mrkdwn", "text": text, "verbatim": true}}}
}

func button(action, text, value, style string) object {
	out := object{"type": "button", "action_id": action, "text": plain(text, maxButton), "value": value}
	if style != "" {
		out["style"] = style
	}
	return out
}

// valueOf is the value of the buttons of an approval.
func valueOf(row *ent.Approval) string { return row.ID.String() + "." + row.Nonce }

func (a *App) link(row *ent.Approval) string {
	return a.opt.Dashboard + "/approvals/" + row.ID.String()
}

// message returns the message of an approval: its question while it is pending, and the
// outcome afterwards.
func (a *App) message(row *ent.Approval, agent, decider, detail string) object {
	var blocks []object
	text := row.Title
	if detail == detailLinkOnly {
		text = "An agent asks for a decision"
	}
	blocks = append(blocks, object{"type": "header", "text": plain(text, maxHeader)})
	if detail != detailLinkOnly {
		blocks = append(blocks, a.details(row, agent)...)
	}
	if row.Status == entapproval.StatusPending {
		blocks = append(blocks, note("Open until "+moment(row.ExpiresAt)+"."), a.buttons(row, detail))
	} else {
		outcome := outcomeOf(row, decider)
		blocks = append(blocks, section("*"+escape(outcome)+"*"))
		if row.Comment != nil && detail != detailLinkOnly {
			blocks = append(blocks, section("Comment: "+cut(*row.Comment, maxSection)))
		}
		text = outcome
	}
	return object{"text": escape(text), "blocks": blocks, "unfurl_links": false, "unfurl_media": false}
}

// details returns what a call would do.
func (a *App) details(row *ent.Approval, agent string) []object {
	tool := row.Tool
	if row.ToolTitle != "" {
		tool = row.ToolTitle + " (" + row.Tool + ")"
	}
	out := []object{note(fmt.Sprintf("Agent: %s · Tool: %s · Risk: %s", cut(agent, 200), cut(tool, 400), strings.ToLower(string(row.Risk))))}
	if row.Kind == entapproval.KindUnknownEffect {
		out = append(out, section("This call began before a server stopped. *It is not known whether it took effect.* Approve to make it again, reject to leave it."))
	}
	if row.Preview != "" {
		out = append(out, section(cut(row.Preview, maxSection)))
	}
	if row.Kind != entapproval.KindQuestion {
		out = append(out, section("Arguments:\n```"+cut(strings.ReplaceAll(string(approval.Arguments(row)), "```", "`\u200b``"), maxSection)+"```"))
	}
	if row.Reason != "" {
		out = append(out, note("Why, in the agent's own words: "+cut(row.Reason, 1500)))
	}
	return out
}

// buttons returns the buttons of a pending approval.
func (a *App) buttons(row *ent.Approval, detail string) object {
	open := object{"type": "button", "action_id": actionOpen, "text": plain("Open", maxButton), "url": a.link(row)}
	value := valueOf(row)
	var elements []object
	switch {
	case detail == detailLinkOnly:
	case row.Kind == entapproval.KindQuestion:
		for i, option := range row.Options[:min(len(row.Options), maxButtons)] {
			elements = append(elements, button(fmt.Sprintf("%s%d", optionPrefix, i), option, value, ""))
		}
		elements = append(elements, button(actionAnswer, "Write an answer…", value, ""), button(actionReject, "Do not answer…", value, ""))
	case row.Risk == entapproval.RiskDelete:
		elements = append(elements, button(actionConfirm, "Approve…", value, "danger"), button(actionReject, "Reject…", value, ""))
	default:
		elements = append(elements, button(actionApprove, "Approve", value, "primary"))
		if row.Kind == entapproval.KindConsent && len([]rune(row.Arguments)) <= maxInput {
			elements = append(elements, button(actionEdit, "Edit…", value, ""))
		}
		elements = append(elements, button(actionReject, "Reject…", value, "danger"))
	}
	return object{"type": "actions", "elements": append(elements, open)}
}

func moment(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// outcomeOf says what became of an approval.
func outcomeOf(row *ent.Approval, decider string) string {
	at := row.UpdatedAt
	if row.DecidedAt != nil {
		at = *row.DecidedAt
	}
	switch row.Status {
	case entapproval.StatusApproved:
		return "Approved by " + decider + ", " + moment(at)
	case entapproval.StatusEdited:
		return "Approved with other arguments by " + decider + ", " + moment(at)
	case entapproval.StatusAnswered:
		return "Answered by " + decider + ", " + moment(at)
	case entapproval.StatusRejected:
		return "Rejected by " + decider + ", " + moment(at)
	case entapproval.StatusExpired:
		return "Expired, " + moment(at)
	default:
		return "Canceled, " + moment(at)
	}
}

// input is a field of a form.
func input(field, label, hint, value string, multiline, optional bool) object {
	element := object{"type": "plain_text_input", "action_id": field, "multiline": multiline, "max_length": maxInput}
	if value != "" {
		element["initial_value"] = value
	}
	out := object{"type": "input", "block_id": field, "optional": optional, "label": plain(label, 200), "element": element}
	if hint != "" {
		out["hint"] = plain(hint, 200)
	}
	return out
}

// form returns the form that a button opens.
func form(action string, row *ent.Approval) object {
	comment := input(fieldComment, "Comment", "The agent reads it.", "", true, true)
	title, submit := "Reject", "Reject"
	var blocks []object
	switch action {
	case actionEdit:
		title, submit = "Edit", "Approve"
		blocks = []object{input(fieldArguments, "Arguments", "JSON, as the tool gets it.", row.Arguments, true, false)}
	case actionAnswer:
		title, submit = "Answer", "Answer"
		blocks = []object{input(fieldAnswer, "Answer", "", "", true, false)}
	case actionConfirm:
		title, submit = "Approve a deletion", "Approve"
		blocks = []object{input(fieldConfirm, "Type "+row.Tool, "The call deletes something.", "", false, false)}
	}
	return object{
		"type": "modal", "callback_id": action, "private_metadata": valueOf(row), "title": plain(title, 24), "submit": plain(submit, 24), "close": plain("Cancel", 24),
		"blocks": slices.Concat([]object{section(cut(row.Title, maxSection))}, blocks, []object{comment}),
	}
}
