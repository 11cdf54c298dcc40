package command

import (
	"context"
	"strings"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/eval/texttosql"
)

// mariaSamples is a MariaDB server with sample databases.
type mariaSamples struct{ server *devstack.MariaDB }

// openMariaDB starts a server, in a folder of its own. The caller must call Close.
func openMariaDB(ctx context.Context, _ string) (sampleServer, error) {
	server, err := devstack.StartMariaDB(ctx)
	if err != nil {
		return nil, err
	}
	return mariaSamples{server}, nil
}

func (mariaSamples) Kind() string { return "mysql" }

func (m mariaSamples) Close(ctx context.Context) error { return m.server.Stop(ctx) }

// Create makes a database, which sampleReader may read.
func (m mariaSamples) Create(ctx context.Context, name, script string) (sampleLogin, error) {
	quoted := "`" + strings.ReplaceAll(name, "`", "``") + "`"
	statements := []string{
		"create database " + quoted, "use " + quoted, "set sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES'",
		texttosql.Portable(script),
		"create user if not exists " + sampleReader + "@'%' identified by '" + m.server.Password + "'",
		"grant select on " + quoted + ".* to " + sampleReader + "@'%'",
	}
	if err := m.server.Run(ctx, strings.Join(statements, ";\n")+";\n"); err != nil {
		return sampleLogin{}, err
	}
	return sampleLogin{
		config:      client.Variables{"host": m.server.Host, "port": m.server.Port, "database": name, "tls": "disable"},
		credentials: client.Variables{"user": sampleReader, "password": m.server.Password},
	}, nil
}
