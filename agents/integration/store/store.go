package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Grants are the OAuth grants of integrations; oauth.Grants implements it.
type Grants interface {
	BeginTool(ctx context.Context, r oauth.ToolRequest) (oauth.Authorization, error)
	// TokenSourceFor returns the tokens of a grant that v may use.
	TokenSourceFor(v viewer.Viewer, grant uuid.UUID) func(ctx context.Context, refused string) (string, map[string]string, error)
	OwnsOrigin(provider, origin string) bool
	// Forget deletes a grant that a connection no longer uses.
	Forget(ctx context.Context, client *ent.Client, grant uuid.UUID) error

	// The grants at servers that name their own authorization servers.
	LoadServer(ctx context.Context, k oauth.ServerKey) ([]byte, error)
	SaveServer(ctx context.Context, k oauth.ServerKey, g oauth.ServerGrant) error
	LockServer(ctx context.Context, k oauth.ServerKey, f func(ctx context.Context) error) error
	BeginServer(ctx context.Context, r oauth.ServerRequest) (state string, begun oauth.Authorization, err error)
	FinishServer(ctx context.Context, r oauth.Callback, obtain func(ctx context.Context, k oauth.ServerKey, content []byte) error) (oauth.Outcome, error)
}

// Options configure a Store. All fields but Dashboard, Now and Log are required.
type Options struct {
	Ent     *ent.Client
	Box     *secret.Box
	Grants  Grants
	Sources map[toolintegration.Kind]Source
	// Dial makes the connections of calls.
	Dial connectors.Dial
	// Dashboard is the address of the front end, to which browsers return that followed
	// the link of a run. It is an address that Grants accepts.
	Dashboard string
	Now       func() time.Time // nil: the system's clock
	Log       *slog.Logger     // nil discards
}

// Store manages integrations. It is safe for concurrent use.
type Store struct{ opt Options }

// New returns a Store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Store{o}
}

// client returns the client of the transaction of ctx or, outside of one, the plain client.
func (s *Store) client(ctx context.Context) *ent.Client { return transaction.Client(ctx, s.opt.Ent) }

// Listed is a provider with the kind of its integrations.
type Listed struct {
	integration.Provider
	Kind toolintegration.Kind
}

// Providers returns all providers, sorted by kind and name.
func (s *Store) Providers() []Listed {
	var out []Listed
	for kind, source := range s.opt.Sources {
		for _, p := range source.Providers() {
			out = append(out, Listed{p, kind})
		}
	}
	slices.SortFunc(out, func(a, b Listed) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Name, b.Name))
	})
	return out
}

// provider returns the provider of a name with its source.
func (s *Store) provider(name string) (Listed, Source, error) {
	var names []string
	for _, p := range s.Providers() {
		if p.Name == name {
			return p, s.opt.Sources[p.Kind], nil
		}
		names = append(names, p.Name)
	}
	return Listed{}, nil, apierr.Invalid("provider", "must be one of "+strings.Join(names, ", "))
}

// providerOf returns the provider of an integration with its source.
func (s *Store) providerOf(row *ent.ToolIntegration) (Listed, Source, error) {
	p, source, err := s.provider(row.Provider)
	if err != nil || p.Kind != row.Kind {
		return Listed{}, nil, apierr.New(apierr.Conflict, "This version of Magpie has no provider "+row.Provider)
	}
	return p, source, nil
}

func credentialsAAD(connection uuid.UUID) []byte {
	return secret.AAD("tool_connections", connection.String())
}

func (s *Store) seal(id uuid.UUID, credentials map[string]string) ([]byte, error) {
	plain, err := json.Marshal(credentials)
	if err != nil {
		return nil, fmt.Errorf("encode credentials: %w", err)
	}
	sealed, err := s.opt.Box.Seal(plain, credentialsAAD(id))
	if err != nil {
		return nil, fmt.Errorf("seal credentials: %w", err)
	}
	return sealed, nil
}

// open decrypts the credentials of a connection. Its error is for people.
func (s *Store) open(row *ent.ToolConnection) (map[string]string, error) {
	credentials := map[string]string{}
	if row == nil || len(row.Credentials) == 0 {
		return credentials, nil
	}
	plain, err := s.opt.Box.Open(row.Credentials, credentialsAAD(row.ID))
	if err == nil && json.Unmarshal(plain, &credentials) != nil {
		err = secret.ErrMalformed // the cause could quote a secret
	}
	if err != nil {
		return nil, connectors.NeedsAuth(fmt.Errorf("%s", secret.LostMessage("The integration's credentials", "enter them again", err)))
	}
	return credentials, nil
}

// merge lays the values of a change over old ones. A null value removes a key.
func merge(old, change map[string]any) map[string]any {
	out := maps.Clone(old)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range change {
		if value == nil {
			delete(out, name)
			continue
		}
		out[name] = value
	}
	return out
}

// viewerOf returns the viewer in ctx.
func viewerOf(ctx context.Context) (viewer.Viewer, error) {
	v, ok := viewer.From(ctx)
	if !ok {
		return viewer.Viewer{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	return v, nil
}
