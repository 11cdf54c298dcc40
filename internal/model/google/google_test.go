package google_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/model/google"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/testkit/cloudkeys"
)

// serve returns a stand-in of a Google service and a request to it.
func serve(t *testing.T, answer http.HandlerFunc) provider.Call {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	client := google.Client(provider.NewHTTPClient(time.Second, time.Second))
	t.Cleanup(client.CloseIdleConnections)
	return provider.Call{Client: client, Op: "embeddings", URL: server.URL + "/v1/projects/p-1/locations/europe-west4/publishers/google/models/m:predict", Body: map[string]any{"instances": []string{"a"}}}
}

func TestARequestHasATokenOfTheServiceAccount(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	call := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.RequestURI() != "/v1/projects/p-1/locations/europe-west4/publishers/google/models/m:predict" ||
			string(body) != `{"instances":["a"]}` || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %s, error %v", r.Method, r.URL, body, err)
		}
		if got := r.Header.Get("Authorization"); got != "Bearer "+cloudkeys.Token {
			t.Errorf("authorization %q", got)
		}
		_, _ = io.WriteString(w, `{"predictions":[{"embeddings":{"statistics":{"truncated":false,"token_count":1},"values":[0.5]}}]}`)
	})
	for range 2 {
		var answer struct {
			Predictions []struct {
				Embeddings struct{ Values []float32 }
			}
		}
		if err := call.Do(t.Context(), &answer); err != nil || len(answer.Predictions) != 1 || answer.Predictions[0].Embeddings.Values[0] != 0.5 {
			t.Errorf("answer %+v, error %v", answer, err)
		}
	}
	if requests.Load() != 2 {
		t.Errorf("%d requests", requests.Load())
	}
}

func TestFailuresOfTheServiceAreUnderstood(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]struct {
		status int
		body   string
		kind   provider.Kind
		says   string
		after  time.Duration
	}{
		"throttled": {http.StatusTooManyRequests, `{"error":{"code":429,"message":"Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model.","status":"RESOURCE_EXHAUSTED"}}`,
			provider.KindRateLimited, "Quota exceeded", 9 * time.Second},
		"no permission": {http.StatusForbidden, `{"error":{"code":403,"message":"Permission 'aiplatform.endpoints.predict' denied on resource.","status":"PERMISSION_DENIED"}}`,
			provider.KindAuth, "Permission", 0},
		"a list of errors": {http.StatusBadRequest, `[{"error":{"code":400,"message":"Invalid value at 'instances'","status":"INVALID_ARGUMENT"}}]`,
			provider.KindInvalid, "Invalid value", 0},
		"away":    {http.StatusServiceUnavailable, `{"error":{"code":503,"message":"The service is currently unavailable.","status":"UNAVAILABLE"}}`, provider.KindUnavailable, "unavailable", 0},
		"no JSON": {http.StatusOK, `<html>`, provider.KindInvalid, "cannot be read", 0},
		"cut off": {http.StatusOK, "", provider.KindInterrupted, "cut", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if step.after > 0 {
					w.Header().Set("Retry-After", strconv.Itoa(int(step.after.Seconds())))
				}
				if step.body == "" {
					w.Header().Set("Content-Length", "100") // more than follows
					_, _ = io.WriteString(w, `{"predictions":[`)
					return
				}
				w.WriteHeader(step.status)
				_, _ = io.WriteString(w, step.body)
			})
			var failure *provider.Error
			err := call.Do(t.Context(), new(map[string]any))
			if !errors.As(err, &failure) || failure.Kind != step.kind || !strings.Contains(failure.Message, step.says) || failure.RetryAfter() != step.after {
				t.Errorf("error %v, want the kind %s, %q and %v", err, step.kind, step.says, step.after)
			}
			if strings.Contains(err.Error(), cloudkeys.Token) {
				t.Errorf("the error has the token: %v", err)
			}
		})
	}
}

// never fails a test if the service is asked.
func never(t *testing.T) provider.Call {
	return serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the service was asked without a token") })
}

func refused(t *testing.T, call provider.Call, kind provider.Kind, says, advice string) {
	t.Helper()
	var failure *provider.Error
	err := call.Do(t.Context(), new(map[string]any))
	if !errors.As(err, &failure) || failure.Kind != kind || !strings.Contains(failure.Message, says) || !strings.Contains(provider.Brief(err), advice) {
		t.Errorf("error %v (%s), want the kind %s, %q and %q", err, provider.Brief(err), kind, says, advice)
	}
}

const advice = "set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account"

// These tests change the environment, which the library reads, so that they are not parallel.

func TestCredentialsThatCannotBeReadSayWhatToSet(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{"none.json": "", "text.json": "no JSON, but token-1", "other.json": `{"type":"robot"}`} {
		path := filepath.Join(folder, name)
		if content != "" {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
		refused(t, never(t), provider.KindAuth, "the file of GOOGLE_APPLICATION_CREDENTIALS cannot be used", advice)
	}
}

func TestTheCredentialsOfTheMachineAreUsed(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("HOME", t.TempDir()) // no file of gcloud
	call := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer "+cloudkeys.Token {
			t.Errorf("authorization %q", got)
		}
		_, _ = io.WriteString(w, "{}")
	})
	if err := call.Do(t.Context(), new(map[string]any)); err != nil {
		t.Error(err)
	}
}

func TestAMachineWithoutAnAccountSaysWhatToSet(t *testing.T) {
	machine := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(machine.Close)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(machine.URL, "http://"))
	refused(t, never(t), provider.KindAuth, "Google gave no token for the credentials", advice)
}

func TestARefusedAccountSaysWhatToSet(t *testing.T) {
	account(t, http.StatusBadRequest, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`)
	refused(t, never(t), provider.KindAuth, "Google gave no token for the credentials", advice)
}

func TestAFailureOfTheServiceOfTokensMayPass(t *testing.T) {
	account(t, http.StatusServiceUnavailable, "")
	call := never(t)
	refused(t, call, provider.KindUnavailable, "service of tokens", "failed or cannot be reached")
	var failure *provider.Error
	if err := call.Do(t.Context(), new(map[string]any)); !errors.As(err, &failure) || !failure.Retryable() {
		t.Errorf("error %v cannot be retried", err)
	}
	account(t, 0, "")
	refused(t, never(t), provider.KindUnavailable, "service of tokens", "failed or cannot be reached")
}

// account makes the credentials those of a service account whose tokens a stand-in gives; status 0 cuts the connection.
func account(t *testing.T, status int, answer string) {
	t.Helper()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(tokens.Close)
	content, err := os.ReadFile(os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")) //nolint:forbidigo // where Google's libraries look
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]string
	if err := json.Unmarshal(content, &fields); err != nil {
		t.Fatal(err)
	}
	fields["token_uri"] = tokens.URL
	if content, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
}

func TestACanceledRequestKeepsItsCause(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	call := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // then the server sees that the client leaves
		cancel()
		<-r.Context().Done()
	})
	if err := call.Do(ctx, new(map[string]any)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestTheAddressOfALocation(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{"europe-west4": "https://europe-west4-aiplatform.googleapis.com", "global": "https://aiplatform.googleapis.com"} {
		if got := google.VertexURL(location); got != want {
			t.Errorf("%s: %s", location, got)
		}
	}
}
