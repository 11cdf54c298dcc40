package command

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/eval/texttosql"
)

// sampleReader is the login that reads the sample databases.
const sampleReader = "magpie_sample_reader"

// samples is a PostgreSQL server with sample databases.
type samples struct {
	stack   *devstack.Stack
	forward *devstack.Forward
	folder  devstack.Options
}

// openSamples starts a server in a folder. The caller must call Close.
func openSamples(ctx context.Context, folder string) (*samples, error) {
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

// attach makes a database by a script, attaches it under its name and reads its schema.
func (s *samples) attach(r *runtime, api *client.Client, name, script string) error {
	text, err := texttosql.ReadScript(script)
	if err != nil {
		return err
	}
	if err := s.create(r, name, text); err != nil {
		return fmt.Errorf("make the sample database %s: %w", name, err)
	}
	password, _ := s.forward.Login.Password()
	connector, err := api.EnsureConnector(r, client.Variables{"name": examined}, name, "postgresql", client.Variables{
		"config": client.Variables{
			"host": s.forward.Address.IP.String(), "port": s.forward.Address.Port, "database": name, "sslMode": "disable",
		},
		"credentials": client.Variables{"user": s.forward.Login.Username(), "password": password},
	})
	if err != nil {
		return err
	}
	_, err = api.Sync(r, connector.ID, "auto", reporter{r.console})
	return err
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
