package connectortest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const headerTime = time.Minute

// lie is a way not to answer what was asked, with a status that says success.
type lie struct {
	name string
	// tell is what is told in place of a call's answer; nil where the lie is none
	// for this call.
	tell func(c Exchange) *answer
	// login says that it is a page to log in at, for which asking for credentials is
	// a proper error. often has it told at the last call of each sort, too.
	login, often bool
}

func page(kind, body string) func(Exchange) *answer {
	return func(Exchange) *answer {
		return &answer{status: http.StatusOK, header: http.Header{"Content-Type": {kind}}, body: []byte(body), length: -1}
	}
}

// jsonOf tells a JSON text where the answer is another one. A list without
// entries in place of a list is what the platform says when there is nothing.
func jsonOf(text string) func(Exchange) *answer {
	return func(c Exchange) *answer {
		truth := bytes.TrimSpace(c.Answer)
		if string(truth) == text || (text == "[]" && (c.Status == http.StatusNotModified || bytes.HasPrefix(truth, []byte("[")))) {
			return nil
		}
		return &answer{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: []byte(text), length: -1}
	}
}

// half is the beginning of an answer with its header; nil for one without a body.
func half(c Exchange) *answer {
	if len(c.Answer) < 2 || c.Status/100 != 2 {
		return nil
	}
	return &answer{status: c.Status, header: c.Header.Clone(), body: c.Answer[:len(c.Answer)/2], length: -1}
}

// allLies are the ways of the suite.
func allLies() []lie {
	xmlOf := func(text string) func(Exchange) *answer {
		return func(c Exchange) *answer {
			if !strings.Contains(c.Header.Get("Content-Type"), "xml") && !bytes.HasPrefix(bytes.TrimSpace(c.Answer), []byte("<?xml")) {
				return nil
			}
			return page("application/xml", text)(c)
		}
	}
	return []lie{
		{name: "a login page", tell: page("text/html; charset=utf-8", loginPage), login: true},
		{name: "a redirect to a login page", login: true, tell: func(Exchange) *answer {
			return &answer{status: http.StatusFound, header: http.Header{"Location": {loginPath}}, length: -1}
		}},
		{name: "the page of a proxy", often: true, tell: page("text/html", proxyPage)},
		{name: "a page that calls itself JSON", tell: page("application/json; charset=utf-8", proxyPage)},
		{name: "a page that calls itself XML", tell: page("application/xml", "<?xml version=\"1.0\"?>\n<html><body><p>wait</p></body></html>")},
		{name: "a page with the type of the answer", tell: func(c Exchange) *answer {
			return page(c.Header.Get("Content-Type"), proxyPage)(c)
		}},
		{name: "nothing", often: true, tell: func(c Exchange) *answer {
			if len(c.Answer) == 0 && c.Status == http.StatusOK {
				return nil
			}
			return page(c.Header.Get("Content-Type"), "")(c)
		}},
		{name: "nothing, with the header of the answer", tell: func(c Exchange) *answer {
			if len(c.Answer) == 0 || c.Status/100 != 2 {
				return nil
			}
			return &answer{status: c.Status, header: c.Header, length: -1}
		}},
		{name: "no content", tell: func(c Exchange) *answer {
			if c.Status == http.StatusNoContent {
				return nil
			}
			return &answer{status: http.StatusNoContent, header: http.Header{}, length: -1}
		}},
		{name: "a half as if it were whole", often: true, tell: half},
		{name: "a half, then the connection ends", tell: func(c Exchange) *answer {
			told := half(c)
			if told != nil {
				told.length = len(c.Answer)
			}
			return told
		}},
		{name: "a half in chunks, then the connection ends", tell: func(c Exchange) *answer {
			told := half(c)
			if told != nil {
				told.chunked = true
			}
			return told
		}},
		{name: "a half of what is packed", tell: func(c Exchange) *answer {
			told := half(c)
			if told == nil || !c.acceptsGzip {
				return nil
			}
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			_, _ = w.Write(c.Answer)
			_ = w.Close()
			told.body = packed.Bytes()[:packed.Len()*2/3]
			told.header.Set("Content-Encoding", "gzip")
			return told
		}},
		{name: "a half as a part", tell: func(c Exchange) *answer {
			told := half(c)
			if told != nil {
				told.status = http.StatusPartialContent
				told.header.Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(told.body)-1, len(c.Answer)))
			}
			return told
		}},
		{name: "{}", often: true, tell: jsonOf("{}")},
		{name: "[]", tell: jsonOf("[]")},
		{name: "[{}]", tell: jsonOf("[{}]")},
		{name: "null", tell: jsonOf("null")},
		{name: `"ok"`, tell: jsonOf(`"ok"`)},
		{name: "true", tell: jsonOf("true")},
		{name: "an error in JSON", tell: jsonOf(`{"error":"internal error"}`)},
		{name: "an error's message in JSON", tell: jsonOf(`{"message":"upstream request timeout"}`)},
		{name: "an error in XML", tell: xmlOf("<Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>")},
		{name: "the root of the answer alone", tell: func(c Exchange) *answer {
			return xmlOf("<" + rootOf(c.Answer) + "></" + rootOf(c.Answer) + ">")(c)
		}},
	}
}

// rootOf names the first element of an XML text.
func rootOf(text []byte) string {
	for {
		_, rest, found := bytes.Cut(text, []byte("<"))
		if !found {
			return "root"
		}
		if len(rest) > 0 && rest[0] != '?' && rest[0] != '!' {
			return string(rest[:max(bytes.IndexAny(rest, " />\r\n\t"), 0)])
		}
		text = rest
	}
}
