package connectortest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const headerTimeout = time.Minute

// A responseFault is a wrong response with a status of success.
type responseFault struct {
	name string
	// respond returns the wrong response for an exchange, or nil if the fault
	// does not apply to it.
	respond func(c Exchange) *response
	// isLogin says that the response is a login page, for which an error that
	// asks for credentials is right too.
	isLogin bool
	// alsoLast says that the fault is also injected at the last call of each sort.
	alsoLast bool
}

func fixedBody(kind, body string) func(Exchange) *response {
	return func(Exchange) *response {
		return &response{status: http.StatusOK, header: http.Header{"Content-Type": {kind}}, body: []byte(body), length: -1}
	}
}

// jsonBody returns a respond function for a JSON text. It does not apply to an
// equal response, or to an empty list in place of a list, which is a valid
// response.
func jsonBody(text string) func(Exchange) *response {
	return func(c Exchange) *response {
		original := bytes.TrimSpace(c.ResponseBody)
		if string(original) == text || (text == "[]" && (c.Status == http.StatusNotModified || bytes.HasPrefix(original, []byte("[")))) {
			return nil
		}
		return &response{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: []byte(text), length: -1}
	}
}

// firstHalf returns a response with the first half of the body, or nil if there
// is no body.
func firstHalf(c Exchange) *response {
	if len(c.ResponseBody) < 2 || c.Status/100 != 2 {
		return nil
	}
	return &response{status: c.Status, header: c.Header.Clone(), body: c.ResponseBody[:len(c.ResponseBody)/2], length: -1}
}

// responseFaults returns the faults of the suite.
func responseFaults() []responseFault {
	xmlOf := func(text string) func(Exchange) *response {
		return func(c Exchange) *response {
			if !strings.Contains(c.Header.Get("Content-Type"), "xml") && !bytes.HasPrefix(bytes.TrimSpace(c.ResponseBody), []byte("<?xml")) {
				return nil
			}
			return fixedBody("application/xml", text)(c)
		}
	}
	return []responseFault{
		{name: "a login page", respond: fixedBody("text/html; charset=utf-8", loginPage), isLogin: true},
		{name: "a redirect to a login page", isLogin: true, respond: func(Exchange) *response {
			return &response{status: http.StatusFound, header: http.Header{"Location": {loginPath}}, length: -1}
		}},
		{name: "the page of a proxy", alsoLast: true, respond: fixedBody("text/html", proxyPage)},
		{name: "a page that calls itself JSON", respond: fixedBody("application/json; charset=utf-8", proxyPage)},
		{name: "a page that calls itself XML", respond: fixedBody("application/xml", "<?xml version=\"1.0\"?>\n<html><body><p>wait</p></body></html>")},
		{name: "a page with the original content type", respond: func(c Exchange) *response {
			return fixedBody(c.Header.Get("Content-Type"), proxyPage)(c)
		}},
		{name: "an empty body", alsoLast: true, respond: func(c Exchange) *response {
			if len(c.ResponseBody) == 0 && c.Status == http.StatusOK {
				return nil
			}
			return fixedBody(c.Header.Get("Content-Type"), "")(c)
		}},
		{name: "an empty body with the original header", respond: func(c Exchange) *response {
			if len(c.ResponseBody) == 0 || c.Status/100 != 2 {
				return nil
			}
			return &response{status: c.Status, header: c.Header, length: -1}
		}},
		{name: "no content", respond: func(c Exchange) *response {
			if c.Status == http.StatusNoContent {
				return nil
			}
			return &response{status: http.StatusNoContent, header: http.Header{}, length: -1}
		}},
		{name: "a truncated body with a matching length", alsoLast: true, respond: firstHalf},
		{name: "a truncated body, then the end of the connection", respond: func(c Exchange) *response {
			reply := firstHalf(c)
			if reply != nil {
				reply.length = len(c.ResponseBody)
			}
			return reply
		}},
		{name: "a truncated chunked body", respond: func(c Exchange) *response {
			reply := firstHalf(c)
			if reply != nil {
				reply.chunked = true
			}
			return reply
		}},
		{name: "a truncated gzip body", respond: func(c Exchange) *response {
			reply := firstHalf(c)
			if reply == nil || !c.acceptsGzip {
				return nil
			}
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			_, _ = w.Write(c.ResponseBody)
			_ = w.Close()
			reply.body = packed.Bytes()[:packed.Len()*2/3]
			reply.header.Set("Content-Encoding", "gzip")
			return reply
		}},
		{name: "a truncated body as partial content", respond: func(c Exchange) *response {
			reply := firstHalf(c)
			if reply != nil {
				reply.status = http.StatusPartialContent
				reply.header.Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(reply.body)-1, len(c.ResponseBody)))
			}
			return reply
		}},
		{name: "{}", alsoLast: true, respond: jsonBody("{}")},
		{name: "[]", respond: jsonBody("[]")},
		{name: "[{}]", respond: jsonBody("[{}]")},
		{name: "null", respond: jsonBody("null")},
		{name: `"ok"`, respond: jsonBody(`"ok"`)},
		{name: "true", respond: jsonBody("true")},
		{name: "an error in JSON", respond: jsonBody(`{"error":"internal error"}`)},
		{name: "an error's message in JSON", respond: jsonBody(`{"message":"upstream request timeout"}`)},
		{name: "an error in XML", respond: xmlOf("<Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>")},
		{name: "the root element only", respond: func(c Exchange) *response {
			return xmlOf("<" + rootElement(c.ResponseBody) + "></" + rootElement(c.ResponseBody) + ">")(c)
		}},
	}
}

// rootElement returns the name of the root element of an XML text.
func rootElement(text []byte) string {
	for {
		_, tail, found := bytes.Cut(text, []byte("<"))
		if !found {
			return "root"
		}
		if len(tail) > 0 && tail[0] != '?' && tail[0] != '!' {
			return string(tail[:max(bytes.IndexAny(tail, " />\r\n\t"), 0)])
		}
		text = tail
	}
}
