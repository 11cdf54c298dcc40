// Package collector is a stand-in for a collector of OpenTelemetry: it receives traces by
// OTLP over HTTP and keeps them.
//
// Allowed imports: internal/tracing, and the protocol and the SDK of OpenTelemetry.
package collector

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A Span is a span that was received. Ids are in hexadecimal digits.
type Span struct {
	Trace, ID, Parent string
	Name              string
	Kind              string // SPAN_KIND_SERVER and others
	Failed            bool
	Attributes        map[string]any
	Resource          map[string]any
	Links             []string // trace ids
}

// A Collector receives spans until the end of the test.
type Collector struct {
	// URL is the address for traces.
	URL string

	mu     sync.Mutex
	spans  []Span
	bytes  bytes.Buffer
	header http.Header
}

// Start starts a Collector.
func Start(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	server := httptest.NewServer(http.HandlerFunc(c.receive))
	t.Cleanup(server.Close)
	c.URL = server.URL + "/v1/traces"
	return c
}

func (c *Collector) receive(w http.ResponseWriter, r *http.Request) {
	body := r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = plain
	}
	text, err := io.ReadAll(body)
	var request collectorpb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(text, &request)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "these are no traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header = r.Header.Clone()
	c.bytes.Write(text)
	for _, resource := range request.GetResourceSpans() {
		of := attributes(resource.GetResource().GetAttributes())
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, span(s, of))
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func span(s *tracepb.Span, resource map[string]any) Span {
	out := Span{
		Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
		Name: s.GetName(), Kind: s.GetKind().String(), Failed: s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR,
		Attributes: attributes(s.GetAttributes()), Resource: resource,
	}
	for _, link := range s.GetLinks() {
		out.Links = append(out.Links, hex.EncodeToString(link.GetTraceId()))
	}
	return out
}

func attributes(all []*commonpb.KeyValue) map[string]any {
	out := make(map[string]any, len(all))
	for _, a := range all {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			out[a.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			out[a.GetKey()] = v.IntValue
		case *commonpb.AnyValue_BoolValue:
			out[a.GetKey()] = v.BoolValue
		case *commonpb.AnyValue_DoubleValue:
			out[a.GetKey()] = v.DoubleValue
		}
	}
	return out
}

// Spans returns what was received so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span{}, c.spans...)
}

// Contains reports whether a text is somewhere in what was received.
func (c *Collector) Contains(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Contains(c.bytes.Bytes(), []byte(text))
}

// Header returns the header of the last request.
func (c *Collector) Header() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header
}
