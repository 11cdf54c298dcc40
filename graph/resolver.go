package graph

import (
	"context"
	"log/slog"
	"time"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/agents/catalog"
	"github.com/magpie-search/magpie/agents/integration/store"
	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/agents/template"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/chat/answer"
	"github.com/magpie-search/magpie/internal/chat/conversation"
	"github.com/magpie-search/magpie/internal/collection"
	"github.com/magpie-search/magpie/internal/collection/document"
	"github.com/magpie-search/magpie/internal/collection/whynot"
	"github.com/magpie-search/magpie/internal/connector"
	"github.com/magpie-search/magpie/internal/connector/attached"
	"github.com/magpie-search/magpie/internal/connector/inbound"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/eval/traffic"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/identity/application"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/live/docwatch"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/system"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/usage/quota"
)

// A Resolver answers the fields of the schema by the domain packages. Every field
// is required unless its comment says otherwise.
type Resolver struct {
	Ent           *ent.Client
	Accounts      *authn.Accounts
	People        *people.People
	Keys          *authn.Keys
	SignOn        *signon.SignOn
	SAML          *signon.SAML
	Applications  *application.Server
	Collections   *collection.Collections
	Documents     *document.Documents
	WhyNot        *whynot.Explainer
	Connectors    *connector.Connectors
	Kinds         *connectors.Registry
	Databases     *attached.Databases
	Grants        *oauth.Grants
	Inbox         *inbound.Inbox
	Events        *inbox.Inbox // of inbound integrations
	Automations   *automation.Store
	Integrations  *store.Store // with tools of agents
	Jobs          *syncjob.Jobs
	Index         *index.Store
	Search        *search.Engine
	Chat          *chat.Chat
	Answers       *answer.Keeper // of chats on the dashboard
	Conversations *conversation.Conversations
	Agents        *catalog.Catalog
	Templates     *template.Store
	Memories      *memory.Store
	Runs          *run.Runs
	Approvals     *approval.Store
	News          *docwatch.Feed   // of documents
	Principals    *principal.Store // nil: people find only documents that everybody may read
	Quota         *quota.Quota
	Analytics     *analytics.Store
	Quality       *traffic.Meter
	System        *system.System
	Queries       QueryLog // nil logs nothing
	Log           *slog.Logger
	Limits        model.Limits
	// Lists reads a list, maybe twice, where it can be read best (store.ReadCurrent); nil
	// reads the primary.
	Lists func(ctx context.Context, read func(ctx context.Context) error) error
	// MinScore is the default min_score of searches.
	MinScore float64
	Now      func() time.Time
}

// client returns the client of the mutation's transaction or, outside of one, the
// plain client.
func (r *Resolver) client(ctx context.Context) *ent.Client {
	return transaction.Client(ctx, r.Ent)
}

// listed reads a page of a list that may be long.
func listed[T any](ctx context.Context, r *Resolver, read func(ctx context.Context) (T, error)) (page T, err error) {
	if r.Lists == nil {
		return read(ctx)
	}
	err = r.Lists(ctx, func(ctx context.Context) error {
		page, err = read(ctx)
		return err
	})
	return page, err
}

// metered charges the viewer for a query. It must be the last check of a query.
func (r *Resolver) metered(ctx context.Context) error { return r.Quota.Charge(ctx) }

// meteredTyping charges the viewer for a search of a query that is being typed.
func (r *Resolver) meteredTyping(ctx context.Context) error { return r.Quota.ChargeTyping(ctx) }
