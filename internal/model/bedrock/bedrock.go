// Package bedrock calls models in Amazon Bedrock with AWS's own client library: signatures, credentials by its default
// chain, and errors as package provider has them.
//
// Allowed imports: AWS's client library, internal/model/llm/provider.
package bedrock

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/smithy-go"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// A Client calls models in a region. Credentials are looked up by the first call, so that a process starts without them. It
// is safe for concurrent use.
type Client struct {
	region, endpoint string
	http             *http.Client

	mu      sync.Mutex
	runtime *bedrockruntime.Client
}

// New returns a client. endpoint replaces the address of the region, such as one in a private network; "" for none.
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
	settings, err := config.LoadDefaultConfig(ctx, config.WithRegion(c.region), config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }))
	if err != nil {
		return nil, noCredentials(op)
	}
	c.runtime = bedrockruntime.NewFromConfig(settings, func(o *bedrockruntime.Options) {
		o.HTTPClient = &provider.Doer{Client: c.http}
		if c.endpoint != "" {
			o.BaseEndpoint = &c.endpoint
		}
	})
	return c.runtime, nil
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
	case errors.As(err, &api):
		status := 0
		if errors.As(err, &response) {
			status = response.HTTPStatusCode()
		}
		return provider.FromResponse(op, status, names(api.ErrorCode()), api.ErrorMessage(), note, "")
	case ctx.Err() == nil && strings.Contains(err.Error(), "credentials"):
		return noCredentials(op)
	}
	return provider.Classify(ctx, op, err, note, "")
}

// names returns the general names of AWS's names of failures, which streams have without a status.
func names(code string) string {
	switch code {
	case "ThrottlingException", "throttlingException":
		return code + " rate_limit"
	case "ValidationException", "validationException":
		return code + " invalid_request"
	}
	return code
}

// noCredentials leaves out the cause, whose text may have parts of the credentials.
func noCredentials(op string) error { return refusal(op, "there are no AWS credentials") }

func refusal(op, message string) error {
	return &provider.Error{
		Kind: provider.KindAuth, Op: op, Message: message,
		Advice: "AWS credentials are missing or not valid: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role that may call Bedrock.",
	}
}
