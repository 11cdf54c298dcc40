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
)

var _ connectors.Resolver = (*source)(nil)

// together is how many pages one step of a walk fetches where no pause is asked for.
const together = 20

// tries is how often a page is asked for in one crawl that cannot be had for now.
const tries = 3

// stepTime is after how long a step of a walk ends with the page it is at, so
// that a slow site has its pages kept as they come.
const stepTime = 5 * time.Second

// Walk implements [connectors.Source]: a step of the crawl.
func (s *source) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	c, err := s.crawlAt(ctx, cursor)
	if err != nil {
		return connectors.Page{}, err
	}
	visit := &visit{source: s, crawl: c, pause: time.Duration(s.settings.Integer(optionDelay)) * time.Millisecond}
	most := int(s.settings.Integer(optionMaxPages))
	began, since := c.at, s.now()
	if err := s.held(cursor); err != nil {
		return connectors.Page{}, err
	}
	for c.at < len(c.queue) && c.fetched < most && visit.asked < together &&
		(visit.asked == 0 || visit.pause == 0 && s.now().Sub(since) < stepTime) {
		fetched := c.fetched
		if err := visit.entry(ctx, c.queue[c.at]); err != nil {
			if c.at == began || ctx.Err() != nil {
				s.forget() // the crawl in memory may be ahead of its steps
				return connectors.Page{}, err
			}
			c.fetched = fetched
			s.hold(c.cursor(), err)
			break // what the step has is kept
		}
		c.at++
	}
	if err := c.save(ctx, s.notes, began+1, visit.step); err != nil {
		s.forget()
		return connectors.Page{}, err
	}
	page := connectors.Page{Items: visit.items, Warnings: visit.warnings, Next: c.cursor(), NoInterrupt: true}
	switch {
	case c.at >= len(c.queue):
		page.Done = true
	case c.fetched >= most:
		page.Done = true
		page.Warnings = append(page.Warnings, fmt.Sprintf("The crawl ended after %d pages, and there are more; raise config.%s to have them.", most, optionMaxPages))
	case visit.asked > 0:
		page.Pause = visit.pause
	}
	if page.Done {
		page.Next = ""
		s.forget() // its notes stay until the next crawl begins: this step may be made again
	}
	return page, nil
}

// hold keeps an error for the step at a cursor, which has the address that it is
// about as its first.
func (s *source) hold(cursor string, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.busy, s.busyAt = err, cursor
}

// held returns the error that was kept for a cursor, once.
func (s *source) held(cursor string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.busy == nil || s.busyAt != cursor {
		return nil
	}
	err := s.busy
	s.busy = nil
	return err
}

// refuse notes why an item cannot be had.
func (s *source) refuse(u *url.URL, why error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.refused[u.String()] = why
}

func (s *source) forget() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.crawl = nil
}

// crawlAt is the crawl of a cursor, a new one for none.
func (s *source) crawlAt(ctx context.Context, cursor string) (*crawl, error) {
	if cursor == "" {
		return s.begin(ctx)
	}
	id, at, fetched, ok := parseCursor(cursor)
	if !ok {
		return nil, connectors.Fatal(errors.New("this is no cursor of a crawl"))
	}
	s.mutex.Lock()
	c := s.crawl
	s.mutex.Unlock()
	if c != nil && c.cursor() == cursor {
		return c, nil
	}
	c, err := resume(ctx, s.notes, id, at, fetched)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return s.begin(ctx) // what it was is gone: from the start
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.crawl = c
	return c, nil
}

// begin starts a crawl at the start addresses and the sitemaps of their hosts.
func (s *source) begin(ctx context.Context) (*crawl, error) {
	if err := s.notes.DeletePrefix(ctx, crawlNotes); err != nil {
		return nil, fmt.Errorf("begin a crawl: %w", err)
	}
	c := newCrawl(strconv.FormatInt(s.now().UnixNano(), 36))
	var first step
	for _, u := range s.scope.starts {
		if c.add(u, entry{Start: true}) {
			first.Entries = append(first.Entries, c.queue[len(c.queue)-1])
		}
	}
	if s.settings.Boolean(optionSitemaps) {
		for _, u := range s.scope.starts {
			found, err := s.rulesOf(ctx, u)
			if err != nil {
				return nil, err
			}
			named, sure := found.sitemaps, true
			if len(named) == 0 {
				named, sure = []string{"/sitemap.xml"}, false
			}
			for _, text := range named {
				if at, err := canonical(u, text); err == nil && c.add(at, entry{Sitemap: true, Named: sure}) {
					first.Entries = append(first.Entries, c.queue[len(c.queue)-1])
				}
			}
		}
	}
	if err := c.save(ctx, s.notes, 0, first); err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.crawl = c
	return c, nil
}

// visit is one step of a walk.
type visit struct {
	source   *source
	crawl    *crawl
	step     step
	items    []connectors.Item
	warnings []string
	asked    int // requests
	pause    time.Duration
}

func (v *visit) warn(text string) { v.warnings = append(v.warnings, text) }

func (v *visit) add(u *url.URL, e entry) {
	if v.crawl.add(u, e) {
		v.step.Entries = append(v.step.Entries, v.crawl.queue[len(v.crawl.queue)-1])
	}
}

// again puts an entry that could not be had for now at the end of the queue, or
// gives it up; then it becomes an item whose opening says why.
func (v *visit) again(e entry, u *url.URL, why error) {
	if e.Try++; e.Try < tries {
		v.crawl.queue = append(v.crawl.queue, e)
		v.step.Entries = append(v.step.Entries, e)
		return
	}
	if !e.Sitemap {
		v.broken(u, why)
	}
}

// broken makes an item of a page that cannot be had.
func (v *visit) broken(u *url.URL, why error) {
	v.source.refuse(u, why)
	v.items = append(v.items, connectors.Item{ID: u.String(), Path: v.source.scope.place(u), URL: u.String(), Size: -1, MediaType: "text/html"})
}

// entry looks after one address. An error ends the step; it is made again.
func (v *visit) entry(ctx context.Context, e entry) error {
	s := v.source
	u, err := url.Parse(e.Address)
	if err != nil {
		return nil // it was an address when it was put in the queue
	}
	found, err := s.rulesOf(ctx, u)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case e.Start || v.temporary(err):
		return err
	default:
		return nil // a host that cannot be asked for its rules is left alone
	}
	v.pause = max(v.pause, found.pause())
	if !found.allow(u) {
		if e.Start {
			v.warn(fmt.Sprintf("%s: %s.", u, errForbidden))
		}
		return nil
	}
	if e.Sitemap {
		return v.sitemap(ctx, e, u)
	}
	return v.page(ctx, e, u)
}

// temporary says that a host asks to be left alone for a while.
func (v *visit) temporary(err error) bool {
	after, ok := connectors.RetryAfterOf(err)
	return ok && after > 0
}

// follow queues a link that belongs to the crawl.
func (v *visit) follow(to *url.URL, depth int) {
	s := v.source
	if !s.scope.holds(to) || depth > int(s.settings.Integer(optionMaxDepth)) {
		return
	}
	if ok, _ := s.exclude.Match(connectors.Item{Path: s.scope.place(to)}, s.now()); !ok {
		return
	}
	v.add(to, entry{Depth: depth})
}

// unreachable looks after an address that gave no answer.
func (v *visit) unreachable(ctx context.Context, e entry, u *url.URL, err error) error {
	switch {
	case ctx.Err() != nil && !v.source.late(ctx):
		return ctx.Err()
	case errors.Is(err, httpx.ErrRefused) && e.Start:
		return err
	case e.Start && e.Try == 0 && v.crawl.fetched == 0:
		return err // nothing may be known of the site
	}
	v.again(e, u, plain(err))
	return nil
}

// page asks for a page, on the condition that it has changed where it is known.
func (v *visit) page(ctx context.Context, e entry, u *url.URL) error {
	s := v.source
	known, err := s.recordOf(ctx, e.Address)
	if err != nil {
		return err
	}
	header := http.Header{}
	if known.conditional() {
		if known.ETag != "" {
			header.Set("If-None-Match", known.ETag)
		}
		if known.Modified != "" {
			header.Set("If-Modified-Since", known.Modified)
		}
	}
	v.asked++
	outer := ctx
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	response, err := s.request(ctx, e.Address, header)
	if err != nil {
		return v.unreachable(ctx, e, u, err)
	}
	defer func() { _ = response.Body.Close() }()
	status := response.StatusCode
	switch {
	case status == http.StatusNotModified && known != nil:
		v.crawl.fetched++
		if known.Doubt {
			known.Doubt = false
			if err := s.keep(outer, e.Address, known); err != nil {
				return err
			}
		}
		v.take(e, u, known, nil, response.Header)
		return nil
	case redirects(status):
		to, err := canonical(u, response.Header.Get("Location"))
		switch {
		case err != nil:
		case e.Start && !s.scope.holds(to):
			v.warn(fmt.Sprintf("%s leads to %s, which is outside of the crawl; make that a start address.", u, to))
		default:
			v.follow(to, e.Depth)
		}
		return nil
	case status == http.StatusNotFound || status == http.StatusGone:
		if e.Start {
			v.warn(fmt.Sprintf("%s is not there (status %d).", u, status))
		}
		return nil
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		if after := restapi.RetryAfter(response.Header); after > 0 && e.Try == 0 {
			switch waited, err := v.waited(outer, e); {
			case err != nil:
				return err
			case !waited:
				return connectors.Retryable(fmt.Errorf("the site is busy (status %d)", status), after)
			}
		}
		v.again(e, u, errStatus(status))
		return nil
	case status >= 500, status/100 == 2 && status != http.StatusOK: // a part, or nothing
		v.again(e, u, errStatus(status))
		return nil
	case status != http.StatusOK:
		v.broken(u, errStatus(status))
		return nil
	}
	sort := sortOf(response.Header, u)
	if sort == other {
		return nil
	}
	v.crawl.fetched++
	if response.ContentLength > maxBody {
		v.tooLarge(u, response.ContentLength)
		return nil
	}
	body, err := readBody(s.settings.CountReader(response.Body), maxBody)
	switch {
	case err != nil && outer.Err() != nil:
		return outer.Err()
	case err != nil:
		v.crawl.fetched--
		v.again(e, u, s.brokenOff(ctx))
		return nil
	case len(body) > maxBody:
		v.tooLarge(u, int64(len(body)))
		return nil
	case len(body) == 0:
		v.crawl.fetched--
		v.again(e, u, errEmpty())
		return nil
	case sort == files && inPlace(response.Header, body):
		v.crawl.fetched--
		v.again(e, u, errInPlace())
		return nil
	case known != nil && known.Page != (sort == pages) && !known.Doubt:
		// A page in place of a file, or the other way round, may be a proxy's: it is
		// believed when the next crawl meets it still.
		v.crawl.fetched--
		known.Doubt = true
		if err := s.keep(outer, e.Address, known); err != nil {
			return err
		}
		v.broken(u, errOtherSort())
		return nil
	}
	r := &record{
		ETag: cut(response.Header.Get("ETag"), 300), Modified: cut(response.Header.Get("Last-Modified"), 100),
		MediaType: cut(response.Header.Get("Content-Type"), 200), Size: int64(len(body)),
	}
	if sort == pages {
		p := readPage(u, response.Header, body)
		r.Page, r.Version, r.Title, r.NoIndex = true, p.version, p.title, p.noIndex
		if p.canonical != nil {
			r.Canonical = p.canonical.String()
		}
		for _, link := range p.links {
			if s.scope.holds(link) {
				r.Links = append(r.Links, link.String())
			}
		}
	} else {
		r.Version = versionOf(body)
	}
	if err := s.keep(outer, e.Address, r); err != nil {
		return err
	}
	v.take(e, u, r, body, response.Header)
	return nil
}

// waited says whether the crawl has waited for an address before: a site that
// always asks for patience gets it once.
func (v *visit) waited(ctx context.Context, e entry) (bool, error) {
	name := crawlNotes + v.crawl.id + "/waited/" + versionOf([]byte(e.Address))
	before, err := v.source.notes.Get(ctx, name)
	if err == nil && len(before) == 0 {
		err = v.source.notes.Put(ctx, name, []byte("1"))
	}
	if err != nil {
		return false, fmt.Errorf("keep that a site was waited for: %w", err)
	}
	return len(before) > 0, nil
}

func (v *visit) tooLarge(u *url.URL, size int64) {
	v.broken(u, errLarge())
	v.items[len(v.items)-1].Size = max(size, maxBody+1)
}

// take follows a page's links and makes an item of it, unless it is another
// address of one.
func (v *visit) take(e entry, u *url.URL, r *record, body []byte, header http.Header) {
	s := v.source
	for _, text := range r.Links {
		if to, err := url.Parse(text); err == nil {
			v.follow(to, e.Depth+1)
		}
	}
	if r.NoIndex {
		return
	}
	if r.Canonical != "" && r.Canonical != e.Address {
		if to, err := url.Parse(r.Canonical); err == nil && s.scope.holds(to) {
			v.follow(to, e.Depth)
			return
		}
	}
	if r.Page {
		key := r.Version + r.Title
		if _, twice := v.crawl.taken[key]; twice {
			return
		}
		v.crawl.taken[key] = struct{}{}
		v.step.Versions = append(v.step.Versions, key)
	}
	item := connectors.Item{
		ID: e.Address, Path: s.scope.place(u), Version: r.Version, URL: e.Address, Size: r.Size, MediaType: r.MediaType, Content: body,
	}
	if at, err := http.ParseTime(header.Get("Last-Modified")); err == nil {
		item.ModifiedAt = at.UTC()
	} else if at, err := http.ParseTime(r.Modified); err == nil {
		item.ModifiedAt = at.UTC()
	}
	v.items = append(v.items, item)
}
