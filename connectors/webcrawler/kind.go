package webcrawler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
	"github.com/magpie-search/magpie/internal/httpx"
)

// The names of options and credentials.
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

// An Option changes a setting of [Kind].
type Option func(*source)

// WithTimeout sets the timeout of one exchange with a site. The default is 60
// s.
func WithTimeout(d time.Duration) Option { return func(s *source) { s.timeout = d } }

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial, options ...Option) connectors.Kind {
	return connectors.Kind{
		Name: "web_crawler", Title: "Web site", Aliases: []string{"web", "website", "crawler"},
		Category:     connectors.CategoryWeb,
		ReportsBytes: true,
		Description:  "Pages of a web site, found from start addresses and sitemaps by following links, as robots.txt allows.",
		Options: []connectors.Option{
			{
				Name: optionStarts, Title: "Start addresses", Type: connectors.TypeStringList, Required: true, Format: connectors.FormatURL, Destination: true,
				Help:    "Where the crawl starts: https://docs.example.com/guide/",
				Example: "https://docs.example.com/", Check: connectors.CheckStrings(checkStarts),
			},
			{
				Name: optionScope, Title: "Scope", Type: connectors.TypeString, Default: scopePath,
				Choices: []string{scopePath, scopeHost, scopeDomain},
				Help:    "Which links are followed: path (below the start addresses), host (on their hosts), domain (on all hosts of their domains).",
			},
			{
				Name: optionMaxPages, Title: "Maximum pages", Type: connectors.TypeInteger, Default: int64(defaultMaxPages), Min: 1, Max: 200_000,
				Help: "The largest number of pages that a crawl fetches.",
			},
			{
				Name: optionMaxDepth, Title: "Maximum depth", Type: connectors.TypeInteger, Default: int64(defaultMaxDepth), Min: 0, Max: 100,
				Help: "The largest number of links between a start address or sitemap and a page.",
			},
			{
				Name: optionDelay, Title: "Pause between pages (ms)", Type: connectors.TypeInteger, Default: int64(defaultDelay), Min: 0, Max: 60_000,
				Help: "The pause between two pages. A longer Crawl-delay in robots.txt has priority.",
			},
			{
				Name: optionSitemaps, Title: "Use sitemaps", Type: connectors.TypeBoolean, Default: true,
				Help: "Read the sitemaps that robots.txt names, or /sitemap.xml.",
			},
			{
				Name: optionAgent, Title: "User agent", Type: connectors.TypeString,
				Help: "The crawler's User-Agent instead of MagpieBot. The rules for MagpieBot in robots.txt still apply.",
				Check: connectors.CheckString(func(text string) error {
					if len(text) > 200 || strings.ContainsAny(text, "\r\n\x00") {
						return errors.New("must be one line of at most 200 characters")
					}
					return nil
				}),
			},
		},
		Credentials: []connectors.Option{
			{Name: credentialUser, Title: "User", Type: connectors.TypeString, Help: "For sites with HTTP Basic authentication. Sent to the hosts of the start addresses only."},
			{Name: credentialWord, Title: "Password", Help: "The password of the user name.", Type: connectors.TypeString, Sensitive: true},
			{Name: credentialKey, Title: "Bearer token", Type: connectors.TypeString, Sensitive: true, Help: "For sites that need a token. Sent to the hosts of the start addresses only."},
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

func checkStarts(texts []string) error {
	if len(texts) > maxStarts {
		return fmt.Errorf("must be at most %d addresses", maxStarts)
	}
	_, err := parseStartURLs(texts)
	return err
}

// dialFor returns a dial that sends no credentials to a start URL in clear text.
func dialFor(starts []*url.URL, s connectors.Settings, dial connectors.Dial) connectors.Dial {
	if s.Credentials[credentialKey] == "" && s.Credentials[credentialWord] == "" {
		return dial
	}
	return restapi.RequireEncryption(dial, starts...)
}

func open(dial connectors.Dial, s connectors.Settings) (*source, error) {
	starts, err := parseStartURLs(s.Strings(optionStarts))
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
		hosts[origin(u)] = true
		if u.Scheme == "http" {
			hosts["https://"+u.Host] = true // sites redirect there
		}
	}
	notes := s.State
	if notes == nil {
		notes = &connectors.MemoryState{}
	}
	transport := &http.Transport{ // without a proxy, which would bypass dial
		DialContext: dialFor(starts, s, dial), TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: defaultTimeout, IdleConnTimeout: time.Minute,
		MaxIdleConnsPerHost: 4, MaxResponseHeaderBytes: 256 << 10, ForceAttemptHTTP2: true,
	}
	return &source{
		transport: transport,
		settings:  s, state: notes, agent: agent, credentialOrigins: hosts,
		scope:   scope{reach: s.String(optionScope), starts: starts},
		exclude: connectors.Filters{Exclude: filters.Exclude},
		client: &http.Client{Transport: httpx.Steady(transport), CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // each URL is checked first
		}},
		robots: make(map[string]*rules), now: time.Now, timeout: defaultTimeout, itemErrors: make(map[string]error),
	}, nil
}

// A source is an opened site.
type source struct {
	settings          connectors.Settings
	state             connectors.State
	scope             scope
	exclude           connectors.Filters // pages that are not fetched
	agent             string
	credentialOrigins map[string]bool // origins that the credentials are sent to
	client            *http.Client
	transport         *http.Transport
	now               func() time.Time
	timeout           time.Duration // of one exchange

	mutex  sync.Mutex // guards the fields below
	robots map[string]*rules
	crawl  *crawl // the crawl that this process continues
	// itemErrors are the errors of items that a walk or Resolve could not
	// fetch. Such items are not requested again.
	itemErrors map[string]error
	// deferredError is the error with which the step at deferredCursor begins.
	// The step before ended early, to keep its pages.
	deferredError  error
	deferredCursor string
}
