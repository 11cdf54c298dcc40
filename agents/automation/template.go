package automation

import "github.com/magpie-search/magpie/ent/automation"

// Template is a complete automation to start from. Ids of integrations, collections and
// agents are for the person to add.
type Template struct {
	Name, Title, Description, Instructions string
	Kind                                   automation.Kind
	Trigger, Approval, Limits              map[string]any
	Conditions, Delivery                   []map[string]any
}

// Templates returns the templates that are part of the program.
func Templates() []Template {
	return []Template{
		{
			Name: "mail_answerer", Title: "Mail answerer", Kind: automation.KindEmail,
			Description: "Drafts a cited answer to a mail. A person releases it, and it goes out as the reply.",
			Instructions: `Answer the mail below from our documents.

Subject: {{event.subject}}
From: {{event.fromName}}
{{event.text}}

Search the documents before you answer, and cite the ones that your answer rests on. Answer in the language of the mail, politely and briefly.
If the documents do not answer it, say that a colleague will get back to them, and nothing else.`,
			Trigger: map[string]any{}, Conditions: []map[string]any{}, Approval: map[string]any{"mode": "always", "channel": "dashboard", "timeoutHours": 24},
			Delivery: []map[string]any{{"kind": ReplyEmail}}, Limits: map[string]any{"runsPerHour": 60, "perSender": 5},
		},
		{
			Name: "ticket_triage", Title: "Ticket triage", Kind: automation.KindEvent,
			Description: "Finds similar tickets and documents for a new ticket, and stores what it found for the team.",
			Instructions: `A ticket was created.

{{event.title}}
{{event.text}}
Address: {{event.url}}

Search for similar tickets and for documents that help. Write for the colleague who takes the ticket: a summary in two sentences, the likely cause, the next step,
and up to five similar tickets or documents with why each matters. Cite every one. Do not address the person who wrote the ticket.`,
			Trigger:    map[string]any{"types": []any{"issue.created", "issues.opened", "ticket.created", "jira:issue_created", "zen:event-type:ticket.created"}},
			Conditions: []map[string]any{}, Approval: map[string]any{"mode": "acting_tools", "channel": "dashboard"},
			Delivery: []map[string]any{{"kind": Document, "subject": "Ticket triage"}}, Limits: map[string]any{"runsPerHour": 120},
		},
		{
			Name: "meeting_notes", Title: "Meeting notes", Kind: automation.KindMeeting,
			Description: "Summarizes the transcript of a meeting with its decisions, as a document that those who took part can find.",
			Instructions: `A meeting ended.

Topic: {{event.topic}}
Start: {{event.start}}
Attendees: {{event.attendees}}
Document of the transcript: {{event.documentId}}
{{event.summary}}

Read the transcript with get_document. Write the notes: what it was about in three sentences; the decisions; who does what until when; open questions.
Write down only what was said. Leave out a section that would be empty.`,
			Trigger: map[string]any{}, Conditions: []map[string]any{{"path": "documentId", "op": "neq", "value": ""}}, Approval: map[string]any{"mode": "acting_tools"},
			Delivery: []map[string]any{{"kind": Document, "readers": []any{Attendees}}}, Limits: map[string]any{"runsPerHour": 30},
		},
	}
}
