package audit

import (
	"slices"
	"strings"
)

// Entity says how changes of an entity's rows are written down. Its
// expressions are SQL over a row called t.
type Entity struct {
	Table string
	// Kind is what entries call a row.
	Kind string
	// Name of a row; its column name when empty.
	Name string
	// ID of the target; the row's when empty.
	ID string
	// Workspace of a row; its column workspace_id when empty.
	Workspace string
	// Actor is the person who a row's maker without credentials turns out to
	// be: whoever signs in.
	Actor string
	// Taken says that the Actor is not the maker of a row but who changes it
	// without credentials: whoever takes an invitation.
	Taken bool
	// Ignored fields are bookkeeping: a change of nothing else leaves no entry.
	Ignored []string
	// Only these fields count, where any are named.
	Only []string
	// Hidden fields are personal or secret by more than their name.
	Hidden []string
	// NoCreate, NoUpdate and NoDelete leave a kind of change out; Why says why.
	NoCreate, NoUpdate, NoDelete bool
	Why                          string
	// Verbs of what was done, the first that fits counts; "create", "update"
	// and "delete" otherwise.
	Verbs []Verb
}

// Verb names what was done when a field changed, or with Op when a row came or went.
type Verb struct {
	Op     string // create, update or delete
	Field  string // for update: the one that changed
	To     any    // what it became; nil: anything
	Action string // whole: api_key.rotate
}

// personOf is the email address of a person.
func personOf(column string) string {
	return "(select u.email from users u where u.id = t." + column + ")"
}

// Audited are the entities whose changes are written down, by ent's name of
// their type. Whatever entity is neither here nor in Excused is written down
// without values.
func Audited() map[string]Entity {
	return map[string]Entity{
		"Workspace": {Table: "workspaces", Kind: "workspace", Workspace: "t.id", NoDelete: true,
			Why: "the entries of a workspace end with it"},
		"User": {Table: "users", Kind: "person", Name: "t.email", Workspace: "null::uuid", NoCreate: true,
			Why:   "a new person is the member.add of their workspace",
			Verbs: []Verb{{Op: "update", Field: "password_hash", Action: "person.password"}, {Op: "update", Action: "person.update"}}},
		"Membership": {Table: "memberships", Kind: "member", Name: personOf("user_id"), ID: "t.user_id", Actor: "t.user_id", Ignored: []string{"user_id"},
			Verbs: []Verb{{Op: "create", Action: "member.add"}, {Op: "update", Field: "role", Action: "member.role"}, {Op: "delete", Action: "member.remove"}}},
		"Session": {Table: "sessions", Kind: "session", Name: personOf("user_id"), Actor: "t.user_id",
			Ignored: []string{"generation", "rotated_at", "expires_at", "user_id", "user_agent", "address", "last_used_at"}, NoDelete: true, Why: "what has ended is only swept",
			Verbs: []Verb{{Op: "create", Action: "session.sign_in"}, {Op: "update", Field: "revoked_at", Action: "session.sign_out"}}},
		"Invitation": {Table: "invitations", Kind: "invitation", Name: "t.email",
			Actor: "(select u.id from users u where u.email = t.email)", Taken: true, Ignored: []string{"email", "invited_by", "token_hash", "expires_at"},
			NoDelete: true, Why: "what has ended long ago is only swept",
			Verbs: []Verb{{Op: "update", Field: "accepted_at", Action: "invitation.accept"}, {Op: "update", Field: "revoked_at", Action: "invitation.revoke"},
				{Op: "update", Field: "sent_at", Action: "invitation.resend"}}},
		"OAuthGrant": {Table: "oauth_grants", Kind: "oauth_grant", Name: "coalesce(t.account, t.provider)",
			Ignored: []string{"person_id", "tokens", "expires_at", "refreshed_at", "last_error", "generation", "lease_id", "lease_until"}},
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
		"SyncJob": {Table: "sync_jobs", Kind: "sync", Name: "(select c.name from connectors c where c.id = t.connector_id)",
			Only: []string{"connector_id", "mode", "planned_mode", "target_job_id", "cause", "file_filter", "cancel_requested", "status"}, NoDelete: true,
			Why:   "jobs go with their connector, or when they are old",
			Verbs: []Verb{{Op: "create", Action: "sync.start"}, {Op: "update", Action: "sync.cancel"}}},
		"SyncItem": {Table: "sync_items", Kind: "document", Name: "t.path", ID: "coalesce(t.document_id, t.id)", Only: []string{"suppressed"},
			NoCreate: true, NoDelete: true, Why: "the ledger of syncs; only what a person decides of a document counts",
			Verbs: []Verb{{Op: "update", Field: "suppressed", To: false, Action: "document.allow"}, {Op: "update", Field: "suppressed", Action: "document.delete"}}},
		"SourceFile": {Table: "source_files", Kind: "file", Name: "t.path", Ignored: []string{"blob_key"},
			Verbs: []Verb{{Op: "create", Action: "file.upload"}, {Op: "update", Action: "file.upload"}}},
		"Conversation": {Table: "conversations", Kind: "conversation", Name: "''", Ignored: []string{"summary", "summarized", "collection_id", "subject_id", "agent_id"},
			Hidden: []string{"title"}, NoCreate: true, Why: "asking is no change; what is said is its owner's",
			Verbs: []Verb{{Op: "update", Field: "title", Action: "conversation.rename"}}},
		"Agent":         {Table: "agents", Kind: "agent"},
		"AgentTemplate": {Table: "agent_templates", Kind: "agent_template"},
		"AgentMemory": {Table: "agent_memories", Kind: "agent_memory", Name: "(select a.name from agents a where a.id = t.agent_id)",
			Hidden: []string{"content"}, Ignored: []string{"recalled_at", "embedding", "embedding_model", "run_id"}},
	}
}

// Excused are the entities of which nothing is written down, and why.
func Excused() map[string]string {
	return map[string]string{
		"AuditEntry": "the log itself",
		"Document":   "written by syncs; what a person does to one is noted at its line in the ledger",
		"PlanItem":   "what a sync would do; the plan is the start of a job",
		"Feedback":   "what one thinks of an answer is one's own; query analytics keeps it without the person",
		"Message":    "what is said in a conversation is its owner's",
		"AgentRun":   "a run is kept with all its events",
	}
}

// expression is an SQL expression, or what stands for it when it is empty.
func expression(e, fallback string) string {
	if e == "" {
		return fallback
	}
	return e
}

// select reads rows with all that an entry says of them.
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

// counts says that a field is one that entries are about.
func (e Entity) counts(field string) bool {
	if bookkeeping(field) || slices.Contains(e.Ignored, field) {
		return false
	}
	return len(e.Only) == 0 || slices.Contains(e.Only, field)
}

// leftOut says that a kind of change is not written down.
func (e Entity) leftOut(op string) bool {
	return op == opCreate && e.NoCreate || op == opUpdate && e.NoUpdate || op == opDelete && e.NoDelete
}

// action names a change.
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

// snake is ent's name of a type as entries write kinds.
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
