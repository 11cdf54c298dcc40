package audit

import (
	"slices"
	"strings"
)

// Entity says how changes of an entity are recorded. Its expressions are SQL over a
// row t.
type Entity struct {
	Table string
	// Kind is the target kind of entries.
	Kind string
	// Name is the target name; the column name if empty.
	Name string
	// ID is the target id; the id of the row if empty.
	ID string
	// Workspace of the entry; the column workspace_id if empty.
	Workspace string
	// Actor is the person to whom a new row is attributed if the caller had no
	// credentials, as in a sign-in.
	Actor string
	// ActorUpdates attributes updates to Actor instead, as when an invitation is
	// accepted.
	ActorUpdates bool
	// Ignored fields are bookkeeping. A change of ignored fields only has no entry.
	Ignored []string
	// Fields are the fields that are recorded; all if empty.
	Fields []string
	// Hidden fields are secret or personal although their names do not show it.
	Hidden []string
	// NoCreate, NoUpdate and NoDelete exclude operations, for the reason in Why.
	NoCreate, NoUpdate, NoDelete bool
	Why                          string
	// Verbs name actions. The first that matches is used; the default is the kind
	// followed by create, update or delete.
	Verbs []Verb
}

// Verb names the action of an operation or, with Field, of the change of a field.
type Verb struct {
	Op     string // create, update or delete
	Field  string // of an update
	To     any    // the new value; nil matches any
	Action string // whole: api_key.rotate
}

// personOf returns the expression for the email address of a person.
func personOf(column string) string {
	return "(select u.email from users u where u.id = t." + column + ")"
}

// Audited returns the entities whose changes are recorded, by ent's type name. An
// entity that is neither in Audited nor in Unaudited has entries without values.
func Audited() map[string]Entity {
	return map[string]Entity{
		"Workspace": {Table: "workspaces", Kind: "workspace", Workspace: "t.id", NoDelete: true,
			Why: "the entries of a workspace end with it"},
		"User": {Table: "users", Kind: "person", Name: "t.email", Workspace: "null::uuid", NoCreate: true,
			Why:   "a new person is the member.add of their workspace",
			Verbs: []Verb{{Op: "update", Field: "password_hash", Action: "person.password"}, {Op: "update", Action: "person.update"}}},
		"Membership": {Table: "memberships", Kind: "member", Name: personOf("user_id"), ID: "t.user_id", Actor: "t.user_id", Ignored: []string{"user_id"},
			Verbs: []Verb{{Op: "create", Action: "member.add"}, {Op: "update", Field: "role", Action: "member.role"}, {Op: "update", Field: "suspended_at", Action: "member.access"}, {Op: "delete", Action: "member.remove"}}},
		"Session": {Table: "sessions", Kind: "session", Name: personOf("user_id"), Actor: "t.user_id",
			Ignored: []string{"generation", "rotated_at", "expires_at", "user_id", "user_agent", "address", "last_used_at"}, NoDelete: true, Why: "ended sessions are only deleted later",
			Verbs: []Verb{{Op: "create", Action: "session.sign_in"}, {Op: "update", Field: "revoked_at", Action: "session.sign_out"}}},
		"Invitation": {Table: "invitations", Kind: "invitation", Name: "t.email",
			Actor: "(select u.id from users u where u.email = t.email)", ActorUpdates: true, Ignored: []string{"email", "invited_by", "token_hash", "expires_at"},
			NoDelete: true, Why: "old invitations are only deleted later",
			Verbs: []Verb{{Op: "update", Field: "accepted_at", Action: "invitation.accept"}, {Op: "update", Field: "revoked_at", Action: "invitation.revoke"},
				{Op: "update", Field: "sent_at", Action: "invitation.resend"}}},
		"OAuthGrant": {Table: "oauth_grants", Kind: "oauth_grant", Name: "coalesce(t.account, t.provider)",
			Ignored: []string{"person_id", "owner_id", "tokens", "expires_at", "refreshed_at", "last_error", "generation", "lease_id", "lease_until"}},
		"Collection": {Table: "collections", Kind: "collection"},
		"Connector": {Table: "connectors", Kind: "connector",
			Ignored: []string{
				"next_sync_at", "last_sync", "last_error", "closed", "permissions_revision", "readers_pending", "readers_revision", "readers_at",
				"groups_attempt", "groups_generation", "groups_at", "groups_due_at", "groups_failure",
			}},
		"APIKey": {Table: "api_keys", Kind: "api_key",
			Ignored: []string{"last_used_at", "leaked_at", "leaked_origin", "previous_expires_at", "publishable_hint"},
			Verbs: []Verb{{Op: "update", Field: "revoked_at", Action: "api_key.revoke"},
				{Op: "update", Field: "rotated_at", Action: "api_key.rotate"}}},
		"Token": {Table: "tokens", Kind: "token", Ignored: []string{"last_used_at", "last_address", "created_by", "hint"}, NoDelete: true,
			Why:   "ended tokens are only deleted later",
			Verbs: []Verb{{Op: "update", Field: "revoked_at", Action: "token.revoke"}}},
		"SyncJob": {Table: "sync_jobs", Kind: "sync", Name: "(select c.name from connectors c where c.id = t.connector_id)",
			Fields: []string{"connector_id", "mode", "planned_mode", "target_job_id", "cause", "file_filter", "cancel_requested", "status"}, NoDelete: true,
			Why:   "jobs go with their connector, or when they are old",
			Verbs: []Verb{{Op: "create", Action: "sync.start"}, {Op: "update", Action: "sync.cancel"}}},
		"SyncItem": {Table: "sync_items", Kind: "document", Name: "t.path", ID: "coalesce(t.document_id, t.id)", Fields: []string{"suppressed"},
			NoCreate: true, NoDelete: true, Why: "the ledger of syncs; only decisions of people about documents are recorded",
			Verbs: []Verb{{Op: "update", Field: "suppressed", To: false, Action: "document.allow"}, {Op: "update", Field: "suppressed", Action: "document.delete"}}},
		"SourceFile": {Table: "source_files", Kind: "file", Name: "t.path", Ignored: []string{"blob_key"},
			Verbs: []Verb{{Op: "create", Action: "file.upload"}, {Op: "update", Action: "file.upload"}}},
		"Conversation": {Table: "conversations", Kind: "conversation", Name: "''", Ignored: []string{"summary", "summarized", "collection_id", "subject_id", "agent_id"},
			Hidden: []string{"title"}, NoCreate: true, Why: "a question is no change; a conversation belongs to its owner",
			Verbs: []Verb{{Op: "update", Field: "title", Action: "conversation.rename"}}},
		"InboundIntegration": {Table: "inbound_integrations", Kind: "inbound_integration",
			Ignored: []string{"token", "routing_keys", "status", "last_event_at", "last_error", "rejected", "previous_until", "previous_credentials"}},
		"ToolIntegration": {Table: "tool_integrations", Kind: "tool_integration", Ignored: []string{"discovered_at", "schema_hash", "last_error", "person_id"}},
		"IntegrationTool": {Table: "integration_tools", Kind: "tool", NoCreate: true, Why: "the tools of an integration are read from its source",
			Name:    "(select i.slug || '.' || t.name from tool_integrations i where i.id = t.integration_id)",
			Ignored: []string{"title", "description", "input_schema", "output_schema", "definition", "drift", "person_id"}},
		"ToolConnection": {Table: "tool_connections", Kind: "tool_connection", Name: "(select i.name from tool_integrations i where i.id = t.integration_id)",
			Ignored: []string{"status", "last_checked_at", "last_error"}},
		"Approval": {Table: "approvals", Kind: "approval", Name: "t.tool", NoCreate: true, NoDelete: true,
			Why:    "a question is no change; approvals end with their run",
			Fields: []string{"status", "decided_via", "edited_arguments"}, Hidden: []string{"edited_arguments"},
			Verbs: []Verb{{Op: "update", Field: "status", To: "APPROVED", Action: "approval.approve"}, {Op: "update", Field: "status", To: "EDITED", Action: "approval.edit"},
				{Op: "update", Field: "status", To: "ANSWERED", Action: "approval.answer"}, {Op: "update", Field: "status", To: "REJECTED", Action: "approval.reject"},
				{Op: "update", Field: "status", To: "CANCELED", Action: "approval.cancel"}, {Op: "update", Field: "status", To: "EXPIRED", Action: "approval.expire"}}},
		"ToolGrant": {Table: "tool_grants", Kind: "tool_grant", Name: "t.tool", Ignored: []string{"created_by", "revoked_by"},
			Verbs: []Verb{{Op: "update", Field: "revoked_at", Action: "tool_grant.revoke"}}},
		"Automation": {Table: "automations", Kind: "automation",
			Ignored: []string{"failure_count", "next_run_at", "last_run_at", "cursors", "checked_at"}},
		"Agent":         {Table: "agents", Kind: "agent"},
		"AgentTemplate": {Table: "agent_templates", Kind: "agent_template"},
		"AgentMemory": {Table: "agent_memories", Kind: "agent_memory", Name: "(select a.name from agents a where a.id = t.agent_id)",
			Hidden: []string{"content"}, Ignored: []string{"recalled_at", "embedding", "embedding_model", "run_id"}},
	}
}

// Unaudited returns the entities without entries, with the reason.
func Unaudited() map[string]string {
	return map[string]string{
		"AuditEntry":    "the log itself",
		"Document":      "written by syncs; the changes of people are recorded at its ledger entry",
		"PlanItem":      "the plan itself is recorded as the start of a job",
		"Feedback":      "a rating belongs to its author; query analytics has it without the person",
		"InboundEvent":  "sent by platforms; it has a status and a reason of its own",
		"Message":       "a conversation belongs to its owner",
		"AutomationRun": "a run has a status and a reason of its own",
		"AgentRun":      "a run has a log of events of its own",
	}
}

// expression returns e, or fallback if e is empty.
func expression(e, fallback string) string {
	if e == "" {
		return fallback
	}
	return e
}

// query returns the statement that reads rows for entries.
func (e Entity) query(lock bool) string {
	actor := "null::uuid"
	if e.Actor != "" {
		actor = e.Actor
	}
	text := "select t.id::text, coalesce(" + expression(e.Workspace, "t.workspace_id") + "::text, ''), coalesce(" + expression(e.ID, "t.id") +
		"::text, ''), coalesce(" + expression(e.Name, "t.name") + ", ''), coalesce(" + actor + "::text, ''), to_jsonb(t)::text from " + e.Table +
		" t where t.id = any ($1::text::uuid[])"
	if lock {
		text += " order by t.id for no key update of t"
	}
	return text
}

// isRecorded reports whether entries list a field.
func (e Entity) isRecorded(field string) bool {
	if isBookkeeping(field) || slices.Contains(e.Ignored, field) {
		return false
	}
	return len(e.Fields) == 0 || slices.Contains(e.Fields, field)
}

// isExcluded reports whether an operation has no entries.
func (e Entity) isExcluded(op string) bool {
	return op == opCreate && e.NoCreate || op == opUpdate && e.NoUpdate || op == opDelete && e.NoDelete
}

// action returns the action of an operation with changes.
func (e Entity) action(op string, changes []Change) string {
	for _, v := range e.Verbs {
		if v.Op == op && (v.Field == "" || slices.ContainsFunc(changes, func(c Change) bool {
			return c.Field == v.Field && (v.To == nil || c.New == v.To)
		})) {
			return v.Action
		}
	}
	return e.Kind + "." + op
}

func (e Entity) hides(field string) bool { return slices.Contains(e.Hidden, field) }

// snake converts a type name of ent to snake case.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 && (name[i-1] < 'A' || name[i-1] > 'Z') {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}
