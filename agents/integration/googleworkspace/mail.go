package googleworkspace

import (
	"bytes"
	"context"
	"encoding/base64"
	"mime"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"net/url"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

type part struct {
	Type    string `json:"mimeType"`
	Headers []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"headers"`
	Body struct {
		Data string `json:"data"`
	} `json:"body"`
	Parts []part `json:"parts"`
}

type message struct {
	ID      string `json:"id"`
	Thread  string `json:"threadId"`
	Snippet string `json:"snippet"`
	Payload part   `json:"payload"`
}

func (m message) header(name string) string {
	for _, h := range m.Payload.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// shown returns what people and models see of a mail.
func (m message) shown() map[string]any {
	return map[string]any{
		"id": m.ID, "thread_id": m.Thread, "from": m.header("From"), "to": m.header("To"), "subject": m.header("Subject"), "date": m.header("Date"), "snippet": m.Snippet,
	}
}

const maxParts = 5 // nested in each other

// text returns the text of a mail, or its HTML if it has none.
func (p part) text(kind string, depth int) string {
	if p.Type == kind {
		content, err := base64.URLEncoding.WithPadding(base64.NoPadding).DecodeString(strings.TrimRight(p.Body.Data, "="))
		if err == nil {
			return safetext.Storable(string(content))
		}
	}
	for _, inner := range p.Parts {
		if depth < maxParts {
			if text := inner.text(kind, depth+1); text != "" {
				return text
			}
		}
	}
	return ""
}

type searchInput struct {
	Query string `json:"query" rule:"required,min=1,max=500"`
	Limit int    `json:"limit" rule:"min=1,max=10" about:"5 when left out."`
}

func searchMail(ctx context.Context, a integration.Account, in searchInput) (loop.Result, error) {
	if in.Limit == 0 {
		in.Limit = 5
	}
	var list struct {
		Messages []message `json:"messages"`
		Estimate int       `json:"resultSizeEstimate"`
	}
	query := url.Values{"q": {in.Query}, "maxResults": {strconv.Itoa(in.Limit)}}
	if err := api().Do(ctx, a, platform.Request{Path: "gmail/v1/users/me/messages", Query: query}, &list); err != nil {
		return loop.Result{}, err
	}
	found := []map[string]any{}
	for _, m := range list.Messages[:min(len(list.Messages), in.Limit)] {
		one, err := mailOf(ctx, a, m.ID, url.Values{"format": {"metadata"}, "metadataHeaders": {"From", "To", "Subject", "Date"}})
		if err != nil {
			return loop.Result{}, err
		}
		found = append(found, one.shown())
	}
	return integration.Result(map[string]any{"mails": found, "estimated_total": list.Estimate}, "%d mails", len(found))
}

func mailOf(ctx context.Context, a integration.Account, id string, query url.Values) (message, error) {
	var out message
	err := api().Do(ctx, a, platform.Request{Path: platform.Path("gmail/v1/users/me/messages/%s", id), Query: query}, &out)
	return out, err
}

type readInput struct {
	ID string `json:"id" rule:"required,min=1,max=100"`
}

func readMail(ctx context.Context, a integration.Account, in readInput) (loop.Result, error) {
	m, err := mailOf(ctx, a, in.ID, url.Values{"format": {"full"}})
	if err != nil {
		return loop.Result{}, err
	}
	out := m.shown()
	if out["text"] = m.Payload.text("text/plain", 0); out["text"] == "" {
		out["text"] = m.Payload.text("text/html", 0)
	}
	return integration.Result(out, "A mail: %s", m.header("Subject"))
}

type mailInput struct {
	To      []string `json:"to" rule:"required,min=1,max=50" about:"Mail addresses."`
	Cc      []string `json:"cc" rule:"max=50"`
	Subject string   `json:"subject" rule:"required,min=1,max=300"`
	Text    string   `json:"text" rule:"required,min=1,max=50000" about:"Plain text."`
	ReplyTo string   `json:"reply_to_id" rule:"max=100" about:"The id of the mail that is answered."`
}

func showMail(verb string) func(in mailInput) loop.Preview {
	return func(in mailInput) loop.Preview {
		return integration.Show(verb+" to "+strings.Join(in.To, ", "), integration.Field{Name: "To", Value: strings.Join(in.To, ", ")},
			integration.Field{Name: "Cc", Value: strings.Join(in.Cc, ", ")}, integration.Field{Name: "Subject", Value: in.Subject},
			integration.Field{Name: "Answers", Value: in.ReplyTo}, integration.Field{Name: "Text", Value: in.Text})
	}
}

// compose returns the mail as Gmail takes it. A header that people do not see has the
// key of the call.
func compose(ctx context.Context, a integration.Account, in mailInput) (map[string]any, error) {
	var b bytes.Buffer
	header := func(name, value string) { b.WriteString(name + ": " + value + "\r\n") }
	for _, list := range []struct {
		field, name string
		addresses   []string
	}{{"to", "To", in.To}, {"cc", "Cc", in.Cc}} {
		var written []string
		for _, text := range list.addresses {
			address, err := mail.ParseAddress(text)
			if err != nil {
				return nil, apierr.Invalid(list.field, "must be mail addresses, such as ada@example.com")
			}
			written = append(written, address.String())
		}
		if len(written) > 0 {
			header(list.name, strings.Join(written, ", "))
		}
	}
	header("Subject", mime.QEncoding.Encode("utf-8", safetext.Line(in.Subject)))
	if marker := integration.Marker(ctx); marker != "" {
		header("X-Magpie-Run", mime.QEncoding.Encode("utf-8", marker))
	}
	out := map[string]any{}
	if in.ReplyTo != "" {
		answered, err := mailOf(ctx, a, in.ReplyTo, url.Values{"format": {"metadata"}, "metadataHeaders": {"Message-ID", "References"}})
		if err != nil {
			return nil, err
		}
		out["threadId"] = answered.Thread
		if id := safetext.Line(answered.header("Message-ID")); id != "" {
			header("In-Reply-To", id)
			header("References", strings.TrimSpace(safetext.Line(answered.header("References"))+" "+id))
		}
	}
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(safetext.Storable(in.Text))) // a buffer takes everything
	_ = w.Close()
	out["raw"] = base64.URLEncoding.EncodeToString(b.Bytes())
	return out, nil
}

func createDraft(ctx context.Context, a integration.Account, in mailInput) (loop.Result, error) {
	made, err := compose(ctx, a, in)
	if err != nil {
		return loop.Result{}, err
	}
	var out struct {
		ID      string  `json:"id"`
		Message message `json:"message"`
	}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: "gmail/v1/users/me/drafts", Body: map[string]any{"message": made}}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"draft_id": out.ID, "message_id": out.Message.ID}, "A draft was created")
}

func sendMail(ctx context.Context, a integration.Account, in mailInput) (loop.Result, error) {
	made, err := compose(ctx, a, in)
	if err != nil {
		return loop.Result{}, err
	}
	var out message
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: "gmail/v1/users/me/messages/send", Body: made}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"message_id": out.ID, "thread_id": out.Thread}, "A mail was sent")
}
