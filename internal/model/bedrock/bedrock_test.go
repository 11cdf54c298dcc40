package bedrock_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/magpie-search/magpie/internal/model/bedrock"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/testkit/cloudkeys"
)

const (
	titan  = "amazon.titan-embed-text-v2:0"
	answer = `{"embedding":[0.5,0.25],"embeddingsByType":{"float":[0.5,0.25]},"inputTextTokenCount":3}`
)

// serve returns a client whose endpoint is a stand-in.
func serve(t *testing.T, handler http.HandlerFunc) *bedrock.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return open(t, server.URL)
}

func open(t *testing.T, endpoint string) *bedrock.Client {
	t.Helper()
	client := bedrock.New("eu-central-1", endpoint, provider.NewHTTPClient(time.Second, time.Second))
	t.Cleanup(client.Close)
	return client
}

func invoke(t *testing.T, client *bedrock.Client) ([]byte, error) {
	t.Helper()
	return client.Invoke(t.Context(), "embeddings", titan, map[string]any{"inputText": "a", "dimensions": 256})
}

func TestARequestIsSigned(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.RequestURI() != "/model/amazon.titan-embed-text-v2%3A0/invoke" || string(body) != `{"dimensions":256,"inputText":"a"}` {
			t.Errorf("%s %s %s, error %v", r.Method, r.URL.RequestURI(), body, err)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json", "X-Amz-Date": time.Now().UTC().Format("200601"),
			"Authorization": "AWS4-HMAC-SHA256 Credential=" + cloudkeys.AccessKey + "/" + time.Now().UTC().Format("200601"),
		} {
			if got := r.Header.Get(name); !strings.HasPrefix(got, want) {
				t.Errorf("the header %s is %q, want %q", name, got, want)
			}
		}
		for _, part := range []string{"/eu-central-1/bedrock/aws4_request, SignedHeaders=", "host", "content-type", "x-amz-date", ", Signature="} {
			if got := r.Header.Get("Authorization"); !strings.Contains(got, part) {
				t.Errorf("the signature %q lacks %q", got, part)
			}
		}
		if strings.Contains(r.Header.Get("Authorization"), "secret") {
			t.Error("the secret key was sent")
		}
		_, _ = io.WriteString(w, answer)
	})
	for range 2 {
		if got, err := invoke(t, client); err != nil || string(got) != answer {
			t.Errorf("answer %s, error %v", got, err)
		}
	}
}

func TestFailuresOfTheServiceAreUnderstood(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]struct {
		status        int
		code, message string
		kind          provider.Kind
		after         time.Duration
		retryAfter    string
		body          string
	}{
		"throttled":   {status: 429, code: "ThrottlingException", message: "Too many requests, please wait before trying again.", kind: provider.KindRateLimited, retryAfter: "7", after: 7 * time.Second},
		"quota":       {status: 400, code: "ServiceQuotaExceededException", message: "Your request exceeds the service quota for your account.", kind: provider.KindRateLimited},
		"no access":   {status: 403, code: "AccessDeniedException", message: "You don't have access to the model with the specified model ID.", kind: provider.KindAuth},
		"a wrong key": {status: 403, code: "UnrecognizedClientException", message: "The security token included in the request is invalid.", kind: provider.KindAuth},
		"expired":     {status: 403, code: "ExpiredTokenException", message: "The security token included in the request is expired", kind: provider.KindAuth},
		"not valid":   {status: 400, code: "ValidationException", message: "Malformed input request: #: extraneous key [dimension] is not permitted", kind: provider.KindInvalid},
		"too long":    {status: 400, code: "ValidationException", message: "Too many input tokens. Max input tokens: 8192, request input token count: 9001", kind: provider.KindContextLength},
		"no model":    {status: 404, code: "ResourceNotFoundException", message: "Could not resolve the foundation model from the provided model identifier.", kind: provider.KindInvalid},
		"not ready":   {status: 429, code: "ModelNotReadyException", message: "Model is not ready for inference. Wait and try your request again.", kind: provider.KindRateLimited},
		"slow":        {status: 408, code: "ModelTimeoutException", message: "The request took too long to process.", kind: provider.KindTimeout},
		"failed":      {status: 424, code: "ModelErrorException", message: "The system encountered an unexpected error during processing.", kind: provider.KindUnavailable},
		"broken":      {status: 500, code: "InternalServerException", message: "An internal server error occurred. Try your request again.", kind: provider.KindUnavailable},
		"away":        {status: 503, code: "ServiceUnavailableException", message: "Bedrock is unable to process your request.", kind: provider.KindUnavailable},
		"a proxy":     {status: 502, body: "<html>Bad gateway</html>", kind: provider.KindUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if step.code != "" {
					w.Header().Set("X-Amzn-Errortype", step.code+":http://internal.amazon.com/coral/com.amazon.bedrock/")
					content, _ := json.Marshal(map[string]string{"message": step.message}) // strings cannot fail
					step.body = string(content)
				}
				if step.retryAfter != "" {
					w.Header().Set("Retry-After", step.retryAfter)
				}
				w.WriteHeader(step.status)
				_, _ = io.WriteString(w, step.body)
			})
			_, err := invoke(t, client)
			var failure *provider.Error
			if !errors.As(err, &failure) || failure.Kind != step.kind || failure.Status != step.status || failure.Message == "" || !strings.Contains(failure.Message, step.message) ||
				failure.RetryAfter() != step.after {
				t.Errorf("error %#v, want the kind %s and %v", err, step.kind, step.after)
			}
		})
	}
}

func TestAnAnswerThatBreaksOffIsAFailure(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000") // more than follows
		_, _ = io.WriteString(w, answer[:20])
	})
	if got, err := invoke(t, client); !provider.IsKind(err, provider.KindInterrupted) {
		t.Errorf("answer %s, error %v", got, err)
	}
}

// frame returns an event of a stream in AWS's binary encoding.
func frame(kind, body string) []byte {
	var b bytes.Buffer
	_ = eventstream.NewEncoder().Encode(&b, eventstream.Message{Payload: []byte(body), Headers: eventstream.Headers{ // a buffer cannot fail
		{Name: ":message-type", Value: eventstream.StringValue("event")}, {Name: ":event-type", Value: eventstream.StringValue(kind)},
		{Name: ":content-type", Value: eventstream.StringValue("application/json")},
	}})
	return b.Bytes()
}

func TestADamagedStreamIsAFailure(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		_, _ = w.Write(frame("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"Let me "}}`))
		damaged := frame("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"look."}}`)
		damaged[len(damaged)-6] ^= 1
		_, _ = w.Write(damaged)
	})
	ctx, note := provider.WithNote(t.Context())
	runtime, err := client.Runtime(ctx, "chat")
	if err != nil {
		t.Fatal(err)
	}
	stream, err := runtime.ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: new("m"), Messages: []types.Message{
		{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "Weather?"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.GetStream().Close() }() // it has failed
	events := 0
	for range stream.GetStream().Events() {
		events++
	}
	if err = stream.GetStream().Err(); err == nil || events != 1 {
		t.Fatalf("%d events, error %v", events, err)
	}
	if err := bedrock.Failure(ctx, "chat", err, note); !provider.IsKind(err, provider.KindInvalid) {
		t.Errorf("error %v", err)
	}
}

// The following tests change the environment, which the library reads, so that they are not parallel.

// never returns a client whose endpoint must not be asked.
func never(t *testing.T) *bedrock.Client {
	return serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the service was asked") })
}

func refused(t *testing.T, client *bedrock.Client, says, advice string) {
	t.Helper()
	_, err := invoke(t, client)
	var failure *provider.Error
	if !errors.As(err, &failure) || failure.Kind != provider.KindAuth || failure.Retryable() || !strings.Contains(failure.Message, says) || !strings.Contains(provider.Brief(err), advice) {
		t.Errorf("error %v (%s), want %q and %q", err, provider.Brief(err), says, advice)
	}
}

const advice = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_BEARER_TOKEN_BEDROCK, a profile, or a role"

// withoutKeys removes the keys from the environment.
func withoutKeys(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
}

func TestMissingCredentialsSayWhatToSet(t *testing.T) {
	withoutKeys(t)
	refused(t, never(t), "there are no valid AWS credentials", advice)
}

func TestAMachineWithoutARoleSaysWhatToSet(t *testing.T) {
	asked := 0
	machine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(machine.Close)
	withoutKeys(t)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", machine.URL)
	refused(t, never(t), "there are no valid AWS credentials", advice)
	if asked == 0 {
		t.Error("the machine was not asked for a role")
	}
}

func TestARoleThatIsRefusedSaysWhatToSet(t *testing.T) {
	roles := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Form.Get("Action") != "AssumeRoleWithWebIdentity" || r.Form.Get("RoleArn") != "arn:aws:iam::123456789012:role/magpie" {
			t.Errorf("%s, error %v", r.Form, err)
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredTokenException</Code><Message>Token expired: current date/time must be before the expiration date/time</Message></Error></ErrorResponse>`)
	}))
	t.Cleanup(roles.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token-1"), 0o600); err != nil {
		t.Fatal(err)
	}
	withoutKeys(t)
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token)
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/magpie")
	t.Setenv("AWS_ENDPOINT_URL_STS", roles.URL)
	refused(t, never(t), "there are no valid AWS credentials", advice)
}

// bundle writes the certificate of a server to a file.
func bundle(t *testing.T, server *httptest.Server) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bundle.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnAPIKeyOfBedrockIsUsed(t *testing.T) {
	withoutKeys(t)
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // the library sends such keys by TLS only
		if got := r.Header.Get("Authorization"); got != "Bearer bedrock-api-key-1" {
			t.Errorf("authorization %q", got)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_CA_BUNDLE", bundle(t, server))
	if _, err := invoke(t, open(t, server.URL)); err != nil {
		t.Error(err)
	}
}

func TestTheEndpointOfTheEnvironmentIsUsed(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.URL)
	if _, err := invoke(t, open(t, "")); err != nil || asked != 1 {
		t.Errorf("%d requests, error %v", asked, err)
	}
}

func TestAProfileThatDoesNotExistSaysWhatToSet(t *testing.T) {
	withoutKeys(t)
	t.Setenv("AWS_PROFILE", "search")
	refused(t, never(t), "there is no such AWS profile", "correct AWS_PROFILE, AWS_CONFIG_FILE or AWS_SHARED_CREDENTIALS_FILE")
}

func TestAProfilesKeysAreUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(path, []byte("[search]\naws_access_key_id = AKIDOFPROFILE\naws_secret_access_key = secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	withoutKeys(t)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", path)
	t.Setenv("AWS_PROFILE", "search")
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); !strings.HasPrefix(got, "AWS4-HMAC-SHA256 Credential=AKIDOFPROFILE/") {
			t.Errorf("authorization %q", got)
		}
		_, _ = io.WriteString(w, answer)
	})
	if _, err := invoke(t, client); err != nil {
		t.Error(err)
	}
}

func TestCertificatesOfTheEnvironmentAreTrusted(t *testing.T) {
	asked := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	folder := t.TempDir()
	write := func(name string, content []byte) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := invoke(t, open(t, server.URL)); !provider.IsKind(err, provider.KindUnavailable) || !strings.Contains(err.Error(), "certificate") || asked != 0 {
		t.Errorf("without the certificate: %d requests, error %v", asked, err)
	}
	t.Setenv("AWS_CA_BUNDLE", bundle(t, server))
	client := open(t, server.URL)
	for range 2 {
		if got, err := invoke(t, client); err != nil || string(got) != answer {
			t.Errorf("answer %s, error %v", got, err)
		}
	}
	if asked != 2 {
		t.Errorf("%d requests", asked)
	}
	// A client whose transport is not known cannot trust them, and says so.
	other := bedrock.New("eu-central-1", server.URL, server.Client())
	t.Cleanup(other.Close)
	const says = "set it to a file with certificates in PEM"
	refused(t, other, "cannot be used with this HTTP client", says)
	for name, path := range map[string]string{"missing": filepath.Join(folder, "none.pem"), "empty": write("empty.pem", nil), "text": write("text.pem", []byte("no certificate"))} {
		t.Setenv("AWS_CA_BUNDLE", path)
		t.Run(name, func(t *testing.T) {
			refused(t, open(t, server.URL), "the certificates of AWS_CA_BUNDLE cannot be read", says)
		})
	}
}
