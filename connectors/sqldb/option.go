package sqldb

import (
	"errors"
	"net/netip"
	"path"
	"regexp"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// The names of options that all kinds have.
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

// How a connection is encrypted.
const (
	TLSDisable = "disable"
	TLSPrefer  = "prefer"
	TLSRequire = "require"
	TLSVerify  = "verify-full"
)

// TLSModes are the values of a kind's option about encryption, from the weakest
// to the strongest.
func TLSModes() []string { return []string{TLSDisable, TLSPrefer, TLSRequire, TLSVerify} }

// Place are the options that say where a database is.
func Place(port int64, example string) []connectors.Option {
	return []connectors.Option{
		{
			Name: OptionHost, Title: "Host", Type: connectors.TypeString, Required: true, Format: connectors.FormatHostname, Destination: true,
			Example: "db.example.com", Help: "Name or address of the server.", Check: checkHost,
		},
		{
			Name: OptionPort, Title: "Port", Type: connectors.TypeInteger, Default: port, Min: 1, Max: 65535, Destination: true,
			Help: "The server's TCP port.",
		},
		{
			Name: OptionDatabase, Title: "Database", Type: connectors.TypeString, Required: true, Example: example,
			Help: "The one database that agents are to see.", Check: checkName,
		},
	}
}

// TLS are the options about encryption; name is what the kind calls the first.
func TLS(name string) []connectors.Option {
	return []connectors.Option{
		{
			Name: name, Title: "Encryption", Type: connectors.TypeString, Choices: TLSModes(), Default: TLSPrefer, Group: "Connection",
			Destination: true,
			Help:        "disable: none; prefer: where the server has it; require: always; verify-full: always, with a certificate for the host that can be verified.",
		},
		{
			Name: OptionCA, Title: "Certificate authority", Type: connectors.TypeString, Multiline: true, Group: "Connection", Advanced: true,
			Destination: true,
			Help:        "With verify-full: the certificates that the server's is verified with, in PEM; those of the system when left out.",
			DependsOn:   []connectors.Dependency{{Option: name, Values: []any{TLSVerify}}},
		},
	}
}

// Reach are the options that say what agents may see.
func Reach() []connectors.Option {
	const group = "Tables"
	return []connectors.Option{
		{
			Name: OptionInclude, Title: "Tables", Type: connectors.TypeStringList, Group: group, Format: connectors.FormatPattern, Example: "orders*",
			Help: "Patterns of tables, or of schema.table, one of which a table must match to be seen and asked; all tables when left out.", Check: checkPatterns,
		},
		{
			Name: OptionExclude, Title: "Excluded tables", Type: connectors.TypeStringList, Group: group, Format: connectors.FormatPattern, Example: "hr.*",
			Help: "Patterns of tables, or of schema.table, that nobody sees or asks.", Check: checkPatterns,
		},
		{
			Name: OptionSamples, Title: "Sample rows", Type: connectors.TypeBoolean, Default: false, Group: group,
			Help: "Show agents a few rows of each table they look at.",
		},
		{
			Name: OptionWrites, Title: "Accept a login that may write", Type: connectors.TypeBoolean, Default: false, Advanced: true, Group: "Connection",
			Help: "Statements run where the engine refuses to write in any case; a login that cannot write is the second lock. Switch this on to do without it.",
		},
	}
}

// Login are the credentials. rights says what the login needs.
func Login(rights string) []connectors.Option {
	return []connectors.Option{
		{Name: CredentialUser, Title: "User", Type: connectors.TypeString, Required: true, Example: "magpie_reader", Help: rights},
		{Name: CredentialPassword, Title: "Password", Type: connectors.TypeString, Sensitive: true, Help: "May be left out where the server asks for none."},
	}
}

func checkHost(value any) error {
	host, _ := value.(string)
	_, err := netip.ParseAddr(host)
	if err != nil && !regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9.])?$`).MatchString(host) {
		return errors.New("is no host: write a name or an address alone, without a port, a path or a user")
	}
	return nil
}

func checkName(value any) error {
	name, _ := value.(string)
	if len(name) > 128 || strings.ContainsAny(name, "\n\r\t") || strings.TrimSpace(name) != name {
		return errors.New("is no name of a database")
	}
	return nil
}

func checkPatterns(value any) error {
	list, _ := value.([]string)
	for _, pattern := range list {
		if _, err := path.Match(pattern, ""); err != nil || strings.Count(pattern, ".") > 1 || strings.Contains(pattern, "/") {
			return errors.New("has an entry that is no pattern; write orders, orders_*, sales.* or *.orders")
		}
	}
	return nil
}
