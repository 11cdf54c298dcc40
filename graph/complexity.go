package graph

import (
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentmemory"
	"github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/inboundevent"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/graph/generated"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/eval/traffic"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/search"
)

// summaryCost is the complexity of a summary. It allows 99 summaries in an operation.
const summaryCost = 50

// modelChangeCost is the complexity of the progress of a change of models, which counts
// the passages of a collection.
const modelChangeCost = 200

// meCost is the complexity of reading the person and their workspace. It allows 400 such
// fields in an operation, each of which asks the database anew.
const meCost = 10

// qualityQuestions is the number of questions of a measurement that its complexity counts.
const qualityQuestions = 20

// passwordCost is the complexity of hashing a password. It allows 9 in an operation.
const passwordCost = 500

// rows returns the complexity of a connection: child for each row of the page.
func rows[O any](child int, _ cursor, first *int, _ cursor, last *int, _ []*O) int {
	return multiplySaturating(pageSize(first, last), child) + 1
}

// setComplexity sets the complexities of fields that return many rows or cost more than
// a value.
func setComplexity(c *generated.ComplexityRoot) {
	c.Collection.Connectors = rows[ent.ConnectorOrder]
	c.Collection.Documents = rows[ent.DocumentOrder]
	c.Collection.ModelChange = func(child int) int { return child + modelChangeCost }
	c.Connector.Documents = rows[ent.DocumentOrder]
	c.Connector.Files = rows[ent.SourceFileOrder]
	c.Connector.Items = rows[ent.SyncItemOrder]
	c.Connector.Jobs = rows[ent.SyncJobOrder]
	c.Conversation.Messages = rows[ent.MessageOrder]
	c.Query.InboundIntegrations = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.InboundIntegrationOrder, _ *inboundintegration.Kind, _ *string) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.InboundEvents = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.InboundEventOrder, _ *uuid.UUID, _ []inboundevent.Status) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.Approvals = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.ApprovalOrder, _ []approval.Status, _ *bool, _ *uuid.UUID) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.ToolGrants = func(child int, _ uuid.UUID, after cursor, first *int, before cursor, last *int, order []*ent.ToolGrantOrder) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.Automations = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.AutomationOrder, _ *automation.Kind, _ *bool) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.AutomationRuns = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.AutomationRunOrder, _ *uuid.UUID, _ []automationrun.Status) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.ToolIntegrations = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.ToolIntegrationOrder, _ *toolintegration.Kind, _ *string) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.APIKeys = rows[ent.APIKeyOrder]
	c.Query.Agents = rows[ent.AgentOrder]
	c.Query.AgentTemplates = func(child int, _ *string, _ cursor, first *int) int {
		return multiplySaturating(pageSize(first, nil), child) + 1
	}
	c.Query.AgentMemories = func(child int, _ uuid.UUID, _ *agentmemory.Kind, after cursor, first *int, before cursor, last *int, order []*ent.AgentMemoryOrder) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.SearchAgentMemories = func(child int, _ uuid.UUID, _ string, _ *agentmemory.Kind, limit *int) int {
		n := min(max(orDefault(limit, memory.DefaultResults), 1), memory.MaxResults)
		return multiplySaturating(n, child) + 1
	}
	c.Query.Conversations = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.ConversationOrder, _ *string, _ *uuid.UUID, _ *model.ConversationKind) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.Collections = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.CollectionOrder, _ *string) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.SourceFiles = func(child int, _ uuid.UUID, after cursor, first *int, before cursor, last *int, order []*ent.SourceFileOrder, _ *string) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.AuditLog = func(child int, _ *model.AuditFilter, after cursor, first *int, before cursor, last *int) int {
		return rows[ent.AuditEntryOrder](child, after, first, before, last, nil)
	}
	c.Query.Connectors = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.ConnectorOrder, _ *uuid.UUID, _ []connector.Status, _, _ *string) int {
		return rows(child, after, first, before, last, order)
	}
	c.Document.Passages = func(child int, _ cursor, first *int) int { return multiplySaturating(pageSize(first, nil), child) + 1 }
	c.Document.History = func(child int, first *int) int { return multiplySaturating(pageSize(first, nil), child) + 1 }
	c.Query.Passage = func(child int, _ uuid.UUID, around int) int {
		return multiplySaturating(2*min(max(around, 0), maxAround)+1, child) + 1
	}
	c.Query.DocumentReaders = func(child int, _ uuid.UUID, first *int) int {
		return multiplySaturating(pageSize(first, nil), child) + 1
	}
	c.Query.DocumentRestrictions = func(child int, _ *uuid.UUID, _ cursor, first *int) int {
		return multiplySaturating(pageSize(first, nil), child) + 1
	}
	c.Query.Documents = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.DocumentOrder, _, _ *uuid.UUID, _ []document.Status, _ *string, _ *bool) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.SyncJobs = func(child int, _ uuid.UUID, _ []syncjob.Status, after cursor, first *int, before cursor, last *int, order []*ent.SyncJobOrder) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.SyncItems = func(child int, _ uuid.UUID, _ *uuid.UUID, _ []syncitem.Status, _ *bool, _ *string, after cursor, first *int, before cursor, last *int, order []*ent.SyncItemOrder) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.Members = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.MemberOrder, _ *string, _ *model.Role) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.Invitations = func(child int, after cursor, first *int, before cursor, last *int, order []*ent.InvitationOrder, _ *model.InvitationStatus) int {
		return rows(child, after, first, before, last, order)
	}
	c.Query.Me = func(child int) int { return child + meCost }
	c.Query.MySessions = func(child int) int { return multiplySaturating(authn.MaxSessions, child) + 1 }
	c.Query.MyWorkspaces = func(child int) int { return multiplySaturating(people.MaxWorkspaces, child) + 1 }
	c.Query.Runs = func(child int, _ uuid.UUID, after cursor, first *int, before cursor, last *int, order []*ent.AgentRunOrder) int {
		return rows(child, after, first, before, last, order)
	}
	c.AgentRun.Events = func(child int, _, limit *int) int {
		n := maxEvents
		if limit != nil {
			n = min(max(*limit, 1), maxEvents)
		}
		return multiplySaturating(n, child) + 1
	}
	c.Mutation.SignIn = func(child int, _ model.SignInInput) int { return child + passwordCost }
	c.Mutation.SignUp = func(child int, _ model.SignUpInput) int { return child + passwordCost }
	c.Mutation.ChangePassword = func(child int, _ model.ChangePasswordInput) int { return child + passwordCost }
	c.Mutation.ResetPassword = func(child int, _ model.ResetPasswordInput) int { return child + passwordCost }
	c.Mutation.AcceptInvitation = func(child int, _ model.AcceptInvitationInput) int { return child + passwordCost }
	// A summary that is not stored yet is made now.
	c.Document.Summary = func(child int) int { return child + summaryCost }
	c.Query.Nodes = func(child int, ids []uuid.UUID) int { return multiplySaturating(len(ids), child) + 1 }
	c.Query.Search = func(child int, in model.SearchInput) int {
		n := min(max(orDefault(in.Limit, search.DefaultLimit), 1), search.MaxLimit)
		return multiplySaturating(n, child) + 1
	}
	c.Query.SearchQuality = func(child int, _ uuid.UUID, first *int) int {
		return multiplySaturating(min(max(orDefault(first, 10), 1), traffic.MaxRuns), child) + 1
	}
	c.SearchQualityRun.Questions = func(child int) int { return multiplySaturating(qualityQuestions, child) + 1 }
	c.Query.SearchFacets = func(child int, _ model.SearchFacetsInput) int {
		return multiplySaturating(len(model.AllSearchField), child) + 1
	}
	c.SearchFacet.Values = func(child int) int { return multiplySaturating(search.DefaultFacetValues, child) + 1 }
	c.Query.Completions = func(child int, _ string, limit *int, _ *uuid.UUID, _ *model.SearchFilters) int {
		n := min(max(orDefault(limit, search.DefaultSuggestions), 1), search.MaxSuggestions)
		return multiplySaturating(n, child) + 1
	}
	c.Query.SearchSuggestions = func(child int, _ string, limit *int, _ *uuid.UUID) int {
		n := min(max(orDefault(limit, search.DefaultSuggestions), 1), search.MaxSuggestions)
		return multiplySaturating(n, child) + 1
	}
}
