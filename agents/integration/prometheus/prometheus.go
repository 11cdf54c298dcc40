package prometheus

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
)

// The names of options and credentials.
const (
	optionURL     = "url"
	optionManager = "alertmanagerUrl"
	username      = "username"
	password      = "password"
	token         = "token"
	optionCA      = "caCertificate"
	certificate   = "clientCertificate"
	key           = "clientKey"
)

const (
	title   = "Prometheus"
	example = "https://prometheus.example.com"
)

// Provider returns the provider.
func Provider() integration.Provider {
	tool := func(name, title, description string, risk policy.Risk) integration.Tool {
		return integration.Tool{Name: name, Title: title, Description: description, Risk: risk}
	}
	return integration.Provider{
		Name: "prometheus", Title: title, Summary: "Queries metrics, shows alerts and targets, and silences alerts at the Alertmanager.",
		Group: integration.Observability,
		Config: []connectors.Option{
			{
				Name: optionURL, Title: "Address", Help: "The address of Prometheus, or of a server with its API, such as Thanos or Mimir.", Type: connectors.TypeString, Required: true,
				Format: connectors.FormatURL, Destination: true, Example: example, Check: platform.CheckURL(example),
			},
			{
				Name: optionManager, Title: "Address of the Alertmanager", Help: "Needed to list and create silences. It gets the same credentials.", Type: connectors.TypeString,
				Format: connectors.FormatURL, Destination: true, Example: "https://alertmanager.example.com", Check: platform.CheckURL("https://alertmanager.example.com"),
			},
			{
				Name: optionCA, Title: "Certificate authority", Help: "In PEM, if the servers have certificates of an own authority.", Type: connectors.TypeString,
				Multiline: true, Destination: true, Advanced: true,
			},
		},
		Credentials: []connectors.Option{
			{Name: username, Title: "User", Help: "For basic authentication.", Type: connectors.TypeString, Example: "magpie"},
			{Name: password, Title: "Password", Help: "For basic authentication.", Type: connectors.TypeString, Sensitive: true},
			{Name: token, Title: "Token", Help: "A bearer token, in place of a user.", Type: connectors.TypeString, Sensitive: true},
			{Name: certificate, Title: "Client certificate", Help: "In PEM, for servers that want one.", Type: connectors.TypeString, Multiline: true, Advanced: true},
			{Name: key, Title: "Client key", Help: "The private key of the client certificate, in PEM.", Type: connectors.TypeString, Sensitive: true, Multiline: true, Advanced: true},
		},
		CheckSettings: func(s connectors.Settings) error {
			_, err := encryption()(s)
			return err
		},
		Check: func(ctx context.Context, a integration.Account) error {
			return server().Do(ctx, a, platform.Request{Path: "api/v1/status/buildinfo"}, nil)
		},
		Tools: []integration.Tool{
			integration.Define(tool("query", "Query metrics", "Evaluates a PromQL query at one time and returns the values of each series.", policy.Read), nil, query),
			integration.Define(tool("query_range", "Query metrics over time", "Evaluates a PromQL query over a range of time. Choose a step that gives at most 60 points.", policy.Read), nil, queryRange),
			integration.Define(tool("alerts", "Show alerts", "Lists the alerts that fire or are pending, with their labels and annotations.", policy.Read), nil, alerts),
			integration.Define(tool("targets", "Show targets", "Lists the targets that are scraped, with their health and last error.", policy.Read), nil, targets),
			integration.Define(tool("list_silences", "List silences", "Lists the silences of the Alertmanager that are active or pending.", policy.Read), nil, listSilences),
			integration.Define(tool("create_silence", "Silence alerts",
				"Silences the alerts whose labels equal the matchers for some minutes. Nobody is notified of them in that time.", policy.Write), previewSilence, createSilence),
		},
	}
}

func api(base func(integration.Account, map[string]string) (string, error), advice string) platform.API {
	return platform.API{Name: title, Base: base, Advice: advice, TLS: encryption(), Authorize: func(r *http.Request, a integration.Account, _ string) error {
		switch {
		case a.Credentials[token] != "":
			r.Header.Set("Authorization", "Bearer "+a.Credentials[token])
		case a.Credentials[username] != "":
			r.SetBasicAuth(a.Credentials[username], a.Credentials[password])
		}
		return nil
	}}
}

func encryption() func(s connectors.Settings) (*tls.Config, error) {
	return platform.ClientTLS(optionCA, certificate, key)
}

func server() platform.API { return api(platform.URL(optionURL, ""), "config."+optionURL) }

func manager() platform.API { return api(platform.URL(optionManager, ""), "config."+optionManager) }

// answer is the envelope of Prometheus's answers.
type answer struct {
	Data     json.RawMessage `json:"data"`
	Warnings []string        `json:"warnings,omitempty"`
}

// RequiredFields implements the check of answers.
func (answer) RequiredFields() []string { return []string{"data"} }

type queryInput struct {
	Query string `json:"query" rule:"required,min=1,max=4000" about:"PromQL."`
	Time  string `json:"time" rule:"max=40" about:"When, as 2026-01-31T12:00:00Z; now when left out."`
}

func query(ctx context.Context, a integration.Account, in queryInput) (loop.Result, error) {
	values := url.Values{"query": {in.Query}}
	if in.Time != "" {
		at, err := instant("time", in.Time)
		if err != nil {
			return loop.Result{}, err
		}
		values.Set("time", at)
	}
	return evaluate(ctx, a, "api/v1/query", values)
}

type rangeInput struct {
	Query string `json:"query" rule:"required,min=1,max=4000" about:"PromQL."`
	Start string `json:"start" rule:"required,max=40" about:"The first time, as 2026-01-31T12:00:00Z."`
	End   string `json:"end" rule:"max=40" about:"The last time; now when left out."`
	Step  int    `json:"step_seconds" rule:"required,min=1,max=604800" about:"Seconds between two points."`
}

func queryRange(ctx context.Context, a integration.Account, in rangeInput) (loop.Result, error) {
	start, err := instant("start", in.Start)
	if err != nil {
		return loop.Result{}, err
	}
	end := a.Now().UTC().Format(time.RFC3339)
	if in.End != "" {
		if end, err = instant("end", in.End); err != nil {
			return loop.Result{}, err
		}
	}
	return evaluate(ctx, a, "api/v1/query_range", url.Values{"query": {in.Query}, "start": {start}, "end": {end}, "step": {strconv.Itoa(in.Step)}})
}

func instant(field, text string) (string, error) {
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(text))
	if err != nil {
		return "", apierr.Invalid(field, "must be a time such as 2026-01-31T12:00:00Z")
	}
	return at.UTC().Format(time.RFC3339Nano), nil
}

func evaluate(ctx context.Context, a integration.Account, path string, values url.Values) (loop.Result, error) {
	var out answer
	if err := server().Do(ctx, a, platform.Request{Path: path, Query: values}, &out); err != nil {
		return loop.Result{}, err
	}
	var found struct {
		Result []json.RawMessage `json:"result"`
	}
	_ = json.Unmarshal(out.Data, &found) // a scalar is one series
	return integration.Result(out, "%d series", max(1, len(found.Result)))
}

type noInput struct{}

func alerts(ctx context.Context, a integration.Account, _ noInput) (loop.Result, error) {
	var out struct {
		Data struct {
			Alerts []json.RawMessage `json:"alerts"`
		} `json:"data"`
	}
	if err := server().Do(ctx, a, platform.Request{Path: "api/v1/alerts"}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out.Data, "%d alerts", len(out.Data.Alerts))
}

type targetsInput struct {
	Unhealthy bool `json:"unhealthy_only" about:"Only targets that cannot be scraped."`
}

type target struct {
	Labels     map[string]string `json:"labels"`
	URL        string            `json:"scrapeUrl"`
	Health     string            `json:"health"`
	LastError  string            `json:"lastError,omitempty"`
	LastScrape string            `json:"lastScrape"`
}

func targets(ctx context.Context, a integration.Account, in targetsInput) (loop.Result, error) {
	var out struct {
		Data struct {
			Active []target `json:"activeTargets"`
		} `json:"data"`
	}
	if err := server().Do(ctx, a, platform.Request{Path: "api/v1/targets", Query: url.Values{"state": {"active"}}}, &out); err != nil {
		return loop.Result{}, err
	}
	shown := []target{}
	for _, t := range out.Data.Active {
		if !in.Unhealthy || t.Health != "up" {
			shown = append(shown, t)
		}
	}
	return integration.Result(map[string]any{"targets": shown, "total": len(out.Data.Active)}, "%d of %d targets", len(shown), len(out.Data.Active))
}

type matcher struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	IsRegex bool   `json:"isRegex"`
	IsEqual bool   `json:"isEqual"`
}

type silence struct {
	ID       string    `json:"id"`
	Matchers []matcher `json:"matchers"`
	StartsAt string    `json:"startsAt"`
	EndsAt   string    `json:"endsAt"`
	Author   string    `json:"createdBy"`
	Comment  string    `json:"comment"`
	Status   struct {
		State string `json:"state"`
	} `json:"status"`
}

func listSilences(ctx context.Context, a integration.Account, _ noInput) (loop.Result, error) {
	var all []silence
	if err := manager().Do(ctx, a, platform.Request{Path: "api/v2/silences"}, &all); err != nil {
		return loop.Result{}, err
	}
	current := []silence{}
	for _, s := range all {
		if s.Status.State != "expired" {
			current = append(current, s)
		}
	}
	return integration.Result(map[string]any{"silences": current}, "%d silences", len(current))
}

type silenceInput struct {
	Matchers map[string]string `json:"matchers" rule:"required,min=1,max=20" about:"Labels and the values that alerts must have, such as alertname and job."`
	Minutes  int               `json:"minutes" rule:"required,min=1,max=10080" about:"How long."`
	Comment  string            `json:"comment" rule:"required,min=1,max=1000" about:"Why."`
}

func previewSilence(in silenceInput) loop.Preview {
	fields := integration.Fields(in.Matchers)
	return integration.Show("Silence alerts for "+strconv.Itoa(in.Minutes)+" minutes", append(fields, integration.Field{Name: "Reason", Value: in.Comment})...)
}

func createSilence(ctx context.Context, a integration.Account, in silenceInput) (loop.Result, error) {
	if a.String(optionManager) == "" {
		return loop.Result{}, apierr.New(apierr.InvalidRequest, "The integration has no address of the Alertmanager; a person must enter it in its settings.")
	}
	now := a.Now().UTC()
	body := map[string]any{
		"startsAt": now.Format(time.RFC3339), "endsAt": now.Add(time.Duration(in.Minutes) * time.Minute).Format(time.RFC3339), "createdBy": "Magpie",
		"comment": integration.Marked(ctx, in.Comment),
	}
	matchers := []matcher{}
	for _, f := range integration.Fields(in.Matchers) {
		if strings.TrimSpace(f.Name) == "" || f.Value == "" {
			return loop.Result{}, apierr.Invalid("matchers", "must have names and values that are not empty")
		}
		matchers = append(matchers, matcher{Name: f.Name, Value: f.Value, IsEqual: true})
	}
	body["matchers"] = matchers
	var out struct {
		ID string `json:"silenceID"`
	}
	if err := manager().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: "api/v2/silences", Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"silence_id": out.ID, "ends_at": body["endsAt"]}, "A silence of %d minutes", in.Minutes)
}
