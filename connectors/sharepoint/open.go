package sharepoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id, ok := parseID(item.ID)
	if !ok {
		return nil, fmt.Errorf("the id belongs to no item: %w", connectors.ErrNotFound)
	}
	selected, err := s.selectParts(ctx)
	if err != nil {
		return nil, err
	}
	p, err := selected.partOf(id.kind, id.site, id.of)
	if err != nil {
		return nil, err
	}
	body, err := s.openItem(ctx, p, item, id)
	return body, itemError(err)
}

// itemError returns the error of a request for one item. What the platform refuses
// for one item says nothing of the others.
func itemError(err error) error {
	switch restapi.StatusOf(err) {
	case http.StatusForbidden:
		return fmt.Errorf("the app may not read this item: %w", opaque(err))
	case http.StatusLocked:
		return connectors.Retryable(fmt.Errorf("the item is locked: %w", opaque(err)), 0)
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return opaque(err)
	}
	return err
}

func (s *source) openItem(ctx context.Context, p part, item connectors.Item, id itemID) (io.ReadCloser, error) {
	switch id.kind {
	case partPages:
		page, err := s.sitePageByID(ctx, id.site, id.id)
		if err != nil {
			return nil, err
		}
		version := page.version()
		if page.ETag == "" && page.ODataETag == "" {
			version = item.Version // of the list, which has tags
		}
		return content(item, version, renderPage(page)) // pages of old types have no canvas
	case partList:
		entry, err := s.listItemByID(ctx, p, id.id)
		if err != nil {
			return nil, err
		}
		return content(item, entry.version(), renderListItem(entry))
	}
	return s.openFile(ctx, p, item, id.id)
}

// content returns a content that has been read, if its version is the item's.
func content(item connectors.Item, version string, text []byte) (io.ReadCloser, error) {
	if item.Version != "" && version != item.Version {
		return nil, connectors.Retryable(errChanged, 0)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// downloadSelect also asks for an address of the content, which is its own
// authorization. It is of another host and does not count as a request to Graph.
const downloadSelect = itemSelect + ",@microsoft.graph.downloadUrl"

// openFile downloads a file, from the address that Graph tells or, without one, by
// Graph's redirect to it. The other host gets no credentials.
func (s *source) openFile(ctx context.Context, p part, item connectors.Item, id string) (io.ReadCloser, error) {
	path := "drives/" + segment(p.id) + "/items/" + segment(id)
	file, err := s.driveItemAt(ctx, path, downloadSelect)
	if errors.Is(err, connectors.ErrNotFound) || isNoQuery(err) {
		// The content decides whether the file is gone.
		file, err = driveItem{ID: id, CTag: item.Version, File: &fileFacet{MimeType: item.MediaType}}, nil
		if item.Size >= 0 {
			file.Size = &item.Size
		}
	}
	if err != nil {
		return nil, err
	}
	if reason := file.skipReason(); reason != "" {
		return nil, connectors.Skip(errors.New(reason))
	}
	if item.Version != "" && !file.hasVersion(item.Version) {
		return nil, connectors.Retryable(errChanged, 0)
	}
	want := restapi.Expected{Size: -1, AllowHTML: strings.Contains(file.File.MimeType, "html")}
	if file.Size != nil {
		want.Size = *file.Size
	}
	request := restapi.Request{Path: s.graph.base + "/" + path + "/content", Header: http.Header{"Accept": {"*/*"}}}
	client := s.graph.client
	if file.DownloadURL != "" {
		if client, err = s.contentClient(file.DownloadURL); err != nil {
			return nil, err
		}
		request.Path = file.DownloadURL
	}
	download, err := client.DownloadConfirmed(ctx, request, want, restapi.Claim{})
	if err != nil {
		return nil, contentError(file, err)
	}
	return download, nil
}

// contentError returns the error of a download. An address that was told a moment ago
// and is unknown says nothing of the credentials, or of the file.
func contentError(file driveItem, err error) error {
	if status := restapi.StatusOf(err); file.DownloadURL != "" && (status == http.StatusUnauthorized || status == http.StatusNotFound || status == http.StatusGone) {
		return connectors.Retryable(fmt.Errorf("the address of a content is refused: %w", opaque(err)), 0)
	}
	return err
}

// maxContentClients bounds the clients for contents.
const maxContentClients = 16

// contentClient returns a client without credentials for the host of a content.
func (s *source) contentClient(address string) (*restapi.Client, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return nil, errInvalid("an address of a content")
	}
	origin := parsed.Scheme + "://" + parsed.Host
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known := s.contents[origin]; known != nil {
		return known, nil
	}
	client, err := restapi.New(origin, s.dial, restapi.Options{Platform: "SharePoint", Advice: "config." + optionGraph, Header: http.Header{"User-Agent": {userAgent}}})
	if err != nil {
		return nil, err
	}
	if len(s.contents) >= maxContentClients {
		for _, old := range s.contents {
			old.Close() // idle connections alone
		}
		clear(s.contents)
	}
	s.contents[origin] = client
	return client, nil
}
