package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A Stack is a Magpie to measure. An application in this process writes. Servers
// and workers are processes of their own, so that their memory is separate and
// they can be restarted.
type Stack struct {
	Programs

	// OwnerURL is the address of the database as the owner of the schema, DatabaseURL and
	// RedisURL are those of the application.
	OwnerURL, DatabaseURL, RedisURL string

	// SearchMemory is SEARCH_MEMORY, in bytes.
	SearchMemory int64

	Workspace uuid.UUID
	Scope     viewer.Scope
	Admin     Login

	Client   *client.Client
	Parser   *parse.Parser
	Embedder embed.Embedder
	Index    *index.Store
	// NewWorkspace creates a workspace and returns the stack as its own.
	NewWorkspace func(ctx context.Context, name string) (*Stack, error)
	// StartJob queues a sync of a connector and returns the id of the job.
	StartJob func(ctx context.Context, connector uuid.UUID) (uuid.UUID, error)
	// ClaimJob claims an attempt at a job, as a worker does.
	ClaimJob func(ctx context.Context, job uuid.UUID, attempt int) error
	// BuildIndexes builds the vector indexes of large collections. It returns
	// index.ErrBuilding while another process does.
	BuildIndexes func(context.Context) error

	Display Display
}

// A Login is the account of a person.
type Login struct {
	ID              uuid.UUID
	Email, Password string
}

// A Display shows a person how far a benchmark is.
type Display interface {
	client.Reporter
	// Step shows how long a step took.
	Step(what string, do func() error) error
	// Note shows a line.
	Note(format string, arguments ...any)
}

// seed is the seed of generated documents and questions.
const seed = 1

// collectionName is the name of the measured collection, or its beginning.
const collectionName = "Bench"

// A target is a collection to measure and the secret key that reaches it.
type target struct {
	collection, connector uuid.UUID
	key                   string
}

// createTarget creates an empty collection with a connector and a key.
func (s *Stack) createTarget(ctx context.Context, name string) (target, error) {
	collection := client.Variables{"name": name, "description": "Generated documents"}
	connector, err := s.Client.EnsureConnector(ctx, collection, "Generator", "file_upload", nil)
	if err != nil {
		return target{}, err
	}
	t := target{collection: connector.CollectionID, connector: connector.ID}
	t.key, err = createKey(ctx, s.Client, t.collection)
	return t, err
}

// createKey returns a secret key without a rate limit for one collection.
func createKey(ctx context.Context, c *client.Client, collection uuid.UUID) (string, error) {
	created, err := c.CreateKey(ctx, client.Variables{
		"name": "Bench", "allowedHosts": []string{"*"}, "allowedCollections": []uuid.UUID{collection},
		"defaultCollection": collection, "rateLimitPerMinute": 0,
	})
	return created.SecretKey, err
}

// settle builds the vector indexes and the statistics, as workers and PostgreSQL
// do in quiet hours.
func (s *Stack) settle(ctx context.Context) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := s.BuildIndexes(ctx)
		if err == nil {
			break
		}
		if !errors.Is(err, index.ErrBuilding) {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := s.execute(ctx, "vacuum analyze"); err != nil {
		return fmt.Errorf("analyze the tables: %w", err)
	}
	return nil
}

// execute executes a statement as the owner of the schema.
func (s *Stack) execute(ctx context.Context, statement string, arguments ...any) error {
	return s.asOwner(ctx, func(owner *pgx.Conn) error {
		_, err := owner.Exec(ctx, statement, arguments...)
		return err
	})
}

// asOwner connects as the owner of the schema.
func (s *Stack) asOwner(ctx context.Context, do func(*pgx.Conn) error) (err error) {
	owner, err := pgx.Connect(ctx, s.OwnerURL)
	if err != nil {
		return fmt.Errorf("connect as the owner: %w", err)
	}
	defer func() { err = errors.Join(err, owner.Close(context.WithoutCancel(ctx))) }()
	return do(owner)
}
