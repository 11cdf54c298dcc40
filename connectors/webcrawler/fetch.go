package webcrawler

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	maxRedirects = 5
	// maxBody is the largest page or file.
	maxBody = 32 << 20
	// defaultTimeout bounds one exchange, body included.
	defaultTimeout = 60 * time.Second
)

// origin returns the origin of a URL, to which credentials belong.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// request requests a URL. The caller closes the body.
func (s *source) request(ctx context.Context, address string, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("%w", errNotPage))
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("User-Agent", s.agent)
	r.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.5")
	if s.credentialOrigins[origin(r.URL)] {
		if key := s.settings.Credentials[credentialKey]; key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		} else if user := s.settings.Credentials[credentialUser]; user != "" {
			r.SetBasicAuth(user, s.settings.Credentials[credentialWord])
		}
	}
	response, err := s.client.Do(r)
	if err != nil {
		return nil, s.markError(ctx, err)
	}
	return response, nil
}

// markError returns the marked error of a request that failed.
func (s *source) markError(ctx context.Context, err error) error {
	if ctx.Err() != nil && !s.timedOut(ctx) {
		return ctx.Err()
	}
	if s.timedOut(ctx) || errors.Is(err, context.DeadlineExceeded) {
		return connectors.Retryable(s.timeoutError(), 0)
	}
	return restapi.NetworkError("the site", err)
}

// errTimeout is wrapped by the error of an exchange that took too long.
var errTimeout = errors.New("the site is too slow")

// timeoutError returns the error of an exchange that took too long.
func (s *source) timeoutError() error {
	return fmt.Errorf("%w: the page was not there within %g seconds", errTimeout, s.timeout.Seconds())
}

// withTimeout returns a context for one exchange.
func (s *source) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.timeout, errTimeout)
}

// timedOut reports whether the context of an exchange ended because of the
// timeout.
func (s *source) timedOut(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errTimeout) }

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// A contentKind is how a crawl treats a content.
type contentKind uint8

const (
	ignored  contentKind = iota // nothing to read
	htmlPage                    // has links
	document                    // a file
)

// isMisplacedHTML reports whether a web page has the content type of a file.
func isMisplacedHTML(header http.Header, body []byte) bool {
	mediaType, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return restapi.StartsAsHTML(body) && !strings.HasPrefix(mediaType, "text/") && !strings.HasSuffix(mediaType, "xml")
}

// kindOf decides by the content type or, if that says nothing, by the
// extension.
func kindOf(header http.Header, u *url.URL) contentKind {
	mediaType, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		mediaType = strings.ToLower(strings.TrimSpace(strings.SplitN(header.Get("Content-Type"), ";", 2)[0]))
	}
	switch mediaType {
	case "text/html", "application/xhtml+xml":
		return htmlPage
	case "", "application/octet-stream", "binary/octet-stream", "application/force-download":
		switch strings.ToLower(path.Ext(u.Path)) {
		case ".pdf", ".docx", ".doc", ".pptx", ".ppt", ".xlsx", ".xls", ".odt", ".ods", ".odp", ".rtf", ".epub", ".md", ".txt", ".csv", ".rst", ".adoc":
			return document
		case "", ".html", ".htm":
			if mediaType == "" {
				return htmlPage
			}
		}
		return ignored
	case "text/css", "text/javascript", "application/javascript", "application/x-javascript", "text/calendar", "text/vcard",
		"application/zip", "application/gzip", "application/x-tar", "application/x-gzip", "application/x-7z-compressed",
		"application/rss+xml", "application/atom+xml", "application/manifest+json", "application/wasm", "application/java-archive":
		return ignored
	}
	switch {
	case strings.HasPrefix(mediaType, "text/"), strings.HasPrefix(mediaType, "application/vnd."), strings.HasSuffix(mediaType, "+xml"):
		return document
	}
	switch mediaType {
	case "application/pdf", "application/msword", "application/rtf", "application/epub+zip", "application/json", "application/xml",
		"application/yaml", "application/x-yaml", "application/toml", "application/x-ipynb+json":
		return document
	}
	return ignored
}

// errStatus returns the error of a status.
func errStatus(status int) error {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		return fmt.Errorf("the site does not let the crawler see the page (status %d); enter credentials that may", status)
	}
	return fmt.Errorf("the site answers %d", status)
}

func errLarge() error { return fmt.Errorf("the page is larger than %d MiB", maxBody>>20) }

func errEmpty() error { return errors.New("the site answers with nothing") }

// errMisplacedHTML returns the error of a web page instead of a file.
func errMisplacedHTML() error {
	return errors.New("the site answers with a web page in place of a file; check whether a proxy or a login stands between")
}

// errKindChanged returns the error of a page where a file was, or the reverse.
func errKindChanged() error {
	return errors.New("the site answers with something of another sort than before; it is accepted if the next crawl finds it again")
}

// truncatedError returns the error of a body that ended early.
func (s *source) truncatedError(ctx context.Context) error {
	if s.timedOut(ctx) {
		return s.timeoutError()
	}
	return errors.New("the answer broke off")
}

// unmarked returns an error with the same text that is not retried.
func unmarked(err error) error {
	if errors.Is(err, errTimeout) {
		return fmt.Errorf("%w%s", errTimeout, strings.TrimPrefix(err.Error(), errTimeout.Error()))
	}
	return errors.New(err.Error())
}
