package graph

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/catalog"
	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/agents/template"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/chat/summary"
	"github.com/magpie-search/magpie/internal/connector/inbound"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/connector/pace"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/live/docwatch"
	"github.com/magpie-search/magpie/internal/live/replay"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/usage/quota"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Resolver answers the schema from the domain packages. Every field is needed
// unless it says otherwise.
type Resolver struct {
	Ent       *ent.Client
	Accounts  *authn.Accounts
	People    *people.People
	Keys      *authn.Keys
	Jobs      *syncjob.Jobs
	Files     *sourcefile.Files
	Kinds     *connectors.Registry
	Secrets   *secret.Box
	Search    *search.Engine
	Index     *index.Store
	Chat      *chat.Chat
	Runs      *run.Runs
	Answers   *replay.Keeper[chat.Event] // of chat on the dashboard
	News      *docwatch.Feed             // of documents
	Models    *embed.Registry
	Agents    *catalog.Catalog
	Templates *template.Store
	Memories  *memory.Store
	Summaries *summary.Summarizer
	Quota     *quota.Quota
	// Principals are who belongs to which group at the sources.
	Principals *principal.Store
	Analytics  *analytics.Store
	Grants     *oauth.Grants
	SignOn     *signon.SignOn
	Inbox      *inbound.Inbox
	Pacer      *pace.Pacer    // of connection tests; may be nil: they are made at will
	Queries    QueryLog       // may be nil: nothing is noted
	Audit      SignInLog      // of sign-ins that failed; may be nil
	SignIns    authn.Attempts // to begin signing in at a provider
	Log        *slog.Logger
	// MinScore is the min_score of a search that names none.
	MinScore float64
	Now      func() time.Time

	defaults *defaults // NewServer makes it; nil remembers none
}

// client is the surrounding mutation's transaction, else the plain client.
func (r *Resolver) client(ctx context.Context) *ent.Client {
	return transaction.Client(ctx, r.Ent)
}

// afterCommit runs do once the surrounding mutation has committed. Its failure
// is logged: the mutation itself has succeeded by then.
func (r *Resolver) afterCommit(ctx context.Context, what string, do func(context.Context) error) {
	transaction.AfterCommit(ctx, func(ctx context.Context) {
		if err := do(ctx); err != nil {
			r.Log.ErrorContext(ctx, "after commit", slog.String("step", what), slog.Any("error", err))
		}
	})
}

// found makes ent's "not found" the edge's.
func found[T any](what string, row *T, err error) (*T, error) {
	switch {
	case ent.IsNotFound(err):
		return nil, apierr.NotFound(what)
	case err != nil:
		return nil, err
	}
	return row, nil
}

// scope is what the viewer may reach.
func scope(ctx context.Context) (viewer.Scope, error) {
	s, err := viewer.ScopeOf(ctx)
	if err != nil {
		return viewer.Scope{}, &apierr.Error{Code: apierr.Unauthorized, Message: "Session required", Cause: err}
	}
	return s, nil
}

// within is the scope of one collection that the viewer has been shown to reach.
func within(ctx context.Context, collection uuid.UUID) (viewer.Scope, error) {
	s, err := scope(ctx)
	if err != nil {
		return viewer.Scope{}, err
	}
	narrow, err := s.Narrow(collection)
	if err != nil {
		return viewer.Scope{}, &apierr.Error{Code: apierr.Forbidden, Message: "Collection access denied", Cause: err}
	}
	return narrow, nil
}
