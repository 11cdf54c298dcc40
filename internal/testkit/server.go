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
	// idleStop is the idle time after which the shared PostgreSQL stops.
	idleStop = 15 * time.Minute
)

// server is the shared PostgreSQL. Each test adopts and releases it, which takes a few milliseconds.
type server struct {
	adminURL, ownerURL, appURL string

	owner       string // the owner of the databases; empty for the administrator
	appPassword string // the password to set for the application role, if any
	started     bool   // whether connect started it
	release     func() error
}

func connect(ctx context.Context) (*server, error) {
	return connectTo(ctx, os.Getenv(serverVariable))
}

func connectTo(ctx context.Context, adminURL string) (*server, error) {
	if adminURL != "" {
		return external(adminURL)
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
		started:  !stack.Adopted,
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

// Shutdown stops the shared PostgreSQL unless a test is using it.
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

// Remove stops the shared PostgreSQL even when tests use it, and deletes its data.
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

// external returns a server that the user has started. The password of its application role is derived from the URL, so
// that all test binaries agree on it.
func external(adminURL string) (*server, error) {
	app, err := url.Parse(adminURL)
	if err != nil || app.Scheme == "" {
		// The error is not wrapped, since it has the URL with its password.
		return nil, fmt.Errorf("%s is not a URL such as postgres://user:password@host:5432/postgres", serverVariable)
	}
	sum := sha256.Sum256([]byte("application role of " + adminURL))
	password := hex.EncodeToString(sum[:16])
	app.User = url.UserPassword(devstack.DefaultAppRole, password)
	return &server{
		adminURL:    adminURL,
		ownerURL:    adminURL,
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
	defer func() { _ = connection.Close(ctx) }() // every statement was answered
	for _, statement := range statements {
		if _, err := connection.Exec(ctx, statement); err != nil {
			return fmt.Errorf("execute statement: %w", err)
		}
	}
	return nil
}

// withDatabase returns the URL with another database name.
func withDatabase(address, name string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address // cannot happen, it was parsed before
	}
	parsed.Path = "/" + name
	return parsed.String()
}
