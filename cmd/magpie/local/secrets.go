package local

import (
	"crypto/rand"
	"encoding/base64"

	"github.com/google/uuid"
)

// AdminEmail is the email address of the first owner of a local Magpie.
const AdminEmail = "admin@magpie.local"

// Secrets has the keys and passwords of a data folder. Only the owner can read the
// file.
type Secrets struct {
	SessionKey    string `json:"session_key"` // the value of SESSION_KEY
	SealingKeys   string `json:"secret_keys"` // the value of SECRET_KEYS
	AdminEmail    string `json:"admin_email"`
	AdminPassword string `json:"admin_password"`
	// PublishableKey and SecretKey are the pair of keys of the demo collection.
	PublishableKey string    `json:"publishable_key,omitempty"`
	SecretKey      string    `json:"secret_key,omitempty"`
	KeyCollection  uuid.UUID `json:"key_collection,omitzero"`
}

// Secrets returns the secrets of the folder, and creates them when they are missing.
func (f *Folder) Secrets() (Secrets, error) {
	var s Secrets
	found, err := f.read(secretsFile, &s)
	if err != nil || found {
		return s, err
	}
	s = Secrets{
		SessionKey:    random32(),
		SealingKeys:   "local:" + random32(),
		AdminEmail:    AdminEmail,
		AdminPassword: rand.Text(),
	}
	return s, f.write(secretsFile, s)
}

// SaveSecrets replaces the secrets.
func (f *Folder) SaveSecrets(s Secrets) error { return f.write(secretsFile, s) }

func random32() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // documented never to fail
	return base64.StdEncoding.EncodeToString(key)
}

// Dev is the content of dev.json, which describes a running stack to users and
// scripts.
type Dev struct {
	BaseURL        string    `json:"base_url"`
	GraphQLURL     string    `json:"graphql_url"`
	AdminEmail     string    `json:"admin_email"`
	AdminPassword  string    `json:"admin_password"`
	PublishableKey string    `json:"publishable_key"`
	SecretKey      string    `json:"secret_key"`
	CollectionID   uuid.UUID `json:"collection_id"`
}

// SaveDev writes dev.json.
func (f *Folder) SaveDev(d Dev) error { return f.write(devFile, d) }

// Dev reads dev.json, and reports whether it exists.
func (f *Folder) Dev() (d Dev, found bool, err error) {
	found, err = f.read(devFile, &d)
	return d, found, err
}

// RemoveDev removes dev.json.
func (f *Folder) RemoveDev() error { return f.remove(devFile) }
