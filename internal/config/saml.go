package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"unicode"
)

// maxEntityID is the maximum length of an entity ID in SAML.
const maxEntityID = 1024

// RoleGroup is the role of the people in a group of a provider.
type RoleGroup struct{ Role, Group string }

// RoleGroups returns the entries role:group of a setting, in their order.
func RoleGroups(entries []string) ([]RoleGroup, error) {
	out := make([]RoleGroup, 0, len(entries))
	for _, entry := range unique(entries) {
		role, group, ok := strings.Cut(entry, ":")
		role, group = strings.TrimSpace(role), strings.TrimSpace(group)
		if !ok || group == "" || !contains([]string{"viewer", "editor", "admin"}, role) {
			return nil, fmt.Errorf("%q is not an entry; write it as admin:Name of the group, with the role viewer, editor or admin", entry)
		}
		out = append(out, RoleGroup{Role: role, Group: group})
	}
	return out, nil
}

// SAMLJoinDomains returns the domains of SAML_AUTO_JOIN.
func (c *Config) SAMLJoinDomains() []string { return unique(c.SAMLAutoJoin) }

// SAMLKeyPair returns the certificate and the key of SAML, or nil without them.
func (c *Config) SAMLKeyPair() (*tls.Certificate, error) {
	if c.SAMLCertificate == "" && c.SAMLKey == "" {
		return nil, nil //nolint:nilnil // none is set
	}
	if c.SAMLCertificate == "" || c.SAMLKey == "" {
		return nil, errors.New("must be set together with SAML_KEY")
	}
	certificate, err := pemOf(c.SAMLCertificate)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	key, err := pemOf(c.SAMLKey.Reveal())
	if err != nil {
		return nil, errors.New("needs SAML_KEY, whose file cannot be read")
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, errors.New("must be a certificate in PEM, and SAML_KEY its private key in PEM, or the paths of such files")
	}
	return &pair, nil
}

// pemOf returns a value in PEM, or the content of the file that it names.
func pemOf(value string) ([]byte, error) {
	if strings.HasPrefix(strings.TrimSpace(value), "-----BEGIN") {
		return []byte(value), nil
	}
	return readNamed(value)
}

// checkSAMLMetadata checks that the metadata, which has the keys that are trusted,
// comes by one way that nobody else can change.
func (c *Config) checkSAMLMetadata() error {
	if c.SAMLMetadataURL == "" {
		return nil
	}
	if c.SAMLMetadataFile != "" {
		return errors.New("must not be set together with SAML_METADATA_FILE")
	}
	parsed, err := url.Parse(c.SAMLMetadataURL)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" || parsed.User != nil || parsed.Fragment != "" {
		return errors.New("must be an address such as https://id.example.com/metadata")
	}
	if address := net.ParseIP(parsed.Hostname()); parsed.Scheme == "http" && parsed.Hostname() != "localhost" && (address == nil || !address.IsLoopback()) {
		return errors.New("must begin with https://: who changes the metadata can sign in as anybody")
	}
	return nil
}

func checkEntityID(id string) error {
	if len(id) > maxEntityID || strings.ContainsFunc(id, unicode.IsSpace) {
		return fmt.Errorf("must be a URI of at most %d bytes, such as https://magpie.example.com", maxEntityID)
	}
	return nil
}
