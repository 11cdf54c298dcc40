package webcrawler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/safetext"
)

var _ connectors.Resolver = (*source)(nil)

// maxStepRequests is the number of pages that a step fetches if there is no
// pause.
const maxStepRequests = 20

// maxAttempts is how often a crawl requests a page that is temporarily
// unavailable.
const maxAttempts = 3

// maxStepTime ends a step of a slow site after its current page, so that its
// pages are kept.
const maxStepTime = 5 * time.Second

// Walk implements [connectors.Source]. A page is one step of the crawl.
func (s *source) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	c, err := s.loadCrawl(ctx, cursor)
	if err != nil {
		return connectors.Page{}, err
	}
	step := &walkStep{source: s, crawl: c, pause: time.Duration(s.settings.Integer(optionDelay)) * time.Millisecond}
	maxPages := int(s.settings.Integer(optionMaxPages))
	start, startTime := c.position, s.now()
	if err := s.takeDeferredError(cursor); err != nil {
		return connectors.Page{}, err
	}
	for c.position < len(c.queue) && c.fetched < maxPages && step.requests < maxStepRequests &&
		(step.requests == 0 || step.pause == 0 && s.now().Sub(startTime) < maxStepTime) {
		fetched := c.fetched
		if err := step.process(ctx, c.queue[c.position]); err != nil {
			if c.position == start || ctx.Err() != nil {
				s.dropCrawl() // the crawl in memory may be ahead of the saved one
				return connectors.Page{}, err
			}
			c.fetched = fetched
			s.deferError(c.cursor(), err)
			break // keep the pages of the step
		}
		c.position++
	}
	if err := c.save(ctx, s.state, start+1, step.record); err != nil {
		s.dropCrawl()
		return connectors.Page{}, err
	}
	page := connectors.Page{Items: step.items, Warnings: step.warnings, Next: c.cursor(), NoInterrupt: true}
	switch {
	case c.position >= len(c.queue):
		page.Done = true
	case c.fetched >= maxPages:
		page.Done = true
		page.Warnings = append(page.Warnings, fmt.Sprintf("The crawl ended after %d pages, and there are more; raise config.%s to have them.", maxPages, optionMaxPages))
	case step.requests > 0:
		page.Pause = step.pause
	}
	if page.Done {
		page.Next = ""
		s.dropCrawl() // the state remains until the next crawl, since this step may be repeated
	}
	return page, nil
}

// deferError stores the error of the first URL of the step at a cursor.
func (s *source) deferError(cursor string, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.deferredError, s.deferredCursor = err, cursor
}

// takeDeferredError returns the error of a cursor, once.
func (s *source) takeDeferredError(cursor string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.deferredError == nil || s.deferredCursor != cursor {
		return nil
	}
	err := s.deferredError
	s.deferredError = nil
	return err
}

// recordItemError stores why an item cannot be fetched.
func (s *source) recordItemError(u *url.URL, reason error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.itemErrors[u.String()] = reason
}

// dropCrawl makes the next step load the crawl from the state.
func (s *source) dropCrawl() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.crawl = nil
}

// loadCrawl returns the crawl of a cursor. "" starts a new one.
func (s *source) loadCrawl(ctx context.Context, cursor string) (*crawl, error) {
	if cursor == "" {
		return s.startCrawl(ctx)
	}
	id, position, fetched, ok := parseCursor(cursor)
	if !ok {
		return nil, connectors.ErrCursor
	}
	s.mutex.Lock()
	c := s.crawl
	s.mutex.Unlock()
	if c != nil && c.cursor() == cursor {
		return c, nil
	}
	c, ok, err := resumeCrawl(ctx, s.state, id, position, fetched)
	if err != nil {
		return nil, err
	}
	if !ok {
		return s.startCrawl(ctx)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.crawl = c
	return c, nil
}

// startCrawl starts a crawl with the start URLs and the sitemaps of their
// hosts.
func (s *source) startCrawl(ctx context.Context) (*crawl, error) {
	if err := s.state.DeletePrefix(ctx, crawlPrefix); err != nil {
		return nil, fmt.Errorf("begin a crawl: %w", err)
	}
	c := newCrawl(strconv.FormatInt(s.now().UnixNano(), 36))
	var first stepRecord
	for _, u := range s.scope.starts {
		if c.add(u, entry{Start: true}) {
			first.Entries = append(first.Entries, c.queue[len(c.queue)-1])
		}
	}
	if s.settings.Boolean(optionSitemaps) {
		for _, u := range s.scope.starts {
			rules, err := s.hostRules(ctx, u)
			if err != nil {
				return nil, err
			}
			locations, expected := rules.sitemaps, true
			if len(locations) == 0 {
				locations, expected = []string{"/sitemap.xml"}, false
			}
			for _, text := range locations {
				if target, err := canonicalURL(u, text); err == nil && c.add(target, entry{Sitemap: true, Expected: expected}) {
					first.Entries = append(first.Entries, c.queue[len(c.queue)-1])
				}
			}
		}
	}
	if err := c.save(ctx, s.state, 0, first); err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.crawl = c
	return c, nil
}

// A walkStep is one step of a walk.
type walkStep struct {
	source   *source
	crawl    *crawl
	record   stepRecord
	items    []connectors.Item
	warnings []string
	requests int
	pause    time.Duration
}

func (v *walkStep) addWarning(text string) { v.warnings = append(v.warnings, text) }

func (v *walkStep) add(u *url.URL, e entry) {
	if v.crawl.add(u, e) {
		v.record.Entries = append(v.record.Entries, v.crawl.queue[len(v.crawl.queue)-1])
	}
}

// retryLater queues an entry that is temporarily unavailable again. After the
// last attempt, it becomes an item that cannot be opened.
func (v *walkStep) retryLater(e entry, u *url.URL, reason error) {
	if e.Attempts++; e.Attempts < maxAttempts {
		v.crawl.queue = append(v.crawl.queue, e)
		v.record.Entries = append(v.record.Entries, e)
		return
	}
	if !e.Sitemap {
		v.addBrokenItem(u, reason)
	}
}

// addBrokenItem adds the item of a page that cannot be fetched. Opening it
// returns the reason.
func (v *walkStep) addBrokenItem(u *url.URL, reason error) {
	v.source.recordItemError(u, reason)
	v.items = append(v.items, connectors.Item{ID: u.String(), Path: v.source.scope.path(u), URL: u.String(), Size: -1, MediaType: "text/html"})
}

// process handles one entry. An error ends the step, which is repeated.
func (v *walkStep) process(ctx context.Context, e entry) error {
	s := v.source
	u, err := url.Parse(e.Address)
	if err != nil {
		return nil // queued URLs are valid
	}
	rules, err := s.hostRules(ctx, u)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case e.Start || v.isTemporary(err):
		return err
	default:
		return nil // a host without available rules is not crawled
	}
	v.pause = max(v.pause, rules.pause())
	if !rules.allow(u) {
		if e.Start {
			v.addWarning(fmt.Sprintf("%s: %s.", u, errForbidden))
		}
		return nil
	}
	if e.Sitemap {
		return v.fetchSitemap(ctx, e, u)
	}
	return v.fetchPage(ctx, e, u)
}

// isTemporary reports whether a host asks to wait.
func (v *walkStep) isTemporary(err error) bool {
	after, ok := connectors.RetryAfterOf(err)
	return ok && after > 0
}

// followLink queues a link that belongs to the crawl.
func (v *walkStep) followLink(to *url.URL, depth int) {
	s := v.source
	if !s.scope.contains(to) || depth > int(s.settings.Integer(optionMaxDepth)) {
		return
	}
	if ok, _ := s.exclude.Match(connectors.Item{Path: s.scope.path(to)}, s.now()); !ok {
		return
	}
	v.add(to, entry{Depth: depth})
}

// handleUnreachable handles a URL that gave no response.
func (v *walkStep) handleUnreachable(ctx context.Context, e entry, u *url.URL, err error) error {
	switch {
	case ctx.Err() != nil && !v.source.timedOut(ctx):
		return ctx.Err()
	case errors.Is(err, httpx.ErrRefused) && e.Start:
		return err
	case e.Start && e.Attempts == 0 && v.crawl.fetched == 0:
		return err // the site may be unreachable
	}
	v.retryLater(e, u, unmarked(err))
	return nil
}

// fetchPage requests a page, conditionally if it is known.
func (v *walkStep) fetchPage(ctx context.Context, e entry, u *url.URL) error {
	s := v.source
	saved, isKnown, err := s.loadRecord(ctx, e.Address)
	if err != nil {
		return err
	}
	header := http.Header{}
	if saved.hasValidators() {
		if saved.ETag != "" {
			header.Set("If-None-Match", saved.ETag)
		}
		if saved.Modified != "" {
			header.Set("If-Modified-Since", saved.Modified)
		}
	}
	v.requests++
	callerCtx := ctx
	ctx, cancel := s.withTimeout(ctx)
	defer cancel()
	response, err := s.request(ctx, e.Address, header)
	if err != nil {
		return v.handleUnreachable(ctx, e, u, err)
	}
	defer func() { _ = response.Body.Close() }()
	status := response.StatusCode
	switch {
	case status == http.StatusNotModified && isKnown:
		v.crawl.fetched++
		if saved.OtherKind {
			saved.OtherKind = false
			if err := s.saveRecord(callerCtx, e.Address, saved); err != nil {
				return err
			}
		}
		v.addPage(e, u, saved, nil, response.Header)
		return nil
	case isRedirect(status):
		to, err := canonicalURL(u, response.Header.Get("Location"))
		switch {
		case err != nil:
		case e.Start && !s.scope.contains(to):
			v.addWarning(fmt.Sprintf("%s leads to %s, which is outside of the crawl; make that a start address.", u, to))
		default:
			v.followLink(to, e.Depth)
		}
		return nil
	case status == http.StatusNotFound || status == http.StatusGone:
		if e.Start {
			v.addWarning(fmt.Sprintf("%s is not there (status %d).", u, status))
		}
		return nil
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		if after := restapi.RetryAfter(response.Header); after > 0 && e.Attempts == 0 {
			switch waited, err := v.hasWaited(callerCtx, e); {
			case err != nil:
				return err
			case !waited:
				return connectors.Retryable(fmt.Errorf("the site is busy (status %d)", status), after)
			}
		}
		v.retryLater(e, u, errStatus(status))
		return nil
	case status >= 500, status/100 == 2 && status != http.StatusOK: // partial or empty
		v.retryLater(e, u, errStatus(status))
		return nil
	case status != http.StatusOK:
		v.addBrokenItem(u, errStatus(status))
		return nil
	}
	kind := kindOf(response.Header, u)
	if kind == ignored {
		return nil
	}
	v.crawl.fetched++
	if response.ContentLength > maxBody {
		v.addTooLargeItem(u, response.ContentLength)
		return nil
	}
	body, err := readBody(s.settings.CountReader(response.Body), maxBody)
	switch {
	case err != nil && callerCtx.Err() != nil:
		return callerCtx.Err()
	case err != nil:
		v.crawl.fetched--
		v.retryLater(e, u, s.truncatedError(ctx))
		return nil
	case len(body) > maxBody:
		v.addTooLargeItem(u, int64(len(body)))
		return nil
	case len(body) == 0:
		v.crawl.fetched--
		v.retryLater(e, u, errEmpty())
		return nil
	case kind == document && isMisplacedHTML(response.Header, body):
		v.crawl.fetched--
		v.retryLater(e, u, errMisplacedHTML())
		return nil
	case isKnown && saved.Page != (kind == htmlPage) && !saved.OtherKind:
		// A page instead of a file, or the reverse, may be a proxy's. It is accepted if
		// the next crawl finds it again.
		v.crawl.fetched--
		saved.OtherKind = true
		if err := s.saveRecord(callerCtx, e.Address, saved); err != nil {
			return err
		}
		v.addBrokenItem(u, errKindChanged())
		return nil
	}
	r := record{
		ETag: safetext.TruncateBytes(response.Header.Get("ETag"), 300), Modified: safetext.TruncateBytes(response.Header.Get("Last-Modified"), 100),
		MediaType: safetext.TruncateBytes(response.Header.Get("Content-Type"), 200), Size: int64(len(body)),
	}
	if kind == htmlPage {
		p := parsePage(u, response.Header, body)
		r.Page, r.Version, r.Title, r.NoIndex = true, p.version, p.title, p.noIndex
		if p.canonical != nil {
			r.Canonical = p.canonical.String()
		}
		for _, link := range p.links {
			if s.scope.contains(link) {
				r.Links = append(r.Links, link.String())
			}
		}
	} else {
		r.Version = contentHash(body)
	}
	if err := s.saveRecord(callerCtx, e.Address, r); err != nil {
		return err
	}
	v.addPage(e, u, r, body, response.Header)
	return nil
}

// hasWaited reports whether the crawl has waited for a URL before. A site that
// always asks to wait gets one wait.
func (v *walkStep) hasWaited(ctx context.Context, e entry) (bool, error) {
	name := crawlPrefix + v.crawl.id + "/waited/" + contentHash([]byte(e.Address))
	saved, err := v.source.state.Get(ctx, name)
	if err == nil && len(saved) == 0 {
		err = v.source.state.Put(ctx, name, []byte("1"))
	}
	if err != nil {
		return false, fmt.Errorf("keep that a site was waited for: %w", err)
	}
	return len(saved) > 0, nil
}

func (v *walkStep) addTooLargeItem(u *url.URL, size int64) {
	v.addBrokenItem(u, errLarge())
	v.items[len(v.items)-1].Size = max(size, maxBody+1)
}

// addPage follows a page's links and adds its item, unless another URL has the
// same page.
func (v *walkStep) addPage(e entry, u *url.URL, r record, body []byte, header http.Header) {
	s := v.source
	for _, text := range r.Links {
		if to, err := url.Parse(text); err == nil {
			v.followLink(to, e.Depth+1)
		}
	}
	if r.NoIndex {
		return
	}
	if r.Canonical != "" && r.Canonical != e.Address {
		if to, err := url.Parse(r.Canonical); err == nil && s.scope.contains(to) {
			v.followLink(to, e.Depth)
			return
		}
	}
	if r.Page {
		key := r.Version + r.Title
		if _, twice := v.crawl.versions[key]; twice {
			return
		}
		v.crawl.versions[key] = struct{}{}
		v.record.Versions = append(v.record.Versions, key)
	}
	item := connectors.Item{
		ID: e.Address, Path: s.scope.path(u), Version: r.Version, URL: e.Address, Size: r.Size, MediaType: r.MediaType, Content: body,
	}
	if modified, err := http.ParseTime(header.Get("Last-Modified")); err == nil {
		item.ModifiedAt = modified.UTC()
	} else if modified, err := http.ParseTime(r.Modified); err == nil {
		item.ModifiedAt = modified.UTC()
	}
	v.items = append(v.items, item)
}
