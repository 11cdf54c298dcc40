package clickhouse

import (
	"context"
	"slices"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

const (
	optionSecure = "secure"

	credentialUser  = "username"
	credentialToken = "accessToken"

	securePort = 8443
	plainPort  = 8123
)

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	return connectors.Kind{
		Name:          "clickhouse",
		Title:         "ClickHouse",
		Description:   "A ClickHouse database that agents look at and ask questions of. It brings no documents.",
		Category:      connectors.CategoryDatabase,
		Documentation: "https://clickhouse.com/docs/operations/access-rights",
		Options:       slices.Concat(serverOptions(), sqldb.TableOptions()),
		Credentials: []connectors.Option{
			{
				Name: credentialUser, Title: "User", Type: connectors.TypeString, Required: true, Example: "magpie_reader",
				DependsOn: []connectors.Dependency{{Option: credentialToken, Values: []any{""}}},
				Help:      "A user that has SELECT on the database, and nothing else. Not needed with an access token.",
			},
			{
				Name: sqldb.CredentialPassword, Title: "Password", Type: connectors.TypeString, Sensitive: true,
				Help: "Not needed if the server does not ask for one.",
			},
			{
				Name: credentialToken, Title: "Access token", Type: connectors.TypeString, Sensitive: true, Default: "",
				Help: "A token (JWT) instead of a user and password, as ClickHouse Cloud accepts it.",
			},
		},
		CheckSettings: checkSettings,
		Attach: func(_ context.Context, s connectors.Settings) (connectors.Database, error) {
			return newDatabase(s, dial)
		},
	}
}

// serverOptions returns the options that say where a database is.
func serverOptions() []connectors.Option {
	options := sqldb.ServerOptions(securePort, "analytics")
	for i := range options {
		if options[i].Name == sqldb.OptionPort {
			options[i].Default, options[i].Example = nil, "8443"
			options[i].Help = "The port of the HTTP interface: 8443 with encryption, 8123 without. Not the port of clickhouse-client, 9000 or 9440."
		}
	}
	return append(options,
		connectors.Option{
			Name: optionSecure, Title: "Encryption", Type: connectors.TypeBoolean, Default: true, Group: "Connection", Destination: true,
			Help: "Connect with HTTPS. The server needs a valid certificate for the host.",
		},
		sqldb.CAOption("The certificates that verify the server's, in PEM. Without any: those of the system.",
			connectors.Dependency{Option: optionSecure, Values: []any{true}}))
}

func checkSettings(s connectors.Settings) error {
	user, token := s.Credentials[credentialUser] != "", s.Credentials[credentialToken] != ""
	switch {
	case token && (user || s.Credentials[sqldb.CredentialPassword] != ""):
		return &connectors.OptionError{Field: "credentials." + credentialToken, Message: "is used instead of a user and password; enter one or the other"}
	case !token && !user:
		return &connectors.OptionError{Field: "credentials." + credentialUser, Message: "is missing: enter a user, or an access token"}
	case s.Boolean(optionSecure):
		return sqldb.CheckCA(s, sqldb.TLSVerify)
	}
	return nil
}
