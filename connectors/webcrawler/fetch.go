package webcrawler

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/httpx"
)

const (
	maxRedirects = 5
	// maxBody is how much of a page or file is taken.
	maxBody = 32 << 20
	// fetchTime bounds one exchange, the body included.
	fetchTime = 60 * time.Second
)

// errPlain says that credentials would be readable on the way.
var errPlain = errors.New("credentials are not sent over http to a host on the internet; write the start address with https://")

// originOf is where a request goes, as far as credentials are concerned.
func originOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// guarded refuses to connect to a start address without encryption where there
// are credentials for it and it is more than the networks that the operator
// allowed.
func guarded(starts []*url.URL, s connectors.Settings, dial connectors.Dial) connectors.Dial {
	if dial == nil || s.Credentials[credentialKey] == "" && s.Credentials[credentialWord] == "" {
		return dial
	}
	plain := map[string]bool{}
	for _, u := range starts {
		if u.Scheme == "http" {
			port := u.Port()
			if port == "" {
				port = "80"
			}
			plain[net.JoinHostPort(u.Hostname(), port)] = true
		}
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		made, err := dial(ctx, network, address)
		if err == nil && plain[address] && httpx.Public(made.RemoteAddr()) {
			_ = made.Close()
			return nil, errPlain
		}
		return made, err
	}
}

// request asks for an address. The caller closes the body.
func (s *source) request(ctx context.Context, address string, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("%w", errAddress))
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("User-Agent", s.agent)
	r.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.5")
	if s.own[originOf(r.URL)] {
		if key := s.settings.Credentials[credentialKey]; key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		} else if user := s.settings.Credentials[credentialUser]; user != "" {
			r.SetBasicAuth(user, s.settings.Credentials[credentialWord])
		}
	}
	response, err := s.client.Do(r)
	if err != nil {
		return nil, s.explain(ctx, err)
	}
	return response, nil
}

// explain says what to do about an exchange that failed.
func (s *source) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil && !s.late(ctx) {
		return ctx.Err()
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // the outer text repeats the whole address
	}
	switch {
	case httpx.IsHidden(err):
		return connectors.Fatal(httpx.ErrRefused)
	case errors.Is(err, errPlain):
		return connectors.Fatal(errPlain)
	case s.late(ctx), errors.Is(err, context.DeadlineExceeded):
		return connectors.Retryable(s.slow(), 0)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return connectors.Fatal(errors.New("the site's certificate is not trusted"))
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return connectors.Fatal(errors.New("the site's certificate is not trusted"))
	}
	return connectors.Retryable(fmt.Errorf("the site cannot be reached: %w", err), 0)
}

// errSlow is inside the error for an exchange that took too long.
var errSlow = errors.New("the site is too slow")

// slow is what people read of an exchange that took too long.
func (s *source) slow() error {
	return fmt.Errorf("%w: the page was not there within %g seconds", errSlow, s.patience.Seconds())
}

// bounded is ctx for one exchange.
func (s *source) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.patience, errSlow)
}

// late reports whether the context of an exchange is over because that took too long.
func (s *source) late(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errSlow) }

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// sort is what an answer's content is to a crawl.
type sort uint8

const (
	other sort = iota // nothing to be read
	pages             // HTML, with links
	files             // documents
)

// isPage says whether an answer calls itself a web page.
func isPage(header http.Header) bool {
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return kind == "text/html" || kind == "application/xhtml+xml"
}

// beginsAsPage says whether a content is a web page, whatever it calls itself.
func beginsAsPage(body []byte) bool {
	const looked = 512
	start := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(body[:min(looked, len(body))], []byte("\xef\xbb\xbf"))))
	return bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}

// inPlace says whether a web page calls itself a document of another sort.
func inPlace(header http.Header, body []byte) bool {
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return beginsAsPage(body) && !strings.HasPrefix(kind, "text/") && !strings.HasSuffix(kind, "xml")
}

// sortOf tells by the type that a site gives, and by the ending of the address
// where the type says nothing.
func sortOf(header http.Header, u *url.URL) sort {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		kind = strings.ToLower(strings.TrimSpace(strings.SplitN(header.Get("Content-Type"), ";", 2)[0]))
	}
	switch kind {
	case "text/html", "application/xhtml+xml":
		return pages
	case "", "application/octet-stream", "binary/octet-stream", "application/force-download":
		switch strings.ToLower(path.Ext(u.Path)) {
		case ".pdf", ".docx", ".doc", ".pptx", ".ppt", ".xlsx", ".xls", ".odt", ".ods", ".odp", ".rtf", ".epub", ".md", ".txt", ".csv", ".rst", ".adoc":
			return files
		case "", ".html", ".htm":
			if kind == "" {
				return pages
			}
		}
		return other
	case "text/css", "text/javascript", "application/javascript", "application/x-javascript", "text/calendar", "text/vcard",
		"application/zip", "application/gzip", "application/x-tar", "application/x-gzip", "application/x-7z-compressed",
		"application/rss+xml", "application/atom+xml", "application/manifest+json", "application/wasm", "application/java-archive":
		return other
	}
	switch {
	case strings.HasPrefix(kind, "text/"), strings.HasPrefix(kind, "application/vnd."), strings.HasSuffix(kind, "+xml"):
		return files
	}
	switch kind {
	case "application/pdf", "application/msword", "application/rtf", "application/epub+zip", "application/json", "application/xml",
		"application/yaml", "application/x-yaml", "application/toml", "application/x-ipynb+json":
		return files
	}
	return other
}

// errStatus is of an answer that is no page.
func errStatus(status int) error {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return fmt.Errorf("the site does not let the crawler see the page (status %d); enter credentials that may", status)
	}
	return fmt.Errorf("the site answers %d", status)
}

func errLarge() error { return fmt.Errorf("the page is larger than %d MiB", maxBody>>20) }

func errEmpty() error { return errors.New("the site answers with nothing") }

// errInPlace is of a web page where a file was promised.
func errInPlace() error {
	return errors.New("the site answers with a web page in place of a file; check whether a proxy or a login stands between")
}

// errOtherSort is of a page where a file was before, or the other way round.
func errOtherSort() error {
	return errors.New("the site answers with something of another sort than before; it is taken when the next crawl meets it still")
}

// brokenOff is why a body could not be read to its end.
func (s *source) brokenOff(ctx context.Context) error {
	if s.late(ctx) {
		return s.slow()
	}
	return errors.New("the answer broke off")
}

// plain is an error that is not tried again by itself, with the same text.
func plain(err error) error {
	if errors.Is(err, errSlow) {
		return fmt.Errorf("%w%s", errSlow, strings.TrimPrefix(err.Error(), errSlow.Error()))
	}
	return errors.New(err.Error())
}
