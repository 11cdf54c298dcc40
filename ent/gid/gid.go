package gid

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// A Kind is the 12-bit tag of an id. The number of a kind is never reused.
type Kind uint16

// The kinds of rows.
const (
	Workspace Kind = 1 + iota
	User
	Membership
	Session
	Collection
	Connector
	Document
	SyncJob
	SyncItem
	SourceFile
	APIKey
	Conversation
	Message
	Passage
	Agent
	AgentTemplate
	AgentMemory
	AgentRun
	Invitation
	AuditEntry
	OAuthGrant
	Feedback
	PrincipalGroup
	ToolIntegration
	Approval
	PlanItem
	InboundIntegration
	InboundEvent
	IntegrationTool
	ToolConnection
	ToolGrant
	Automation
	AutomationRun
	Token
)

// New returns a new id of kind k: a version 8 UUID (RFC 9562, section 5.8) of 48
// bits of Unix milliseconds, 12 bits of kind and 62 random bits.
func New(k Kind) uuid.UUID {
	var u uuid.UUID
	ms := uint64(time.Now().UnixMilli())
	binary.BigEndian.PutUint64(u[:8], ms<<16|8<<12|uint64(k)&0xfff)
	_, _ = rand.Read(u[8:]) // documented never to fail
	u[8] = u[8]&0x3f | 0x80
	return u
}

// KindOf returns the kind of an id. It returns false for an id that New did not make.
func KindOf(id uuid.UUID) (Kind, bool) {
	if id.Version() != 8 || id.Variant() != uuid.RFC4122 {
		return 0, false
	}
	k := Kind(binary.BigEndian.Uint16(id[6:8]) & 0xfff)
	_, ok := table(k)
	return k, ok
}

// Table returns the SQL table of the row of an id. It is a function for ent's node
// queries.
func Table(_ context.Context, id uuid.UUID) (string, error) {
	if k, ok := KindOf(id); ok {
		if t, ok := table(k); ok && t != "" {
			return t, nil
		}
	}
	return "", fmt.Errorf("no kind of thing has the id %s", id)
}

func table(k Kind) (string, bool) {
	switch k {
	case Workspace:
		return "workspaces", true
	case User:
		return "users", true
	case Membership:
		return "memberships", true
	case Session:
		return "sessions", true
	case Collection:
		return "collections", true
	case Connector:
		return "connectors", true
	case Document:
		return "documents", true
	case SyncJob:
		return "sync_jobs", true
	case SyncItem:
		return "sync_items", true
	case SourceFile:
		return "source_files", true
	case APIKey:
		return "api_keys", true
	case Conversation:
		return "conversations", true
	case Message:
		return "messages", true
	case Agent:
		return "agents", true
	case AgentTemplate:
		return "agent_templates", true
	case AgentMemory:
		return "agent_memories", true
	case AgentRun:
		return "agent_runs", true
	case Invitation:
		return "invitations", true
	case Feedback:
		return "feedbacks", true
	case OAuthGrant:
		return "oauth_grants", true
	case AuditEntry:
		return "audit_entries", true
	case PlanItem:
		return "plan_items", true
	case InboundIntegration:
		return "inbound_integrations", true
	case InboundEvent:
		return "integration_events", true
	case ToolIntegration:
		return "tool_integrations", true
	case IntegrationTool:
		return "integration_tools", true
	case ToolConnection:
		return "tool_connections", true
	case Approval:
		return "approvals", true
	case ToolGrant:
		return "tool_grants", true
	case Automation:
		return "automations", true
	case AutomationRun:
		return "automation_runs", true
	case Token:
		return "tokens", true
	case Passage, PrincipalGroup:
		return "", true
	default:
		return "", false
	}
}
