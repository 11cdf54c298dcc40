package slack

import (
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
)

const (
	filesOnPage = 100
	// maxFilePages is how far the pages are counted before the list is begun anew
	// at the age that was reached.
	maxFilePages = 50
)

// outside and hidden are what the people who set the connector up should know.
const (
	warnOutside = "Files that are kept outside of Slack are left out; the messages that share them link to them."
	warnHidden  = "Slack hides files that are over the limit of its free plan; they are left out."
)

// files reads a page of the files that the token sees, the newest first. more
// says that another page may follow.
func (a *api) files(ctx context.Context, number int, from, until time.Time) (list []file, more bool, err error) {
	arguments := url.Values{"count": {strconv.Itoa(filesOnPage)}, "page": {strconv.Itoa(number)}}
	if !from.IsZero() {
		arguments.Set("ts_from", strconv.FormatInt(from.Unix(), 10))
	}
	if !until.IsZero() {
		arguments.Set("ts_to", strconv.FormatInt(until.Unix(), 10))
	}
	var answer struct {
		Files  []file `json:"files"`
		Paging struct {
			Page  int `json:"page"`
			Pages int `json:"pages"`
		} `json:"paging"`
	}
	if _, _, err := a.call(ctx, "files.list", arguments, &answer); err != nil {
		return nil, false, err
	}
	if answer.Paging.Page != number && len(answer.Files) > 0 {
		return nil, false, restapi.LoopError("Slack", "files.list", strconv.Itoa(answer.Paging.Page))
	}
	return answer.Files, number < answer.Paging.Pages && len(answer.Files) > 0, nil
}

// fileInfo reads what a file is by now.
func (a *api) fileInfo(ctx context.Context, id string) (file, error) {
	var answer struct {
		File file `json:"file"`
	}
	_, _, err := a.call(ctx, "files.info", url.Values{"file": {id}}, &answer)
	if err == nil && answer.File.ID != id {
		err = otherShape("files.info")
	}
	return answer.File, err
}

// places are the channels that a file was shared in.
func (f file) places() []string {
	all := slices.Concat(f.Channels, f.Groups)
	all = slices.DeleteFunc(all, func(id string) bool { return !channelShape.MatchString(id) })
	slices.Sort(all)
	return slices.Compact(all)
}

// external says that Slack has a link only, and gone that it has nothing any more.
func (f file) external() bool { return f.External || f.Mode == "external" }

func (f file) gone() bool { return f.Mode == "tombstone" || f.Mode == "hidden_by_limit" }

// fileItem is the item of a file; ok is false for one that is none: shared in no
// channel that is walked, kept elsewhere or gone, or outside of the range. Its
// place is the first by id of the channels that it was shared in.
func (s *source) fileItem(p *places, f file, n names) (item connectors.Item, ok bool) {
	if !s.files || !fileShape.MatchString(f.ID) || f.external() || f.gone() || !s.within(time.Unix(f.Created, 0)) {
		return connectors.Item{}, false
	}
	shared := f.places()
	at := slices.IndexFunc(shared, func(id string) bool { _, walked := p.chosenByID(id); return walked })
	if at < 0 {
		return connectors.Item{}, false
	}
	home, _ := p.chosenByID(shared[at])
	name := fileName(or(f.Name, or(f.Title, f.ID)))
	ending := path.Ext(name)
	if len(ending) > 16 || strings.ContainsAny(ending, " \t") {
		ending = ""
	}
	told := told(home, "file", 0)
	told["channels"] = strings.Join(shared, ",")
	item = connectors.Item{
		ID:   f.ID,
		Path: fmt.Sprintf("#%s/files/%s-%s%s", home.Name, clip(strings.TrimSuffix(name, ending), 500), f.ID, ending),
		URL:  f.Permalink, Title: or(oneLine(f.Title), oneLine(f.Name)), MediaType: f.MediaType, Size: f.Size,
		CreatedAt: time.Unix(f.Created, 0).UTC(), ModifiedAt: time.Unix(max(f.Created, f.Updated), 0).UTC(), Metadata: told,
	}
	item.Version = digest(strconv.FormatInt(f.Created, 10), strconv.FormatInt(f.Updated, 10), strconv.FormatInt(f.Size, 10), f.Preview, item.Path, item.Title)
	if f.User != "" {
		item.Author = n.person(f.User)
	}
	if f.Kind == "quip" || f.Kind == "canvas" || f.Mode == "quip" {
		item.MediaType, item.Size = "text/html", -1 // a canvas is given as a page
	}
	return item, true
}

// openFile gives the content of a file, if it still is the one that is meant.
func (s *source) openFile(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	p, err := s.places(ctx, once)
	if err != nil {
		return nil, err
	}
	f, err := s.api.fileInfo(ctx, item.ID)
	if err != nil {
		return nil, err
	}
	now, ok := s.fileItem(p, f, ids{})
	switch {
	case !ok:
		return nil, fmt.Errorf("the file %s is not shared in the channels of the connector: %w", item.ID, connectors.ErrNotFound)
	case item.Version != "" && item.Version != now.Version:
		return nil, connectors.Retryable(errors.New("the file was changed since it was listed"), 0)
	}
	return s.download(ctx, or(f.Download, f.URL), now)
}

// own says whether a host is the platform's: that of the API or one below it. The
// token goes to no other.
func (s *source) own(u *url.URL) bool {
	return u.Scheme == s.base.Scheme && (u.Host == s.base.Host || strings.HasSuffix(u.Host, "."+s.base.Host))
}

// clientOf is the client for a host of the platform.
func (s *source) clientOf(u *url.URL) (*restapi.Client, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if c := s.clients[u.Host]; c != nil {
		return c, nil
	}
	c, err := restapi.New(u.Scheme+"://"+u.Host, s.dial, restapi.Options{Platform: "Slack", Wait: s.settings.Wait, Advice: "config." + optionAddress})
	if err == nil {
		s.clients[u.Host] = c
	}
	return c, err
}

// errSignIn is what there is of a file that the token does not open.
var errSignIn = errors.New("Slack gives its sign-in page in place of the file; give the app the scope files:read and invite the bot where the file was shared") //nolint:staticcheck // a name

// download gets a file, whose item tells its type and size.
func (s *source) download(ctx context.Context, address string, item connectors.Item) (io.ReadCloser, error) {
	u, err := url.Parse(address)
	if err != nil || address == "" || !s.own(u) {
		return nil, errors.New("the file is kept outside of Slack")
	}
	client, err := s.clientOf(u)
	if err != nil {
		return nil, err
	}
	token, err := s.api.token(ctx, "")
	if err != nil {
		return nil, err
	}
	content, err := client.Download(ctx, restapi.Request{
		Path: address, Header: http.Header{"Authorization": {"Bearer " + token}, "Accept": {"*/*"}},
	}, restapi.Expected{Size: item.Size, AllowHTML: strings.Contains(item.MediaType, "html"), NonEmpty: item.Size < 0})
	if mismatch, ok := errors.AsType[*restapi.UnexpectedResponseError](err); ok && mismatch.IsLogin {
		return nil, errSignIn
	}
	if err != nil {
		if connectors.IsNeedsAuth(err) { // the token does for the rest of the workspace
			return nil, errors.New(err.Error())
		}
		return nil, err
	}
	sentAway := content.Request.URL.Path != u.Path
	if strings.HasPrefix(strings.ToLower(content.Header.Get("Content-Type")), "text/html") && sentAway {
		_ = content.Close()
		return nil, errSignIn
	}
	return content, nil
}
