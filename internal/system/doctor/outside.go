package doctor

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/config"
)

// certificateWarning is the time before the end of a certificate at which to warn.
const certificateWarning = 14 * 24 * time.Hour

// mail checks that the mail server greets. It sends nothing.
func (r *report) mail(ctx context.Context) {
	if r.Config.SMTPURL == "" {
		r.ok("No mail server is set: invitations and new passwords are links that people pass on.")
		return
	}
	server, err := url.Parse(r.Config.SMTPURL.Reveal())
	if err != nil {
		r.fail("SMTP_URL cannot be read.", "Write it as smtp://user:password@host:587.")
		return
	}
	port := server.Port()
	if port == "" {
		port = map[bool]string{true: "465", false: "587"}[server.Scheme == "smtps"]
	}
	address := net.JoinHostPort(server.Hostname(), port)
	var conn net.Conn
	if server.Scheme == "smtps" {
		conn, err = (&tls.Dialer{Config: &tls.Config{ServerName: server.Hostname(), MinVersion: tls.VersionTLS12}}).DialContext(ctx, "tcp", address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		r.fail("The mail server cannot be reached: %s", "Correct SMTP_URL.", firstLine(err))
		return
	}
	defer func() { _ = conn.Close() }()
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end)
	}
	greeting, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.HasPrefix(greeting, "220") {
		r.fail("The mail server does not greet.", "Correct SMTP_URL; smtps:// speaks TLS from the start, smtp:// later.")
		return
	}
	r.ok("The mail server greets.")
}

// models asks each service of models for its list, which costs nothing. Those that are reached by other credentials than
// a key, have no list under their address, or are at the address of their provider, are asked by the first call alone.
// Each may take serviceTimeout, so that one that hangs uses up no time of the others.
func (r *report) models(ctx context.Context) {
	if r.HTTP == nil {
		return
	}
	if len(r.Config.ChatModels) == 0 {
		r.warn("No chat model is set: answers quote passages, and agents only look things up.", "Set LLM_BASE_URL and LLM_MODEL, or LLM_CONFIG.")
	}
	asked := map[string]bool{}
	list := func(kind Known, name, provider, address string, key config.Secret) {
		if address == "" && provider == "" {
			return // there is none
		}
		if address == "" {
			r.notAsked(kind, name)
			return
		}
		header := http.Header{}
		address = strings.TrimSuffix(address, "/")
		switch provider {
		case config.ProviderAnthropic:
			header.Set("X-Api-Key", key.Reveal())
			header.Set("Anthropic-Version", "2023-06-01")
			address += "/v1"
		case "", config.ProviderOpenAI, config.ProviderOllama, config.ProviderVLLM, config.ProviderTEI, config.ProviderJina:
			if key != "" {
				header.Set("Authorization", "Bearer "+key.Reveal())
			}
		default:
			r.notAsked(kind, name)
			return
		}
		if id := address + key.Reveal(); !asked[id] {
			asked[id] = true
			r.service(ctx, kind, name, address+"/models", header)
		}
	}
	for _, m := range r.Config.ChatModels {
		list("chat model", " "+m.Name, m.Provider, m.BaseURL, m.Key)
	}
	for _, m := range r.Config.EmbeddingModels {
		list("embedding model", " "+m.Name, m.Provider, m.BaseURL, m.Key)
	}
	list("reranker", "", r.Config.RerankProvider, r.Config.RerankBaseURL, r.Config.RerankAPIKey)
}

func (r *report) notAsked(kind Known, name string) {
	r.ok("The service of the %s%s is not asked: the first call tells whether it works.", kind, name)
}

// service asks a service of a kind; the name of the model follows after a space. Some know no list of models, which is as good as one.
func (r *report) service(ctx context.Context, kind Known, name, address string, header http.Header) {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		r.fail("The address of the %s%s cannot be used.", "Correct it.", kind, name)
		return
	}
	request.Header = header
	response, err := r.HTTP.Do(request)
	if err != nil {
		r.fail("The service of the %s%s cannot be reached: %s", "Start it, or correct its address.", kind, name, firstLine(err))
		return
	}
	_ = response.Body.Close()
	switch {
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		r.fail("The service of the %s%s refuses the key (%d).", "Set the right key.", kind, name, response.StatusCode)
	case response.StatusCode >= 500:
		r.warn("The service of the %s%s fails (%d).", "Look at its log.", kind, name, response.StatusCode)
	default:
		r.ok("The service of the %s%s answers.", kind, name)
	}
}

// address checks the public address of the service, to which people and webhooks come.
func (r *report) address(ctx context.Context) {
	if r.Config.BaseURL == "" {
		r.warn("BASE_URL is not set: links in mails, sign-in by other services and webhooks need the public address.", "Set it to the https:// address of the proxy.")
		return
	}
	public, err := url.Parse(r.Config.PublicURL())
	if err != nil {
		r.fail("BASE_URL cannot be read.", "Write it as https://magpie.example.com.")
		return
	}
	near := isNear(public.Hostname())
	switch {
	case near:
		r.warn("BASE_URL is an address of this machine: platforms cannot deliver webhooks to it.", "Set it to the public https:// address.")
	case public.Scheme != "https":
		r.fail("BASE_URL is not https://: passwords and tokens can be read on the way, and platforms refuse to deliver webhooks.", "Put a proxy with TLS in front, and set its address.")
	}
	if r.HTTP == nil {
		return
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Config.PublicURL()+"/healthz", http.NoBody)
	if err != nil {
		r.fail("BASE_URL cannot be used.", "Write it as https://magpie.example.com.")
		return
	}
	response, err := r.HTTP.Do(request)
	if err != nil {
		r.warn("The service cannot be reached at BASE_URL from this machine: %s", "Start magpie serve and the proxy; if only this machine cannot reach it, all is well.", firstLine(err))
		return
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		r.warn("The service answers at BASE_URL with %d.", "Check that the proxy hands everything to magpie serve.", response.StatusCode)
		return
	}
	if response.TLS != nil && len(response.TLS.PeerCertificates) > 0 {
		if left := response.TLS.PeerCertificates[0].NotAfter.Sub(r.Now()); left < certificateWarning {
			r.warn("The certificate of BASE_URL ends in %.0f days.", "Renew it.", left.Hours()/24)
			return
		}
	}
	r.ok("The service answers at BASE_URL.")
}
