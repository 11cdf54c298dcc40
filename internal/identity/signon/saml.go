package signon

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/tls"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/crewjam/saml"
	"github.com/jackc/pgx/v5/pgxpool"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/identity/authn"
)

// The paths below BaseURL that are registered at a SAML identity provider.
const (
	SAMLMetadataPath = "/api/v1/auth/saml/metadata" // also the default entity ID
	SAMLACSPath      = "/api/v1/auth/saml/acs"      // where browsers post the response
)

// MaxSAMLResponse is the maximum length of a response in base64.
const MaxSAMLResponse = 512 << 10

const (
	samlStatePurpose     = "saml"
	samlCodePurpose      = "saml-code"
	samlAssertionPurpose = "saml-assertion"
)

// SAMLOptions configure SAML. Without LoadMetadata, this way to sign in is off.
type SAMLOptions struct {
	// LoadMetadata returns the metadata of the identity provider. It is called at the
	// first sign-in and every hour. FetchMetadata and ReadMetadata make such functions.
	LoadMetadata func(ctx context.Context) ([]byte, error)
	// Name is the name of the provider on a button. Default: Single sign-on.
	Name string
	// EntityID identifies this service at the provider. Default: BaseURL with
	// SAMLMetadataPath.
	EntityID string
	// KeyPair signs requests, and an RSA key decrypts assertions. Nil: requests are not
	// signed, and assertions must not be encrypted.
	KeyPair *tls.Certificate
	// EmailAttributes, NameAttributes and GroupsAttributes are names of attributes; the
	// first that an assertion has counts. Default: those of the usual providers.
	EmailAttributes, NameAttributes, GroupsAttributes []string
	// BaseURL is the address of the service. Origins are further origins that a
	// browser may be redirected to.
	BaseURL string
	Origins []string
	// Join, Guests and Attempts are as in Options.
	Join     Join
	Guests   Guests
	Attempts authn.Attempts
	Log      *slog.Logger
	Now      func() time.Time
}

// SAML signs people in by a SAML 2.0 identity provider.
type SAML struct {
	o         SAMLOptions
	flows     *oauth.Flows
	returnTo  oauth.ReturnOrigins
	admission *admission
	metadata  *samlMetadata
}

// NewSAML returns the SAML sign-on of a database. It sends no request.
func NewSAML(db *ent.Client, pool *pgxpool.Pool, flows *oauth.Flows, people People, o SAMLOptions) *SAML {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Name == "" {
		o.Name = "Single sign-on"
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	if o.EntityID == "" {
		o.EntityID = o.BaseURL + SAMLMetadataPath
	}
	o.EmailAttributes = orDefaults(o.EmailAttributes, emailAttributes)
	o.NameAttributes = orDefaults(o.NameAttributes, nameAttributes)
	o.GroupsAttributes = orDefaults(o.GroupsAttributes, groupsAttributes)
	return &SAML{
		o: o, flows: flows, returnTo: oauth.NewReturnOrigins(o.BaseURL, o.Origins),
		admission: &admission{db: db, pool: pool, people: people, guests: o.Guests, join: o.Join, provider: o.Name, now: o.Now},
		metadata:  &samlMetadata{load: o.LoadMetadata, now: o.Now, log: o.Log, name: o.Name},
	}
}

// Method returns the name of the provider, or false if there is none.
func (s *SAML) Method() (name string, ok bool) { return s.o.Name, s.o.LoadMetadata != nil }

func (s *SAML) configured() error {
	if s.o.LoadMetadata == nil {
		return apierr.New(apierr.InvalidRequest, "Sign-in by SAML is not set up here; the operator sets SAML_METADATA_URL or SAML_METADATA_FILE")
	}
	return nil
}

// serviceProvider returns the library's view of this service, with the metadata of a
// provider, which may be nil.
func (s *SAML) serviceProvider(idp *saml.EntityDescriptor) (*saml.ServiceProvider, error) {
	metadata, err := url.Parse(s.o.BaseURL + SAMLMetadataPath)
	if err != nil {
		return nil, fmt.Errorf("parse the address of the service: %w", err)
	}
	acs := *metadata
	acs.Path = strings.TrimSuffix(metadata.Path, SAMLMetadataPath) + SAMLACSPath
	sp := &saml.ServiceProvider{
		EntityID: s.o.EntityID, MetadataURL: *metadata, AcsURL: acs, IDPMetadata: idp, Clock: dsig.NewFakeClockAt(s.o.Now()),
		AuthnNameIDFormat: saml.UnspecifiedNameIDFormat, SendUnspecifiedNameIDFormat: true, MetadataOmitValidUntil: true,
		AssertionConsumerServiceBindings: []string{saml.HTTPPostBinding},
		RejectUnknownConditions:          true, RejectExpiredIDPMetadata: true, RejectSHA1Signatures: true, LimitRelayStateLength: true,
	}
	if s.o.KeyPair == nil {
		return sp, nil
	}
	signer, ok := s.o.KeyPair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key of SAML cannot sign")
	}
	sp.Key, sp.Certificate = signer, s.o.KeyPair.Leaf
	sp.SignatureMethod = dsig.ECDSASHA256SignatureMethod
	if _, ok := signer.(*rsa.PrivateKey); ok {
		sp.SignatureMethod = dsig.RSASHA256SignatureMethod
	}
	return sp, nil
}

// Metadata returns the metadata of this service as XML. It needs no provider.
func (s *SAML) Metadata() ([]byte, error) {
	if err := s.configured(); err != nil {
		return nil, err
	}
	sp, err := s.serviceProvider(nil)
	if err != nil {
		return nil, apierr.Wrap("describe this service", err)
	}
	described := sp.Metadata()
	for i := range described.SPSSODescriptors {
		described.SPSSODescriptors[i].SingleLogoutServices = nil // there is none
	}
	var out bytes.Buffer
	out.WriteString(xml.Header)
	encoder := xml.NewEncoder(&out)
	encoder.Indent("", "  ")
	if err := encoder.Encode(described); err != nil {
		return nil, apierr.Wrap("describe this service", err)
	}
	return append(out.Bytes(), '\n'), nil
}

// pendingSAML is a sign-in that waits for the response of the provider.
type pendingSAML struct {
	pendingSignIn
	Request string `json:"request"` // the ID of the request
}

// Start starts a sign-in, as SignOn.Start does.
func (s *SAML) Start(ctx context.Context, returnTo string) (Authorization, error) {
	return s.start(ctx, returnTo, false)
}

// StartPage is Start for a page without scripts, as SignOn.StartPage is.
func (s *SAML) StartPage(ctx context.Context, returnTo string) (address, binding string, err error) {
	begun, err := s.start(ctx, returnTo, true)
	return begun.URL, begun.Binding, err
}

func (s *SAML) start(ctx context.Context, returnTo string, query bool) (Authorization, error) {
	if err := limitStarts(ctx, s.o.Attempts); err != nil {
		return Authorization{}, err
	}
	if err := s.configured(); err != nil {
		return Authorization{}, err
	}
	returnTo, err := s.returnTo.Check("redirectUrl", returnTo)
	if err != nil {
		return Authorization{}, err
	}
	idp, err := s.metadata.get(ctx, 0)
	if err != nil {
		return Authorization{}, err
	}
	sp, err := s.serviceProvider(idp)
	if err != nil {
		return Authorization{}, apierr.Wrap("begin a sign-in", err)
	}
	request, err := sp.MakeAuthenticationRequest(sp.GetSSOBindingLocation(saml.HTTPRedirectBinding), saml.HTTPRedirectBinding, saml.HTTPPostBinding)
	if err != nil {
		return Authorization{}, apierr.Wrap("begin a sign-in", err)
	}
	binding := oauth.NewToken()
	flow := pendingSAML{pendingSignIn: pendingSignIn{ReturnTo: returnTo, Binding: hash(binding), Query: query}, Request: request.ID}
	state, expires, err := s.flows.Put(ctx, samlStatePurpose, StateLifetime, flow)
	if err != nil {
		return Authorization{}, apierr.Wrap("begin a sign-in", err)
	}
	address, err := request.Redirect(state, sp)
	if err != nil {
		return Authorization{}, apierr.Wrap("begin a sign-in", err)
	}
	return Authorization{URL: address.String(), Binding: binding, ExpiresAt: expires}, nil
}

// SAMLResponse is what the provider lets the browser post: the response in base64,
// and the RelayState, which is the state of the start.
type SAMLResponse struct{ Response, RelayState string }

// HandleResponse verifies the provider's response. A wrong RelayState is an
// invalid_request without a redirect: responses that answer no request are refused.
// Later failures are reported to the ReturnTo address if there is one, and else as an
// error.
func (s *SAML) HandleResponse(ctx context.Context, r SAMLResponse) (CallbackResult, error) {
	if err := s.configured(); err != nil {
		return CallbackResult{}, err
	}
	var flow pendingSAML
	switch err := s.flows.Take(ctx, samlStatePurpose, r.RelayState, &flow); {
	case errors.Is(err, oauth.ErrNoFlow):
		return CallbackResult{}, apierr.Invalid("RelayState", "is unknown, was used before or has expired; begin the sign-in at this service again")
	case err != nil:
		return CallbackResult{}, apierr.Wrap("end a sign-in", err)
	}
	code, err := s.handleResponse(ctx, flow, r.Response)
	if err != nil {
		s.o.Log.InfoContext(ctx, "saml sign-in failed", slog.Any("error", err))
		failed := apierr.From(err)
		if flow.ReturnTo == "" || failed.Code == apierr.Internal {
			return CallbackResult{}, err
		}
		return flow.result(url.Values{"error": {string(failed.Code)}, "error_description": {failed.Message}}), nil
	}
	if flow.ReturnTo != "" {
		return flow.result(url.Values{"code": {code}}), nil
	}
	return CallbackResult{Code: code}, nil
}

// handleResponse verifies the response and stores the identity for Finish.
func (s *SAML) handleResponse(ctx context.Context, flow pendingSAML, response string) (code string, err error) {
	raw, err := decodeResponse(response)
	if err != nil {
		return "", err
	}
	assertion, err := s.verify(ctx, raw, flow.Request)
	if err != nil {
		return "", err
	}
	who, err := s.identity(assertion)
	if err != nil {
		return "", err
	}
	code, _, err = s.flows.Put(ctx, samlCodePurpose, CodeLifetime, verifiedIdentity{identity: who, Binding: flow.Binding})
	return code, apierr.Wrap("keep the sign-in", err)
}

// verify checks a response. The keys of the provider may have changed, so a response without
// a right signature makes it read the metadata again.
func (s *SAML) verify(ctx context.Context, raw []byte, request string) (*saml.Assertion, error) {
	encrypted := isEncrypted(raw)
	if encrypted && !s.decrypts() {
		return nil, errBadResponse("it is encrypted, and this service has no RSA key; the operator has to look at SAML_CERTIFICATE and SAML_KEY", nil)
	}
	assertion, err := s.verifyOnce(ctx, raw, request)
	if cause := privateError(err); encrypted && isUnproven(cause) {
		// One reason for all that can happen before a signature was found right: the answers
		// to changed ciphertexts must not say which of them decrypt to XML. The log has the cause.
		err = errBadResponse(unprovenReason, cause)
	}
	return assertion, s.responseError(err)
}

// decrypts reports whether there is a key that decrypts assertions.
func (s *SAML) decrypts() bool {
	if s.o.KeyPair == nil {
		return false
	}
	_, ok := s.o.KeyPair.PrivateKey.(*rsa.PrivateKey)
	return ok
}

// verifyOnce is verify without the conversion of errors.
func (s *SAML) verifyOnce(ctx context.Context, raw []byte, request string) (*saml.Assertion, error) {
	idp, err := s.metadata.get(ctx, 0)
	if err != nil {
		return nil, err
	}
	assertion, err := s.parse(ctx, idp, raw, request)
	if err == nil || !isUnproven(privateError(err)) {
		return assertion, err
	}
	// For whatever reason there is no proof: how long an answer takes must not tell, either.
	renewed, loadErr := s.metadata.get(ctx, metadataRetryAge)
	if loadErr != nil || renewed == idp {
		return nil, err
	}
	return s.parse(ctx, renewed, raw, request)
}

func (s *SAML) parse(ctx context.Context, idp *saml.EntityDescriptor, raw []byte, request string) (*saml.Assertion, error) {
	sp, err := s.serviceProvider(idp)
	if err != nil {
		return nil, err
	}
	sp.ReplayCache = replays{ctx: ctx, flows: s.flows}
	return sp.ParseXMLResponse(raw, []string{request}, sp.AcsURL)
}

// Finish opens the session of a sign-in, as SignOn.Finish does.
func (s *SAML) Finish(ctx context.Context, code, binding string) (authn.Tokens, error) {
	if err := s.configured(); err != nil {
		return authn.Tokens{}, err
	}
	who, err := takeIdentity(ctx, s.flows, samlCodePurpose, code, binding)
	if err != nil {
		return authn.Tokens{}, err
	}
	return s.admission.openSession(ctx, who)
}

// replays records the IDs of assertions in PostgreSQL, for all nodes.
type replays struct {
	ctx   context.Context //nolint:containedctx // the library's interface has none; a value lives as long as a call
	flows *oauth.Flows
}

// Consume implements saml.AssertionReplayCache.
func (r replays) Consume(id string, until time.Time) error {
	first, err := r.flows.Once(r.ctx, samlAssertionPurpose, id, until)
	if err == nil && !first {
		err = saml.ErrAssertionReplayed
	}
	return err
}

// privateError returns the error of the library with its cause, which its own text
// leaves out.
func privateError(err error) error {
	var invalid *saml.InvalidResponseError
	if errors.As(err, &invalid) {
		return invalid.PrivateErr
	}
	return err
}

// unsignedText is the text of the library's error for a response in which neither the
// response nor the assertion is signed. It has no exported value.
const unsignedText = "signature element not present"

// isUnsigned reports whether the cause of an error of the library is that there is no
// valid signature.
func isUnsigned(cause error) bool {
	return cause != nil && (errors.Is(cause, saml.ErrInvalidSignature) || cause.Error() == unsignedText)
}

// unprovenReason is why an encrypted response, or one with an encrypted part, is refused.
const unprovenReason = "it cannot be decrypted, or what is in it has no valid signature of the provider"

// isUnproven reports whether the cause of an error of the library came before a signature was
// found right.
func isUnproven(cause error) bool {
	return isUnsigned(cause) || errors.Is(cause, saml.ErrDecryptionFailed)
}

// responseError converts an error of the library.
func (s *SAML) responseError(err error) error {
	cause := privateError(err)
	if cause == nil {
		return nil
	}
	var status saml.ErrBadStatus
	if errors.As(cause, &status) {
		return apierr.New(apierr.Forbidden, s.o.Name+" refused the sign-in: "+line(status.Status, 128))
	}
	if reason := reasonOf(cause); reason != "" {
		return errBadResponse(reason, cause)
	}
	if code := apierr.From(cause).Code; code != apierr.Internal {
		return cause
	}
	if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return apierr.Wrap("verify the response", cause)
	}
	return errBadResponse("it is malformed", cause)
}

// reasonOf returns why the library refused a response, or "" if it does not say.
func reasonOf(cause error) string {
	switch {
	case errors.Is(cause, saml.ErrAssertionReplayed):
		return "it was used before"
	case errors.Is(cause, saml.ErrCertificateNotValidNow):
		return "the provider's certificate has expired; the operator has to renew the metadata"
	case errors.Is(cause, saml.ErrDecryptionFailed):
		return unprovenReason
	case isUnsigned(cause):
		return "it has no valid signature of the provider"
	case errors.Is(cause, saml.ErrRequestIDMismatch):
		return "it answers another request"
	case errors.Is(cause, saml.ErrAudienceMismatch):
		return "it is for another service; the operator has to look at SAML_ENTITY_ID"
	case errors.Is(cause, saml.ErrDestinationMismatch):
		return "it is for another address; the operator has to look at BASE_URL"
	case errors.Is(cause, saml.ErrIssuerMismatch):
		return "it is of another provider"
	case errors.Is(cause, saml.ErrExpired):
		return "it has expired; the clocks of the provider and of this service may differ"
	case errors.Is(cause, saml.ErrNotYetValid):
		return "it is not valid yet; the clocks of the provider and of this service may differ"
	case errors.Is(cause, saml.ErrUnsupported):
		return "it uses something that is not supported, such as SHA-1"
	case errors.Is(cause, saml.ErrMissingElement):
		return "something is missing in it"
	case errors.Is(cause, saml.ErrMalformedMessage):
		return "it is malformed"
	}
	return ""
}

// errBadResponse returns the error for a response that is not valid. The library's
// texts may quote the response, so the log gets a bounded line.
func errBadResponse(reason string, cause error) error {
	if cause != nil {
		cause = errors.New(line(cause.Error(), 300))
	}
	return &apierr.Error{Code: apierr.InvalidCredentials, Message: "The response of the provider is refused: " + reason, Op: "saml sign-in", Cause: cause}
}

func orDefaults(given, defaults []string) []string {
	if len(given) == 0 {
		return defaults
	}
	return given
}

// FetchMetadata returns a function that fetches metadata from an address.
func FetchMetadata(client *http.Client, address string) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) { return fetchMetadata(ctx, client, address) }
}
