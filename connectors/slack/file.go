package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	filesPerPage = 100
	// maxFilePages is the number of pages after which the list is restarted
	// from the oldest file so far.
	maxFilePages = 50
)

const (
	warnExternalFiles = "Files that are kept outside of Slack are left out; the messages that share them link to them."
	warnHiddenFiles   = "Slack hides files that are over the limit of its free plan; they are left out."
)

// files returns a page of the files that the token can see, the newest first.
// more reports whether another page may follow.
func (c *client) files(ctx context.Context, number int, from, until time.Time) (list []file, more bool, err error) {
	args := url.Values{"count": {strconv.Itoa(filesPerPage)}, "page": {strconv.Itoa(number)}}
	if !from.IsZero() {
		args.Set("ts_from", strconv.FormatInt(from.Unix(), 10))
	}
	if !until.IsZero() {
		args.Set("ts_to", strconv.FormatInt(until.Unix(), 10))
	}
	var result struct {
		Files  []file `json:"files"`
		Paging struct {
			Page  int `json:"page"`
			Pages int `json:"pages"`
		} `json:"paging"`
	}
	if _, _, err := c.call(ctx, "files.list", args, &result); err != nil {
		return nil, false, err
	}
	if result.Paging.Page != number && len(result.Files) > 0 {
		return nil, false, restapi.LoopError("Slack", "files.list", strconv.Itoa(result.Paging.Page))
	}
	return result.Files, number < result.Paging.Pages && len(result.Files) > 0, nil
}

// fileInfo returns a file's current metadata.
func (c *client) fileInfo(ctx context.Context, id string) (file, error) {
	var result struct {
		File file `json:"file"`
	}
	_, _, err := c.call(ctx, "files.info", url.Values{"file": {id}}, &result)
	if err == nil && result.File.ID != id {
		err = errUnexpectedShape("files.info")
	}
	return result.File, err
}

// channelIDs returns the sorted ids of the channels in which the file is
// shared.
func (f file) channelIDs() []string {
	ids := slices.Concat(f.Channels, f.Groups)
	ids = slices.DeleteFunc(ids, func(id string) bool { return !channelIDPattern.MatchString(id) })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// isExternal reports whether Slack only has a link to the file.
func (f file) isExternal() bool { return f.External || f.Mode == "external" }

func (f file) isGone() bool { return f.Mode == "tombstone" || f.Mode == "hidden_by_limit" }

// fileItem returns the item of a file. ok is false if the file is not shared in
// a selected channel, is kept elsewhere, is deleted, or is out of the date
// range. The item's path has the first of the file's selected channels.
func (s *source) fileItem(w *workspace, f file, names nameResolver) (item connectors.Item, ok bool) {
	if !s.includeFiles || !fileIDPattern.MatchString(f.ID) || f.isExternal() || f.isGone() || !s.inDateRange(time.Unix(f.Created, 0)) {
		return connectors.Item{}, false
	}
	shared := f.channelIDs()
	first := slices.IndexFunc(shared, func(id string) bool { _, selected := w.selectedByID(id); return selected })
	if first < 0 {
		return connectors.Item{}, false
	}
	home, _ := w.selectedByID(shared[first])
	name := pathSegment(cmp.Or(f.Name, f.Title, f.ID))
	extension := path.Ext(name)
	if len(extension) > 16 || strings.ContainsAny(extension, " \t") {
		extension = ""
	}
	facts := metadata(home, "file", 0)
	facts["channels"] = strings.Join(shared, ",")
	item = connectors.Item{
		ID:   f.ID,
		Path: fmt.Sprintf("#%s/files/%s-%s%s", home.Name, safetext.TruncateBytes(strings.TrimSuffix(name, extension), 500), f.ID, extension),
		URL:  f.Permalink, Title: cmp.Or(strings.Join(strings.Fields(f.Title), " "), strings.Join(strings.Fields(f.Name), " ")), MediaType: f.MediaType, Size: f.Size,
		CreatedAt: time.Unix(f.Created, 0).UTC(), ModifiedAt: time.Unix(max(f.Created, f.Updated), 0).UTC(), Metadata: facts,
	}
	item.Version = versionHash(strconv.FormatInt(f.Created, 10), strconv.FormatInt(f.Updated, 10), strconv.FormatInt(f.Size, 10), f.Preview, item.Path, item.Title)
	if f.User != "" {
		item.Author = names.personName(f.User)
	}
	if f.Kind == "quip" || f.Kind == "canvas" || f.Mode == "quip" {
		item.MediaType, item.Size = "text/html", -1 // a canvas is given as a page
	}
	return item, true
}

// openFile returns the content of a file if it is still the listed version.
func (s *source) openFile(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	w, err := s.workspace(ctx, reuseLoaded)
	if err != nil {
		return nil, err
	}
	f, err := s.client.fileInfo(ctx, item.ID)
	if err != nil {
		return nil, err
	}
	current, ok := s.fileItem(w, f, rawIDs{})
	switch {
	case !ok:
		return nil, fmt.Errorf("the file %s is not shared in the channels of the connector: %w", item.ID, connectors.ErrNotFound)
	case item.Version != "" && item.Version != current.Version:
		return nil, connectors.Retryable(errors.New("the file was changed since it was listed"), 0)
	}
	return s.download(ctx, cmp.Or(f.Download, f.URL), current)
}

// isOwnHost reports whether a URL is on the API's host or below it. The token
// is sent to no other host.
func (s *source) isOwnHost(u *url.URL) bool {
	return u.Scheme == s.base.Scheme && (u.Host == s.base.Host || strings.HasSuffix(u.Host, "."+s.base.Host))
}

// clientFor returns a client for the host of a URL.
func (s *source) clientFor(u *url.URL) (*restapi.Client, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if client := s.clients[u.Host]; client != nil {
		return client, nil
	}
	client, err := restapi.New(u.Scheme+"://"+u.Host, s.dial, restapi.Options{Platform: "Slack", Wait: s.settings.Wait, Advice: "config." + optionAddress})
	if err == nil {
		s.clients[u.Host] = client
	}
	return client, err
}

// errSignIn says that the token may not read a file.
var errSignIn = errors.New("Slack gives its sign-in page in place of the file; give the app the scope files:read and invite the bot where the file was shared") //nolint:staticcheck // a name

// download returns the content of a file with the item's type and size.
func (s *source) download(ctx context.Context, fileURL string, item connectors.Item) (io.ReadCloser, error) {
	u, err := url.Parse(fileURL)
	if err != nil || fileURL == "" || !s.isOwnHost(u) {
		return nil, errors.New("the file is kept outside of Slack")
	}
	client, err := s.clientFor(u)
	if err != nil {
		return nil, err
	}
	token, err := s.client.token(ctx, "")
	if err != nil {
		return nil, err
	}
	content, err := client.Download(ctx, restapi.Request{
		Path: fileURL, Header: http.Header{"Authorization": {"Bearer " + token}, "Accept": {"*/*"}},
	}, restapi.Expected{Size: item.Size, AllowHTML: strings.Contains(item.MediaType, "html"), NonEmpty: item.Size < 0})
	if unexpected, ok := errors.AsType[*restapi.UnexpectedResponseError](err); ok && unexpected.IsLogin {
		return nil, errSignIn
	}
	if err != nil {
		if connectors.IsNeedsAuth(err) { // the token is valid for other files
			return nil, errors.New(err.Error())
		}
		return nil, err
	}
	redirected := content.Request.URL.Path != u.Path
	if strings.HasPrefix(strings.ToLower(content.Header.Get("Content-Type")), "text/html") && redirected {
		_ = content.Close()
		return nil, errSignIn
	}
	return content, nil
}
