package testkit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/magpie-search/magpie/internal/devstack"

	"github.com/jackc/pgx/v5"
)

const (
	serverVariable = "MAGPIE_TEST_DATABASE_URL"
	// idleStop is how long the shared PostgreSQL stays when nobody uses it.
	idleStop = 15 * time.Minute
)

// server is the PostgreSQL that tests share. Each use holds it anew: adopting a running one costs a few milliseconds, and
// nothing has to be kept, or stopped, for the whole test binary.
type server struct {
	adminURL, ownerURL, appURL string

	owner       string // owns the databases; empty when that is the admin
	appPassword string // to be set on the application's role; empty when it needs none
	fresh       bool   // this use started it
	release     func() error
}

func connect(ctx context.Context) (*server, error) {
	// The one variable that tests read: the program itself never does.
	return connectTo(ctx, os.Getenv(serverVariable))
}

func connectTo(ctx context.Context, given string) (*server, error) {
	if given != "" {
		return external(given)
	}
	o, err := sharedStack()
	if err != nil {
		return nil, err
	}
	stack, err := devstack.Start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("start the shared server: %w", err)
	}
	return &server{
		adminURL: stack.AdminURL,
		ownerURL: stack.OwnerURL,
		appURL:   stack.DatabaseURL,
		owner:    devstack.OwnerRole,
		fresh:    !stack.Adopted,
		release:  stack.Release,
	}, nil
}

func sharedStack() (devstack.Options, error) {
	root, err := devstack.ModuleRoot()
	if err != nil {
		return devstack.Options{}, fmt.Errorf("find the folder of the shared server: %w", err)
	}
	return devstack.Options{Dir: filepath.Join(root, ".magpie", "test"), Fast: true, WithoutRedis: true, IdleStop: idleStop}, nil
}

// Shutdown ends the shared PostgreSQL unless a test is using it this moment. What runs all tests calls it once they are done.
func Shutdown(ctx context.Context) error {
	o, err := sharedStack()
	if err != nil {
		return err
	}
	if err := devstack.ShutdownUnheld(ctx, o); err != nil {
		return fmt.Errorf("stop the shared server: %w", err)
	}
	return nil
}

// Remove ends the shared PostgreSQL whoever uses it, and deletes its data.
func Remove(ctx context.Context) error {
	o, err := sharedStack()
	if err != nil {
		return err
	}
	if err := devstack.Remove(ctx, o); err != nil {
		return fmt.Errorf("remove the shared server: %w", err)
	}
	return nil
}

// external describes a server that somebody else runs. Its application role gets a password that all test binaries derive
// alike from the URL they were given.
func external(given string) (*server, error) {
	app, err := url.Parse(given)
	if err != nil || app.Scheme == "" {
		// The cause is left out: it quotes the URL, which holds a password.
		return nil, fmt.Errorf("%s is not a URL such as postgres://user:password@host:5432/postgres", serverVariable)
	}
	sum := sha256.Sum256([]byte("application role of " + given))
	password := hex.EncodeToString(sum[:16])
	app.User = url.UserPassword(devstack.DefaultAppRole, password)
	return &server{
		adminURL:    given,
		ownerURL:    given,
		appURL:      app.String(),
		appPassword: password,
		release:     func() error { return nil },
	}, nil
}

func (s *server) ownerClause() string {
	if s.owner == "" {
		return ""
	}
	return " OWNER " + quote(s.owner)
}

func (s *server) execute(ctx context.Context, statements ...string) error {
	connection, err := pgx.Connect(ctx, s.adminURL)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = connection.Close(ctx) }() // each statement has been answered
	for _, statement := range statements {
		if _, err := connection.Exec(ctx, statement); err != nil {
			return fmt.Errorf("on the server: %w", err)
		}
	}
	return nil
}

// withDatabase returns the URL with another database name.
func withDatabase(address, name string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address // it was parsed before, or made by us
	}
	parsed.Path = "/" + name
	return parsed.String()
}
