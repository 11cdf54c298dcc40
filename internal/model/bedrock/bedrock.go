// Package bedrock calls models in Amazon Bedrock with AWS's own client library: signatures, credentials by its default
// chain, certificates of AWS_CA_BUNDLE, and errors as package provider has them.
//
// Allowed imports: AWS's client library, internal/model/llm/provider.
package bedrock

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// A Client calls models in a region. Credentials are looked up by the first call, so that a process starts without them. It
// is safe for concurrent use.
type Client struct {
	region, endpoint string

	mu      sync.Mutex
	http    *http.Client // the one of New until AWS_CA_BUNDLE was read
	runtime *bedrockruntime.Client
}

// New returns a client. endpoint replaces the address of the region, such as one in a private network; with "" the library
// finds the address, with what AWS's variables and files say about it.
func New(region, endpoint string, client *http.Client) *Client {
	return &Client{region: region, endpoint: endpoint, http: client}
}

// Runtime returns the client of the library. Its calls are not retried and write the Note of their context. Errors are
// *provider.Error.
func (c *Client) Runtime(ctx context.Context, op string) (*bedrockruntime.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runtime != nil {
		return c.runtime, nil
	}
	settings, err := config.LoadDefaultConfig(ctx, config.WithRegion(c.region), config.WithLogger(logging.Nop{}),
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }))
	if err != nil {
		return nil, unusable(op, err)
	}
	if roots := rootsOf(settings.HTTPClient); roots != nil {
		trusting, ok := provider.TrustOnly(c.http, roots)
		if !ok {
			return nil, refusal(op, "the certificates of AWS_CA_BUNDLE cannot be used with this HTTP client", adviceBundle)
		}
		c.http.CloseIdleConnections()
		c.http = trusting
	}
	c.runtime = bedrockruntime.NewFromConfig(settings, func(o *bedrockruntime.Options) {
		o.HTTPClient = &provider.Doer{Client: c.http}
		if c.endpoint != "" {
			o.BaseEndpoint = &c.endpoint
		}
	})
	return c.runtime, nil
}

// Close ends idle connections.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.http.CloseIdleConnections()
}

// rootsOf returns the certificates of AWS_CA_BUNDLE or of ca_bundle in a profile, which the library puts into a client of
// its own; nil if neither is set.
func rootsOf(client aws.HTTPClient) *x509.CertPool {
	buildable, ok := client.(*awshttp.BuildableClient)
	if !ok {
		return nil
	}
	if security := buildable.GetTransport().TLSClientConfig; security != nil {
		return security.RootCAs
	}
	return nil
}

// Invoke calls a model with a JSON body and returns the response.
func (c *Client) Invoke(ctx context.Context, op, model string, body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, provider.FromResponse(op, http.StatusBadRequest, "", "the request cannot be written", &provider.Note{}, "")
	}
	noted, note := provider.WithNote(ctx)
	runtime, err := c.Runtime(noted, op)
	if err != nil {
		return nil, err
	}
	media := "application/json"
	answer, err := runtime.InvokeModel(noted, &bedrockruntime.InvokeModelInput{ModelId: &model, Body: encoded, ContentType: &media, Accept: &media})
	if err != nil {
		return nil, Failure(noted, op, err, note)
	}
	return answer.Body, nil
}

// Failure returns the *provider.Error of an error of the library. note is what the transport recorded.
func Failure(ctx context.Context, op string, err error, note *provider.Note) error {
	var api smithy.APIError
	var response *awshttp.ResponseError
	switch {
	case ctx.Err() == nil && isIdentity(err):
		return refusal(op, "there are no valid AWS credentials", adviceCredentials)
	case errors.As(err, &api):
		status := 0
		if errors.As(err, &response) {
			status = response.HTTPStatusCode()
		}
		return provider.FromResponse(op, status, names(api.ErrorCode()), api.ErrorMessage(), note, "")
	case errors.As(err, &response) && response.HTTPStatusCode() >= http.StatusBadRequest: // of a proxy, such as a page
		return provider.FromResponse(op, response.HTTPStatusCode(), "", http.StatusText(response.HTTPStatusCode()), note, "")
	}
	return provider.Classify(ctx, op, err, note, "")
}

// isIdentity reports whether the library has failed to get credentials, for which it has no type of errors. Services that
// give credentials have errors of their own, which are none of Bedrock.
func isIdentity(err error) bool { return strings.Contains(err.Error(), "get identity: ") }

// names returns the general names of AWS's names of failures, which streams have without a status, and some responses with
// one that says something else.
func names(code string) string {
	switch code {
	case "ThrottlingException", "throttlingException", "ServiceQuotaExceededException":
		return code + " rate_limit"
	case "ValidationException", "validationException":
		return code + " invalid_request"
	case "ModelErrorException", "modelStreamErrorException":
		return code + " server_error"
	}
	return code
}

// What to do about the environment of the library.
const (
	adviceCredentials = "AWS credentials are missing or not valid: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_BEARER_TOKEN_BEDROCK, a profile, or a role that may call Bedrock."
	adviceProfile     = "AWS_PROFILE names a profile that AWS's files do not have: correct AWS_PROFILE, AWS_CONFIG_FILE or AWS_SHARED_CREDENTIALS_FILE."
	adviceBundle      = "The certificates of AWS_CA_BUNDLE cannot be read: set it to a file with certificates in PEM."
	adviceSettings    = "AWS's settings are not valid: check the variables that begin with AWS_, and AWS's files."
)

// unusable returns the error of settings that the library cannot read. It leaves out the cause, whose text may have parts of
// the credentials.
func unusable(op string, err error) error {
	var profile config.SharedConfigProfileNotExistError
	var file *fs.PathError
	switch {
	case errors.As(err, &profile):
		return refusal(op, "there is no such AWS profile", adviceProfile)
	case errors.As(err, &file), strings.Contains(err.Error(), "CA bundle"):
		return refusal(op, "the certificates of AWS_CA_BUNDLE cannot be read", adviceBundle)
	}
	return refusal(op, "AWS's settings are not valid", adviceSettings)
}

func refusal(op, message, advice string) error {
	return &provider.Error{Kind: provider.KindAuth, Op: op, Message: message, Advice: advice}
}
