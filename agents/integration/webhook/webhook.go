package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Name is the name of the provider.
const Name = "webhook"

// The headers of a request.
const (
	TimestampHeader = "X-Magpie-Timestamp" // Unix seconds
	SignatureHeader = "X-Magpie-Signature"
	KeyHeader       = "Idempotency-Key"
)

const (
	urlOption    = "url"
	headerOption = "auth_header"
	prefixOption = "auth_prefix"
	secretOption = "auth_secret"
	signOption   = "signing_secret"
)

// AnyHost returns the provider with the settings of integrations of this kind. It has no tools of its own.
func AnyHost() integration.Provider {
	return integration.Provider{
		Name: Name, Title: "Webhook or API", Summary: "Calls endpoints of a host that you describe, or import from OpenAPI.", Group: integration.Business,
		Config: []connectors.Option{
			{
				Name: urlOption, Title: "Address", Help: "The address that the paths of the tools are below. Tools never call another host.", Type: connectors.TypeString,
				Required: true, Destination: true, Example: "https://api.example.com/v1", Format: connectors.FormatURL, Check: platform.CheckURL("https://api.example.com/v1"),
			},
			{
				Name: headerOption, Title: "Header of the secret", Help: "The header that carries the secret.", Type: connectors.TypeString, Default: "Authorization",
				Check: connectors.CheckString(checkHeader), Advanced: true,
			},
			{Name: prefixOption, Title: "Before the secret", Help: "What the header has before the secret; a single hyphen for nothing.", Type: connectors.TypeString, Default: "Bearer", Example: "Bearer", Advanced: true},
		},
		Credentials: []connectors.Option{
			{Name: secretOption, Title: "Secret", Help: "A token or key that the host asks for. Leave it empty if there is none.", Type: connectors.TypeString, Sensitive: true},
			{Name: signOption, Title: "Signing secret", Help: "Signs each request, so that the host knows that it comes from Magpie.", Type: connectors.TypeString, Sensitive: true},
		},
		Check: check,
	}
}

func checkHeader(name string) error {
	if name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return errors.New("must be the name of a header")
	}
	if slices.Contains([]string{"host", "content-length", "content-type", "connection", "transfer-encoding", "cookie", "idempotency-key"}, strings.ToLower(name)) ||
		strings.HasPrefix(strings.ToLower(name), "x-magpie-") {
		return errors.New("is a header that Magpie sets itself")
	}
	return nil
}

// check asks the address for anything: every answer below 500 but a refusal shows that it
// works.
func check(ctx context.Context, a integration.Account) error {
	err := api().Do(ctx, a, platform.Request{Path: "/"}, &platform.Answer{})
	if refused, ok := errors.AsType[*restapi.StatusError](err); ok && refused.Status < 500 &&
		!slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, refused.Status) {
		return nil
	}
	return err
}

func api() platform.API {
	return platform.API{
		Name: "The host", Base: platform.URL(urlOption, ""), Authorize: authorize, Advice: "config." + urlOption,
	}
}

// authorize adds the secret and the signature to a request.
func authorize(r *http.Request, a integration.Account, _ string) error {
	if word := a.Credentials[secretOption]; word != "" {
		header, prefix := a.String(headerOption), a.String(prefixOption)
		if header == "" {
			header = "Authorization"
		}
		switch prefix {
		case "":
			prefix = "Bearer "
		case "-":
			prefix = ""
		default:
			prefix += " "
		}
		r.Header.Set(header, prefix+word)
	}
	word := a.Credentials[signOption]
	if word == "" {
		return nil
	}
	var body []byte
	if r.GetBody != nil {
		reader, err := r.GetBody()
		if err != nil {
			return fmt.Errorf("read the body of a request: %w", err)
		}
		defer func() { _ = reader.Close() }()
		if body, err = io.ReadAll(reader); err != nil {
			return fmt.Errorf("read the body of a request: %w", err)
		}
	}
	stamp := strconv.FormatInt(a.Now().Unix(), 10)
	r.Header.Set(TimestampHeader, stamp)
	r.Header.Set(SignatureHeader, Sign(word, stamp, body))
	return nil
}

// Sign returns the signature of a body at a time in Unix seconds.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

// Tool returns the tool of an endpoint, ready for calls: t has name, texts, risk and schema.
func Tool(e Endpoint, t integration.Tool) (integration.Tool, error) {
	if err := e.Check(t.Schema); err != nil {
		return integration.Tool{}, err
	}
	t.Preview = func(raw json.RawMessage) (loop.Preview, error) {
		r, err := e.request(raw)
		if err != nil {
			return loop.Preview{}, err
		}
		fields := []integration.Field{{Name: "Request", Value: e.Method + " " + r.target()}}
		if r.body != nil {
			text, err := json.MarshalIndent(r.body, "", "  ")
			if err != nil {
				return loop.Preview{}, apierr.Wrap("show a body", err)
			}
			fields = append(fields, integration.Field{Name: "Body", Value: string(text)})
		}
		return integration.Show(t.Title+": "+e.Method+" "+r.path, fields...), nil
	}
	t.Call = func(ctx context.Context, a integration.Account, raw json.RawMessage) (loop.Result, error) {
		r, err := e.request(raw)
		if err != nil {
			return loop.Result{}, err
		}
		out := platform.Request{Method: e.Method, Reads: !t.Risk.Acts(), Path: r.path, Query: r.query, Header: http.Header{}}
		if r.body != nil {
			out.Body = r.body
		}
		if key := loop.CallInfoFrom(ctx).Key; key != "" {
			out.Header.Set(KeyHeader, key)
		}
		var answer platform.Answer
		if err := api().Do(ctx, a, out, &answer); err != nil {
			return loop.Result{}, err
		}
		return e.result(answer)
	}
	// The registry hides secrets and bounds results.
	p := AnyHost()
	p.Tools = []integration.Tool{t}
	registry, err := integration.NewRegistry(p)
	if err != nil {
		return integration.Tool{}, apierr.Invalid("tool", "cannot be used: "+err.Error())
	}
	p, _ = registry.Lookup(Name)
	return p.Tools[0], nil
}

// result returns the part of an answer that the agent gets.
func (e Endpoint) result(answer platform.Answer) (loop.Result, error) {
	if len(strings.TrimSpace(string(answer.Body))) == 0 {
		return integration.Result(map[string]any{"status": answer.Status}, "status %d", answer.Status)
	}
	var value any
	d := json.NewDecoder(strings.NewReader(string(answer.Body)))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		if e.Result != "" {
			return loop.Result{}, apierr.New(apierr.Unavailable, "The host answered with no JSON.")
		}
		return integration.Result(safetext.Storable(string(answer.Body)), "status %d", answer.Status)
	}
	part, ok := pick(value, e.Result)
	if !ok {
		return loop.Result{}, apierr.New(apierr.Unavailable, "The answer of the host has nothing at "+e.Result+".")
	}
	return integration.Result(part, "status %d", answer.Status)
}

// target returns path and query.
func (r request) target() string {
	if len(r.query) == 0 {
		return r.path
	}
	return r.path + "?" + r.query.Encode()
}

type request struct {
	path  string
	query url.Values
	body  any
}

// Fetch returns a document at a path of an integration's host.
func Fetch(ctx context.Context, a integration.Account, path string) ([]byte, error) {
	var answer platform.Answer
	if err := api().Do(ctx, a, platform.Request{Path: path}, &answer); err != nil {
		return nil, err
	}
	return answer.Body, nil
}
