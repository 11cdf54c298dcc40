package signon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/crewjam/saml"
	"github.com/crewjam/saml/samlsp"

	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	metadataAge      = time.Hour   // after which metadata is read again
	metadataRetryAge = time.Minute // the same after a wrong signature
	maxMetadata      = 4 << 20     // bytes
)

// samlMetadata is the metadata of the provider, read at its first use.
type samlMetadata struct {
	load func(ctx context.Context) ([]byte, error)
	now  func() time.Time
	log  *slog.Logger
	name string

	mu     sync.Mutex
	entity *saml.EntityDescriptor
	read   time.Time
	failed time.Time
	err    error
}

// get returns the metadata. It reads it again if it is older than age; zero means
// metadataAge. If that fails, it returns what it has. The error is unavailable if it
// has nothing.
func (m *samlMetadata) get(ctx context.Context, age time.Duration) (*saml.EntityDescriptor, error) {
	if age == 0 {
		age = metadataAge
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entity != nil && m.now().Sub(m.read) < age {
		return m.entity, nil
	}
	if m.err == nil || m.now().Sub(m.failed) >= discoveryRetryDelay {
		ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
		defer cancel()
		entity, err := m.parse(ctx)
		if err == nil {
			m.entity, m.read, m.err = entity, m.now(), nil
			return entity, nil
		}
		m.log.WarnContext(ctx, "saml metadata not read", slog.Any("error", err))
		if !errors.Is(err, context.Canceled) {
			m.failed, m.err = m.now(), err
		}
	}
	if m.entity != nil {
		return m.entity, nil
	}
	return nil, &apierr.Error{
		Code: apierr.Unavailable, Message: "The metadata of " + m.name + " cannot be read just now; try again, or let the operator look at SAML_METADATA_URL or SAML_METADATA_FILE",
		RetryAfter: discoveryRetryDelay, Op: "read the SAML metadata", Cause: m.err,
	}
}

// parse reads the metadata and checks that people can be signed in with it.
func (m *samlMetadata) parse(ctx context.Context) (*saml.EntityDescriptor, error) {
	raw, err := m.load(ctx)
	if err != nil {
		return nil, err
	}
	entity, err := samlsp.ParseMetadata(raw)
	if err != nil {
		return nil, fmt.Errorf("parse the metadata: %w", err)
	}
	sp := &saml.ServiceProvider{IDPMetadata: entity}
	signs := false
	for _, role := range entity.IDPSSODescriptors {
		for _, key := range role.KeyDescriptors {
			signs = signs || key.Use != "encryption" && len(key.KeyInfo.X509Data.X509Certificates) > 0
		}
	}
	switch {
	case entity.EntityID == "" || len(entity.EntityID) > 1024:
		return nil, errors.New("the metadata has no entity ID, or a too long one")
	case !signs:
		return nil, errors.New("the metadata has no identity provider with a certificate for signatures")
	case sp.GetSSOBindingLocation(saml.HTTPRedirectBinding) == "":
		return nil, errors.New("the metadata has no SingleSignOnService with the binding HTTP-Redirect")
	}
	return entity, nil
}

// ReadMetadata returns a function that reads metadata from a file.
func ReadMetadata(path string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		f, err := os.Open(path) //nolint:gosec // the operator's setting
		if err != nil {
			return nil, fmt.Errorf("open the metadata: %w", err)
		}
		defer func() { _ = f.Close() }()
		return readMetadata(f)
	}
}

func fetchMetadata(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("fetch the metadata: %w", err)
	}
	request.Header.Set("Accept", "application/samlmetadata+xml, application/xml;q=0.9, text/xml;q=0.8")
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetch the metadata: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch the metadata: the server answered %d", response.StatusCode)
	}
	return readMetadata(response.Body)
}

func readMetadata(from io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(from, maxMetadata+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the metadata: %w", err)
	case len(raw) > maxMetadata:
		return nil, fmt.Errorf("the metadata has more than %d bytes", maxMetadata)
	}
	return raw, nil
}
