package webcrawler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/httpx"
)

// The options and credentials.
const (
	optionStarts   = "startUrls"
	optionScope    = "scope"
	optionMaxPages = "maxPages"
	optionMaxDepth = "maxDepth"
	optionDelay    = "delayMs"
	optionSitemaps = "useSitemaps"
	optionAgent    = "userAgent"
	credentialUser = "username"
	credentialWord = "password"
	credentialKey  = "bearerToken"
)

const (
	defaultMaxPages = 5000
	defaultMaxDepth = 20
	defaultDelay    = 200
)

// Option changes a setting of [Kind].
type Option func(*source)

// WithPatience sets how long an exchange with a site may take: 60 s.
func WithPatience(d time.Duration) Option { return func(s *source) { s.patience = d } }

// Kind is the web crawler.
func Kind(dial connectors.Dial, options ...Option) connectors.Kind {
	return connectors.Kind{
		Name: "web_crawler", Title: "Web site", Aliases: []string{"web", "website", "crawler"},
		Category:     connectors.CategoryWeb,
		ReportsBytes: true,
		Description:  "Pages of a web site, from their start addresses and sitemaps along the links, as robots.txt allows.",
		Options: []connectors.Option{
			{
				Name: optionStarts, Title: "Start addresses", Type: connectors.TypeStringList, Required: true, Format: connectors.FormatURL, Destination: true,
				Help:    "Where the crawl begins: https://docs.example.com/guide/",
				Example: "https://docs.example.com/", Check: checkStarts,
			},
			{
				Name: optionScope, Title: "Scope", Type: connectors.TypeString, Default: scopePath,
				Choices: []string{scopePath, scopeHost, scopeDomain},
				Help:    "How far links are followed: path (below the start addresses), host (the whole of their hosts), domain (all hosts of their domains).",
			},
			{
				Name: optionMaxPages, Title: "Most pages", Type: connectors.TypeInteger, Default: int64(defaultMaxPages), Min: 1, Max: 200_000,
				Help: "How many pages a crawl fetches at most.",
			},
			{
				Name: optionMaxDepth, Title: "Deepest link", Type: connectors.TypeInteger, Default: int64(defaultMaxDepth), Min: 0, Max: 100,
				Help: "How many links away from a start address or sitemap a page may be.",
			},
			{
				Name: optionDelay, Title: "Pause between pages (ms)", Type: connectors.TypeInteger, Default: int64(defaultDelay), Min: 0, Max: 60_000,
				Help: "How long the site is left alone between two pages; a longer Crawl-delay in robots.txt counts.",
			},
			{
				Name: optionSitemaps, Title: "Use sitemaps", Type: connectors.TypeBoolean, Default: true,
				Help: "Whether the sitemaps that robots.txt names, or /sitemap.xml, are read.",
			},
			{
				Name: optionAgent, Title: "User agent", Type: connectors.TypeString,
				Help: "What the crawler calls itself to the site, in place of MagpieBot. In robots.txt it goes by the rules for MagpieBot.",
				Check: func(value any) error {
					if text, _ := value.(string); len(text) > 200 || strings.ContainsAny(text, "\r\n\x00") {
						return errors.New("must be one line of at most 200 characters")
					}
					return nil
				},
			},
		},
		Credentials: []connectors.Option{
			{Name: credentialUser, Title: "User", Type: connectors.TypeString, Help: "For sites with HTTP Basic authentication. Sent to the hosts of the start addresses only."},
			{Name: credentialWord, Title: "Password", Type: connectors.TypeString, Sensitive: true},
			{Name: credentialKey, Title: "Bearer token", Type: connectors.TypeString, Sensitive: true, Help: "For sites that want a token. Sent to the hosts of the start addresses only."},
		},
		CheckSettings: func(s connectors.Settings) error {
			if s.Credentials[credentialKey] != "" && s.Credentials[credentialUser] != "" {
				return &connectors.OptionError{Field: "credentials." + credentialKey, Message: "is given beside username; use one of the two"}
			}
			return nil
		},
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			opened, err := open(dial, s)
			if err != nil {
				return nil, err
			}
			for _, option := range options {
				option(opened)
			}
			return opened, nil
		},
	}
}

const maxStarts = 100

func checkStarts(value any) error {
	texts, _ := value.([]string)
	if len(texts) > maxStarts {
		return fmt.Errorf("must be at most %d addresses", maxStarts)
	}
	_, err := startsOf(texts)
	return err
}

func open(dial connectors.Dial, s connectors.Settings) (*source, error) {
	starts, err := startsOf(s.Strings(optionStarts))
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("config.%s: %w", optionStarts, err))
	}
	filters, err := connectors.ParseFilters(s.Config)
	if err != nil {
		return nil, connectors.Fatal(err)
	}
	agent := s.String(optionAgent)
	if agent == "" {
		agent = agentName + "/1.0"
	}
	hosts := make(map[string]bool)
	for _, u := range starts {
		hosts[originOf(u)] = true
		if u.Scheme == "http" {
			hosts["https://"+u.Host] = true // where sites send on to
		}
	}
	notes := s.State
	if notes == nil {
		notes = &connectors.MemoryState{}
	}
	transport := &http.Transport{ // no proxy: it would connect in our place, unguarded
		DialContext: guarded(starts, s, dial), TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: fetchTime, IdleConnTimeout: time.Minute,
		MaxIdleConnsPerHost: 4, MaxResponseHeaderBytes: 256 << 10, ForceAttemptHTTP2: true,
	}
	return &source{
		transport: transport,
		settings:  s, notes: notes, agent: agent, own: hosts,
		scope:   scope{width: s.String(optionScope), starts: starts},
		exclude: connectors.Filters{Exclude: filters.Exclude},
		client: &http.Client{Transport: httpx.Steady(transport), CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // each address is looked at before it is asked
		}},
		robots: make(map[string]*rules), now: time.Now, patience: fetchTime, refused: make(map[string]error),
	}, nil
}

// source is a site that is open.
type source struct {
	settings  connectors.Settings
	notes     connectors.State
	scope     scope
	exclude   connectors.Filters // nothing is fetched from there
	agent     string
	own       map[string]bool // origins that may have the credentials
	client    *http.Client
	transport *http.Transport
	now       func() time.Time
	patience  time.Duration // with one exchange

	mutex  sync.Mutex // of what follows
	robots map[string]*rules
	crawl  *crawl // the one that this process goes on with
	// refused says of items that the walk or a look-up could not have why not:
	// they are not asked for once more.
	refused map[string]error
	// busy is the error that the step at a cursor begins with: the step before it
	// ended there, to keep what it had.
	busy   error
	busyAt string
}
