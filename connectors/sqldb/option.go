package sqldb

import (
	"errors"
	"net/netip"
	"path"
	"regexp"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// The names of the options and credentials that all kinds have.
const (
	OptionHost     = "host"
	OptionPort     = "port"
	OptionDatabase = "database"
	OptionInclude  = "includeTables"
	OptionExclude  = "excludeTables"
	OptionSamples  = "sampleRows"
	OptionWrites   = "allowWriteAccess"
	OptionCA       = "caCertificate"

	CredentialUser     = "user"
	CredentialPassword = "password"
)

// The modes of encryption.
const (
	TLSDisable = "disable"
	TLSPrefer  = "prefer"
	TLSRequire = "require"
	TLSVerify  = "verify-full"
)

// TLSModes returns the modes of encryption, from the weakest to the strongest.
func TLSModes() []string { return []string{TLSDisable, TLSPrefer, TLSRequire, TLSVerify} }

// ServerOptions returns the options that say where a database is.
func ServerOptions(port int64, example string) []connectors.Option {
	return []connectors.Option{
		{
			Name: OptionHost, Title: "Host", Type: connectors.TypeString, Required: true, Format: connectors.FormatHostname, Destination: true,
			Example: "db.example.com", Help: "Name or address of the server.", Check: connectors.CheckString(checkHost),
		},
		{
			Name: OptionPort, Title: "Port", Type: connectors.TypeInteger, Default: port, Min: 1, Max: 65535, Destination: true,
			Help: "The server's TCP port.",
		},
		{
			Name: OptionDatabase, Title: "Database", Type: connectors.TypeString, Required: true, Example: example,
			Help: "The database that agents see.", Check: connectors.CheckString(checkName),
		},
	}
}

// TLSOptions returns the options of encryption. name is the kind's name of the
// mode.
func TLSOptions(name string) []connectors.Option {
	return []connectors.Option{
		{
			Name: name, Title: "Encryption", Type: connectors.TypeString, Choices: TLSModes(), Default: TLSPrefer, Group: "Connection",
			Destination: true,
			Help:        "disable: none; prefer: if the server supports it; require: always; verify-full: always, with a valid certificate for the host.",
		},
		CAOption("For verify-full: the certificates that verify the server's, in PEM. Without any: those of the system.",
			connectors.Dependency{Option: name, Values: []any{TLSVerify}}),
	}
}

// CAOption returns the option of the certificates that verify the server's.
func CAOption(help string, depends ...connectors.Dependency) connectors.Option {
	return connectors.Option{
		Name: OptionCA, Title: "Certificate authority", Type: connectors.TypeString, Multiline: true, Group: "Connection", Advanced: true,
		Destination: true, Help: help, DependsOn: depends,
	}
}

// TableOptions returns the options that say what agents see.
func TableOptions() []connectors.Option {
	const group = "Tables"
	return []connectors.Option{
		{
			Name: OptionInclude, Title: "Tables", Type: connectors.TypeStringList, Group: group, Format: connectors.FormatPattern, Example: "orders*",
			Help: "Patterns of tables, or of schema.table, one of which a table must match to be visible. Without any: all tables.", Check: connectors.CheckEach(checkPattern),
		},
		{
			Name: OptionExclude, Title: "Excluded tables", Type: connectors.TypeStringList, Group: group, Format: connectors.FormatPattern, Example: "hr.*",
			Help: "Patterns of tables, or of schema.table, that are never visible.", Check: connectors.CheckEach(checkPattern),
		},
		{
			Name: OptionSamples, Title: "Sample rows", Type: connectors.TypeBoolean, Default: false, Group: group,
			Help: "Show agents a few rows of the tables they look at. Schema syncs then also store short values of columns, such as states and countries, so that questions that name one find the table.",
		},
		{
			Name: OptionWrites, Title: "Accept a login that may write", Type: connectors.TypeBoolean, Default: false, Advanced: true, Group: "Connection",
			Help: "Statements always run in a transaction in which the engine refuses to write. A login that cannot write is a second protection; this option gives it up.",
		},
	}
}

// LoginCredentials returns the credentials. rights says which rights the login
// needs.
func LoginCredentials(rights string) []connectors.Option {
	return []connectors.Option{
		{Name: CredentialUser, Title: "User", Type: connectors.TypeString, Required: true, Example: "magpie_reader", Help: rights},
		{Name: CredentialPassword, Title: "Password", Type: connectors.TypeString, Sensitive: true, Help: "Not needed if the server does not ask for one."},
	}
}

func checkHost(host string) error {
	if _, err := netip.ParseAddr(host); err != nil && !regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9.])?$`).MatchString(host) {
		return errors.New("is no host: write a name or an address alone, without a port, a path or a user")
	}
	return nil
}

func checkName(name string) error {
	if len(name) > 128 || strings.ContainsAny(name, "\n\r\t") || strings.TrimSpace(name) != name {
		return errors.New("is no name of a database")
	}
	return nil
}

func checkPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil || strings.Count(pattern, ".") > 1 || strings.Contains(pattern, "/") {
		return errors.New("has an entry that is no pattern; write orders, orders_*, sales.* or *.orders")
	}
	return nil
}
