package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/magpie-search/magpie/internal/apierr"
)

const offlineAccess = "offline_access"

// discover finds the authorization server of the server (RFC 9728, RFC 8414), and the
// client that it knows. before is the person's grant, if there was one.
func (a *Authorizer) discover(ctx context.Context, c challenge, before Grant) (Flow, error) {
	resource, err := a.resource(ctx, c)
	if err != nil {
		return Flow{}, a.undiscovered(err)
	}
	legacy := len(resource.AuthorizationServers) == 0
	issuer := ""
	if legacy {
		// Servers of the protocol's version of March 2025 are their own authorization
		// servers and may have no metadata.
		address, err := url.Parse(a.opt.URL)
		if err != nil {
			return Flow{}, a.undiscovered(err)
		}
		issuer = address.Scheme + "://" + address.Host
	} else {
		issuer = resource.AuthorizationServers[0]
	}
	if !safeURL(issuer) {
		return Flow{}, a.undiscovered(errors.New("the authorization server is not reached by https"))
	}
	server, err := auth.GetAuthServerMetadata(ctx, issuer, a.opt.HTTP)
	switch {
	case err != nil:
		return Flow{}, a.undiscovered(err)
	case server == nil && !legacy:
		return Flow{}, a.undiscovered(errors.New("the authorization server has no metadata"))
	case server == nil:
		server = &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register",
		}
	}
	if !safeURL(server.AuthorizationEndpoint) || !safeURL(server.TokenEndpoint) {
		return Flow{}, a.undiscovered(errors.New("an endpoint of the authorization server is not reached by https"))
	}
	flow := Flow{
		Grant: Grant{
			Server: a.opt.URL, Issuer: server.Issuer, Resource: resource.Resource, TokenURL: server.TokenEndpoint, RedirectURL: a.opt.RedirectURL,
			Scopes: scopes(c, resource, server, before),
		},
		AuthorizationURL: server.AuthorizationEndpoint, Issued: server.AuthorizationResponseIssParameterSupported,
	}
	if err := a.identify(ctx, server, before, &flow.Grant); err != nil {
		return Flow{}, err
	}
	return flow, nil
}

func (a *Authorizer) undiscovered(err error) error {
	var safe *apierr.Error
	if errors.As(err, &safe) {
		return err
	}
	return &apierr.Error{
		Code: apierr.Unavailable, Message: a.opt.Server + " asks for authorization, but its authorization server cannot be used.", Op: "discover", Cause: err,
	}
}

// safeURL reports whether an address is https, or http at this machine.
func safeURL(text string) bool {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || address.User != nil {
		return false
	}
	ip, err := netip.ParseAddr(address.Hostname())
	local := address.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	return address.Scheme == "https" || address.Scheme == "http" && local
}

// scopes returns the scopes to ask for: those of the challenge, else those of the
// resource; with the ones that were granted before by the same server, so that a
// person who adds a permission keeps the others.
func scopes(c challenge, resource *oauthex.ProtectedResourceMetadata, server *oauthex.AuthServerMeta, before Grant) []string {
	wanted := slices.Clone(c.scopes)
	if len(wanted) == 0 {
		wanted = slices.Clone(resource.ScopesSupported)
	}
	if slices.Contains(server.ScopesSupported, offlineAccess) {
		wanted = append(wanted, offlineAccess)
	}
	if before.Issuer == server.Issuer {
		wanted = append(slices.Clone(before.Scopes), wanted...)
	}
	var all []string
	for _, scope := range wanted {
		if !slices.Contains(all, scope) && len(all) < 100 && len(scope) <= 200 {
			all = append(all, scope)
		}
	}
	return all
}

// resource returns the metadata of the server as a resource. Without any, it has no
// authorization servers.
func (a *Authorizer) resource(ctx context.Context, c challenge) (*oauthex.ProtectedResourceMetadata, error) {
	server, err := url.Parse(a.opt.URL)
	if err != nil {
		return nil, fmt.Errorf("parse the address: %w", err)
	}
	root := url.URL{Scheme: server.Scheme, Host: server.Host}
	var places []string
	if c.metadataURL != "" {
		places = append(places, c.metadataURL)
	}
	if trimmed := strings.Trim(server.Path, "/"); trimmed != "" {
		places = append(places, root.String()+"/.well-known/oauth-protected-resource/"+trimmed)
	}
	places = append(places, root.String()+"/.well-known/oauth-protected-resource")
	for _, place := range places {
		found, err := a.resourceAt(ctx, place)
		if err != nil {
			return nil, err
		}
		if found == nil {
			continue
		}
		if !covers(found.Resource, server) {
			return nil, errors.New("the metadata is that of another resource")
		}
		if len(found.AuthorizationServers) == 0 {
			return nil, errors.New("the metadata names no authorization server")
		}
		return found, nil
	}
	return &oauthex.ProtectedResourceMetadata{Resource: a.opt.URL}, nil
}

// covers reports whether a resource is the server, or the part of its host that the
// server is in.
func covers(resource string, server *url.URL) bool {
	address, err := url.Parse(resource)
	if err != nil || !strings.EqualFold(address.Scheme, server.Scheme) || !strings.EqualFold(address.Host, server.Host) || address.User != nil {
		return false
	}
	above, own := path.Clean("/"+address.Path), path.Clean("/"+server.Path)
	return above == "/" || own == above || strings.HasPrefix(own, above+"/")
}

// resourceAt reads metadata. It returns nil if there is none.
func (a *Authorizer) resourceAt(ctx context.Context, place string) (*oauthex.ProtectedResourceMetadata, error) {
	if !safeURL(place) {
		return nil, errors.New("the metadata is not reached by https")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return nil, fmt.Errorf("read the metadata: %w", err)
	}
	r.Header.Set("Accept", "application/json")
	response, err := a.opt.HTTP.Do(r)
	if err != nil {
		return nil, fmt.Errorf("read the metadata: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	switch {
	case response.StatusCode >= 400 && response.StatusCode < 500:
		return nil, nil //nolint:nilnil // there is none here; the caller looks elsewhere
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("read the metadata: status %d", response.StatusCode)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the metadata: %w", err)
	}
	var found oauthex.ProtectedResourceMetadata
	if json.Unmarshal(body, &found) != nil || found.Resource == "" {
		return nil, nil //nolint:nilnil // a page for people, as some hosts answer everything with
	}
	return &found, nil
}

// identify sets the client of a grant: the registered one, the metadata document, the
// client of the grant before, or a new one.
func (a *Authorizer) identify(ctx context.Context, server *oauthex.AuthServerMeta, before Grant, g *Grant) error {
	methods := server.TokenEndpointAuthMethodsSupported
	if client := a.opt.Client; client != nil {
		if client.Issuer != "" && strings.TrimSuffix(client.Issuer, "/") != strings.TrimSuffix(server.Issuer, "/") {
			return apierr.New(apierr.Conflict, "The client of "+a.opt.Server+" was registered at another authorization server than the one that it names now.")
		}
		g.ClientID, g.ClientSecret, g.AuthMethod = client.ID, client.Secret, secretMethod(methods, client.Secret)
		return nil
	}
	if a.opt.MetadataURL != "" && server.ClientIDMetadataDocumentSupported {
		g.ClientID, g.AuthMethod = a.opt.MetadataURL, "none"
		return nil
	}
	if before.Registered && before.Issuer == server.Issuer && before.RedirectURL == a.opt.RedirectURL && before.Server == a.opt.URL {
		g.ClientID, g.ClientSecret, g.AuthMethod, g.Registered = before.ClientID, before.ClientSecret, before.AuthMethod, true
		return nil
	}
	if !safeURL(server.RegistrationEndpoint) {
		return apierr.New(apierr.InvalidRequest, a.opt.Server+" registers no clients by itself: register one there with the redirect address "+a.opt.RedirectURL+" and enter its id.")
	}
	wanted := ""
	switch {
	case slices.Contains(methods, "none"):
		wanted = "none"
	case slices.Contains(methods, "client_secret_post"):
		wanted = "client_secret_post"
	case slices.Contains(methods, "client_secret_basic"):
		wanted = "client_secret_basic"
	}
	kind := "web"
	if address, err := url.Parse(a.opt.RedirectURL); err == nil && address.Scheme == "http" {
		kind = "native"
	}
	made, err := oauthex.RegisterClient(ctx, server.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "Magpie", RedirectURIs: []string{a.opt.RedirectURL}, GrantTypes: []string{"authorization_code", "refresh_token"},
		ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: wanted, ApplicationType: kind, Scope: strings.Join(g.Scopes, " "),
	}, a.opt.HTTP)
	if err != nil {
		return &apierr.Error{
			Code: apierr.Unavailable, Message: "The authorization server of " + a.opt.Server + " did not register Magpie as a client; register one by hand and enter its id.",
			Op: "register a client", Cause: err,
		}
	}
	if made.ClientID == "" {
		return a.undiscovered(errors.New("the registered client has no id"))
	}
	g.ClientID, g.ClientSecret, g.Registered = made.ClientID, made.ClientSecret, true
	switch method := made.TokenEndpointAuthMethod; method {
	case "none", "client_secret_post", "client_secret_basic":
		g.AuthMethod = method
	default:
		g.AuthMethod = secretMethod(methods, made.ClientSecret)
	}
	if g.ClientSecret == "" {
		g.AuthMethod = "none"
	}
	return nil
}

// secretMethod returns how a client with a secret authenticates.
func secretMethod(methods []string, secret string) string {
	switch {
	case secret == "":
		return "none"
	case slices.Contains(methods, "client_secret_post") && !slices.Contains(methods, "client_secret_basic"):
		return "client_secret_post"
	default:
		return "client_secret_basic" // what every server knows (RFC 8414)
	}
}
