package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/eval/texttosql"
)

// sampleReader is the login that reads the sample databases.
const sampleReader = "magpie_sample_reader"

// sampleServer is a database server with sample databases.
type sampleServer interface {
	// Kind is the type of the connectors.
	Kind() string
	// Create makes a database by a script in the dialect of PostgreSQL, which may fail on
	// another server, and returns what its connector needs.
	Create(ctx context.Context, name, script string) (sampleLogin, error)
	// Close stops the server and deletes its databases.
	Close(ctx context.Context) error
}

// sampleLogin is the configuration of a connector and its credentials.
type sampleLogin struct{ config, credentials client.Variables }

// attachSamples makes the databases that questions in the server's dialect are about, attaches
// them under their names and reads their schemas. showRows is the option sampleRows of the
// connectors. It returns how many there are.
func attachSamples(r *runtime, api *client.Client, server sampleServer, set *texttosql.Set, showRows bool) (attached int, err error) {
	kind := server.Kind()
	for _, name := range slices.Sorted(maps.Keys(set.Scripts)) {
		if kind != "postgresql" && set.CountOf(kind, name) == 0 {
			continue
		}
		text, err := texttosql.ReadScript(set.Scripts[name])
		if err != nil {
			return attached, err
		}
		login, err := server.Create(r, name, text)
		if err != nil && kind != "postgresql" && r.Err() == nil {
			r.console.Warn("Left out %d questions in the dialect %s about %s, whose script runs on PostgreSQL only: %v", set.CountOf(kind, name), kind, name, err)
			continue
		}
		if err != nil {
			return attached, fmt.Errorf("make the sample database %s: %w", name, err)
		}
		login.config["sampleRows"] = showRows
		connector, err := api.EnsureConnector(r, client.Variables{"name": examined}, name, kind, client.Variables{"config": login.config, "credentials": login.credentials})
		if err != nil {
			return attached, err
		}
		if _, err := api.Sync(r, connector.ID, "auto", reporter{r.console}); err != nil {
			return attached, err
		}
		attached++
	}
	return attached, nil
}

// samples is a PostgreSQL server with sample databases.
type samples struct {
	stack   *devstack.Stack
	forward *devstack.Forward
	folder  devstack.Options
}

func (*samples) Kind() string { return "postgresql" }

// openPostgres starts a server in a folder. The caller must call Close.
func openPostgres(ctx context.Context, folder string) (sampleServer, error) {
	s := &samples{folder: devstack.Options{Dir: folder, WithoutRedis: true, Fast: true, AppRole: sampleReader}}
	var err error
	if s.stack, err = devstack.Start(ctx, s.folder); err != nil {
		return nil, err
	}
	if s.forward, err = devstack.ForwardTCP(ctx, s.stack.DatabaseURL); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// Close stops the server and deletes its databases.
func (s *samples) Close(ctx context.Context) error {
	var err error
	if s.forward != nil {
		err = s.forward.Close()
	}
	return errors.Join(err, s.stack.Stop(ctx), devstack.Remove(ctx, s.folder))
}

// Create makes a database and returns what its connector needs.
func (s *samples) Create(ctx context.Context, name, script string) (sampleLogin, error) {
	if err := s.create(ctx, name, script); err != nil {
		return sampleLogin{}, err
	}
	password, _ := s.forward.Login.Password()
	return sampleLogin{
		config: client.Variables{
			"host": s.forward.Address.IP.String(), "port": s.forward.Address.Port, "database": name, "sslMode": "disable",
		},
		credentials: client.Variables{"user": s.forward.Login.Username(), "password": password},
	}, nil
}

// create makes a database, which everybody may read.
func (s *samples) create(ctx context.Context, name, script string) error {
	quoted := pgx.Identifier{name}.Sanitize()
	if err := execute(ctx, s.stack.AdminURL, "create database "+quoted); err != nil {
		return err
	}
	address, err := url.Parse(s.stack.AdminURL)
	if err != nil {
		return err
	}
	address.Path = "/" + name
	return execute(ctx, address.String(), strings.Join([]string{script, "reset all", "grant usage on schema public to public", "grant select on all tables in schema public to public"}, ";\n"))
}

func execute(ctx context.Context, databaseURL, statements string) (err error) {
	admin, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, admin.Close(context.WithoutCancel(ctx))) }()
	_, err = admin.PgConn().Exec(ctx, statements).ReadAll()
	return err
}
