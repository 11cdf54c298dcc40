package googledrive

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // Google's checksum of files
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	if !idPattern.MatchString(item.ID) {
		return nil, fmt.Errorf("open an item: %w", connectors.ErrNotFound)
	}
	if item.Metadata[metaDownload] == downloadDisabled {
		return nil, connectors.Skip(errors.New("downloads are disabled by the owner"))
	}
	subject, err := s.subjectOf(ctx, item)
	if err != nil {
		return nil, err
	}
	mimeType := item.Metadata[metaType]
	if mimeType != "" && !strings.HasPrefix(mimeType, googleTypes) {
		return s.openFile(ctx, subject, item)
	}
	f, err := s.fileByID(ctx, subject, item.ID)
	switch {
	case err != nil:
		return nil, itemError(err)
	case f.Trashed:
		return nil, fmt.Errorf("the file is in the trash: %w", connectors.ErrNotFound)
	case f.isLocked():
		return nil, connectors.Skip(errors.New("downloads are disabled by the owner"))
	case item.Version != "" && s.version(f) != item.Version:
		return nil, connectors.Retryable(errChanged, 0)
	}
	as, exported := s.exportOf(f.MimeType)
	switch {
	case !exported:
		return s.openFile(ctx, subject, item)
	case as.mediaType == "":
		return nil, connectors.Skip(fmt.Errorf("a Google %s cannot be exported", strings.TrimPrefix(f.MimeType, googleTypes)))
	}
	return s.openExport(ctx, subject, f, as)
}

// subjectOf returns the person in whose name an item is read.
func (s *source) subjectOf(ctx context.Context, item connectors.Item) (string, error) {
	if !s.delegates() {
		return "", nil
	}
	units, err := s.knownUnits(ctx)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(units, func(u unit) bool { return u.key() == item.Container }); i >= 0 {
		return units[i].Subject, nil
	}
	return s.admin(), nil
}

// openFile opens a file that is read as it is.
func (s *source) openFile(ctx context.Context, subject string, item connectors.Item) (io.ReadCloser, error) {
	client, err := s.api.drive(subject)
	if err != nil {
		return nil, err
	}
	claim := restapi.Claim{Current: func(ctx context.Context) error {
		f, err := s.fileByID(ctx, subject, item.ID)
		if err == nil && item.Version != "" && s.version(f) != item.Version {
			err = connectors.Retryable(errChanged, 0)
		}
		return err
	}}
	if len(item.Version) == hex.EncodedLen(md5.Size) {
		claim.New, claim.Sum = md5.New, item.Version
	}
	content, err := client.DownloadConfirmed(ctx, restapi.Request{
		Path: "drive/" + apiVersion + "/files/" + item.ID, Query: url.Values{"alt": {"media"}, "supportsAllDrives": {"true"}}, Header: http.Header{"Accept": {"*/*"}},
	}, restapi.Expected{Size: item.Size, AllowHTML: strings.Contains(item.Metadata[metaType], "html") || strings.Contains(item.MediaType, "html")}, claim)
	if err != nil {
		return nil, itemError(err)
	}
	return content, nil
}

// itemError returns the error of a file that cannot be read. Google answers many
// problems of single files with 403.
func itemError(err error) error {
	err = explain(err, scopeDrive)
	switch {
	case hasReason(err, "cannotDownloadFile", "fileNotDownloadable", "cannotExportFile"):
		return connectors.Skip(errors.New("downloads are disabled by the owner"))
	case hasReason(err, "cannotDownloadAbusiveFile"):
		return connectors.Skip(fmt.Errorf("%s takes the file for malware or spam", platform))
	case restapi.StatusOf(err) == http.StatusBadRequest:
		return fmt.Errorf("%s does not give its content: %s", platform, err.Error()) // of this file, not of the sync
	case isForbidden(err):
		return fmt.Errorf("the account may not read the file: %s", strings.TrimSpace(err.Error()))
	}
	return err
}

// openExport opens a file of Google's own types. Google exports at most 10 MB, and
// gives links for larger ones.
func (s *source) openExport(ctx context.Context, subject string, f *file, as export) (io.ReadCloser, error) {
	client, err := s.api.drive(subject)
	if err != nil {
		return nil, err
	}
	request := restapi.Request{
		Path: "drive/" + apiVersion + "/files/" + f.ID + "/export", Query: url.Values{"mimeType": {as.mediaType}}, Header: http.Header{"Accept": {"*/*"}},
	}
	content, err := client.Download(ctx, request, restapi.Expected{Size: -1})
	if status := restapi.StatusOf(err); as.extension == ".md" && (status == http.StatusBadRequest || status == http.StatusUnsupportedMediaType) {
		request.Query = url.Values{"mimeType": {"text/plain"}}
		content, err = client.Download(ctx, request, restapi.Expected{Size: -1})
	}
	if hasReason(err, "exportSizeLimitExceeded") {
		content, err = s.openExportLink(ctx, subject, f, as)
	}
	if err != nil {
		return nil, itemError(err)
	}
	return checkExport(content, as)
}

func (s *source) openExportLink(ctx context.Context, subject string, f *file, as export) (*restapi.Download, error) {
	link := f.ExportLinks[as.mediaType]
	if link == "" && as.extension == ".md" {
		link = f.ExportLinks["text/x-markdown"]
	}
	if link == "" {
		return nil, connectors.Skip(errors.New("it is too large for an export"))
	}
	client, err := s.api.drive(subject)
	if s.api.isDefault && strings.HasPrefix(link, exportHost+"/") {
		client, err = s.api.client(exportHost, subject, scopeDrive, optionAPI)
	}
	if err != nil {
		return nil, err
	}
	content, err := client.Download(ctx, restapi.Request{Path: link, Header: http.Header{"Accept": {"*/*"}}}, restapi.Expected{Size: -1})
	if connectors.IsFatal(err) {
		return nil, fmt.Errorf("it is too large for an export, and %s", err.Error()) // of this file, not of the sync
	}
	return content, err
}

// checkExport checks that a content is in the format of the export.
func checkExport(content *restapi.Download, as export) (io.ReadCloser, error) {
	fail := func(got string) error {
		return errors.Join(connectors.Retryable(fmt.Errorf("%s exported %s instead of %s; check whether a proxy or a login stands between", platform, got, as.mediaType), 0), content.Close())
	}
	got, _, _ := mime.ParseMediaType(content.Header.Get("Content-Type"))
	if got == "text/html" || got == "application/json" || strings.HasSuffix(got, "/xml") || strings.HasSuffix(got, "xhtml+xml") {
		return nil, fail("another type")
	}
	const headBytes = 512
	head := make([]byte, headBytes)
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.Join(err, content.Close())
	}
	head = head[:n]
	signature := map[string]string{".xlsx": "PK", ".pptx": "PK", ".pdf": "%PDF"}[as.extension]
	switch {
	case !bytes.HasPrefix(head, []byte(signature)):
		return nil, fail("something else")
	case as.extension == ".md" && restapi.StartsAsHTML(head):
		return nil, fail("a web page")
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), content), content}, nil
}
