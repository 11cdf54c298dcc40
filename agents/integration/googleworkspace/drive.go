package googleworkspace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
)

type file struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"mimeType"`
	Link     string `json:"webViewLink"`
	Modified string `json:"modifiedTime,omitempty"`
}

// RequiredFields implements the check of answers.
func (file) RequiredFields() []string { return []string{"id"} }

type filesInput struct {
	Words string `json:"words" rule:"required,min=1,max=200"`
	Limit int    `json:"limit" rule:"min=1,max=50" about:"20 when left out."`
}

func searchFiles(ctx context.Context, a integration.Account, in filesInput) (loop.Result, error) {
	if in.Limit == 0 {
		in.Limit = 20
	}
	words := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(in.Words)
	query := url.Values{
		"q": {"fullText contains '" + words + "' and trashed = false"}, "pageSize": {strconv.Itoa(in.Limit)}, "fields": {"files(id,name,mimeType,webViewLink,modifiedTime)"},
		"supportsAllDrives": {"true"}, "includeItemsFromAllDrives": {"true"},
	}
	var out struct {
		Files []file `json:"files"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: "drive/v3/files", Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d files", len(out.Files))
}

type docInput struct {
	Name   string `json:"name" rule:"required,min=1,max=200"`
	Text   string `json:"text" rule:"required,min=1,max=100000" about:"Markdown."`
	Folder string `json:"folder_id" rule:"max=100"`
}

// createDoc uploads Markdown, which Drive converts. The properties of the file have the
// key of the call.
func createDoc(ctx context.Context, a integration.Account, in docInput) (loop.Result, error) {
	about := map[string]any{"name": in.Name, "mimeType": "application/vnd.google-apps.document"}
	if in.Folder != "" {
		about["parents"] = []string{in.Folder}
	}
	if key := loop.CallInfoFrom(ctx).Key; key != "" {
		about["appProperties"] = map[string]any{"magpie_run": key}
	}
	metadata, err := json.Marshal(about)
	if err != nil {
		return loop.Result{}, fmt.Errorf("encode the metadata of a document: %w", err)
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range []struct {
		kind    string
		content []byte
	}{{"application/json; charset=UTF-8", metadata}, {"text/markdown; charset=UTF-8", []byte(in.Text)}} {
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {p.kind}})
		if err == nil {
			_, err = part.Write(p.content)
		}
		if err != nil {
			return loop.Result{}, fmt.Errorf("encode a document: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return loop.Result{}, fmt.Errorf("encode a document: %w", err)
	}
	r := platform.Request{
		Method: http.MethodPost, Path: "upload/drive/v3/files", RawBody: b.Bytes(), Header: http.Header{"Content-Type": {"multipart/related; boundary=" + w.Boundary()}},
		Query: url.Values{"uploadType": {"multipart"}, "fields": {"id,name,mimeType,webViewLink"}, "supportsAllDrives": {"true"}},
	}
	var out file
	if err := api().Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "The document %s was created", out.Name)
}
