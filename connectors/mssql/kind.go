package mssql

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

const (
	optionSchema  = "schema"
	optionEncrypt = "encrypt"
	optionTrust   = "trustServerCertificate"

	encryptTrue, encryptStrict, encryptFalse = "true", "strict", "false"

	credentialUser = "username"

	defaultPort = 1433
	maxSchemas  = 50
)

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	return connectors.Kind{
		Name:          "mssql",
		Aliases:       []string{"sqlserver"},
		Title:         "SQL Server",
		Description:   "A Microsoft SQL Server or Azure SQL database that agents look at and ask questions of. It brings no documents.",
		Category:      connectors.CategoryDatabase,
		Documentation: "https://learn.microsoft.com/sql/relational-databases/security/authentication-access/create-a-login",
		Options:       options(),
		Credentials: []connectors.Option{
			{Name: credentialUser, Title: "User", Type: connectors.TypeString, Required: true, Example: "magpie_reader", Help: "A login of SQL Server that has SELECT on the schemas, and nothing else."},
			{Name: sqldb.CredentialPassword, Title: "Password", Type: connectors.TypeString, Required: true, Sensitive: true, Help: "The password of the login."},
		},
		CheckSettings: func(s connectors.Settings) error {
			if s.Boolean(optionTrust) {
				return nil
			}
			return sqldb.CheckCA(s, sqldb.TLSVerify)
		},
		Attach: func(_ context.Context, s connectors.Settings) (connectors.Database, error) {
			return newDatabase(s, dial)
		},
	}
}

func options() []connectors.Option {
	server := sqldb.ServerOptions(defaultPort, "sales")
	for i := range server {
		if check := server[i].Check; server[i].Name == sqldb.OptionHost {
			server[i].Check = connectors.CheckString(func(host string) error {
				if strings.Contains(host, `\`) {
					return errors.New("names an instance, whose port is not looked up; enter the host alone, and the TCP port of the instance as config.port")
				}
				return check(host)
			})
		}
	}
	// No transaction keeps a login from writing here, so none that may write is accepted.
	tables := slices.DeleteFunc(sqldb.TableOptions(), func(o connectors.Option) bool { return o.Name == sqldb.OptionWrites })
	const group = "Connection"
	return slices.Concat(server, []connectors.Option{
		{
			Name: optionSchema, Title: "Schemas", Type: connectors.TypeString, Default: "dbo", Example: "dbo, sales",
			Help: "The schemas that agents see, with commas between them.", Check: connectors.CheckString(checkSchemas),
		},
		{
			Name: optionEncrypt, Title: "Encryption", Type: connectors.TypeString, Choices: []string{encryptFalse, encryptTrue, encryptStrict}, Default: encryptTrue, Group: group, Destination: true,
			Help: "true: always; strict: always, as SQL Server 2022 and Azure SQL can (TDS 8.0); false: only the login, if the server supports it.",
		},
		{
			Name: optionTrust, Title: "Trust any certificate", Type: connectors.TypeBoolean, Default: false, Group: group, Advanced: true, Destination: true,
			Help: "Accept a certificate that nobody vouches for, such as the one that SQL Server makes itself.",
		},
		sqldb.CAOption("The certificates that verify the server's, in PEM. Without any: those of the system."),
	}, tables)
}

func checkSchemas(text string) error {
	list := parseSchemas(text)
	if len(list) == 0 || len(list) > maxSchemas {
		return errors.New("must name 1 to 50 schemas")
	}
	for _, name := range list {
		switch {
		case len(name) > 128:
			return errors.New("names a schema of more than 128 bytes")
		case strings.EqualFold(name, "sys") || strings.EqualFold(name, informationSchema):
			return errors.New("names a schema of SQL Server itself")
		}
	}
	return nil
}

// parseSchemas parses a list with commas.
func parseSchemas(text string) []string {
	var out []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
