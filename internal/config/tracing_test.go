package config_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

func TestNothingIsTracedWithoutACollector(t *testing.T) {
	t.Parallel()
	for environment, want := range map[string]string{
		"": "",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318":                                  "http://collector:4318/v1/traces",
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://c.example.com/otlp/":                            "https://c.example.com/otlp/v1/traces",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://c.example.com/":                          "https://c.example.com/",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://b/t": "http://b/t",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_SDK_DISABLED=true":                        "",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_TRACES_EXPORTER=none":                     "",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                                                   "", // no matter without a collector
	} {
		c, err := load(strings.Fields(environment)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.TracesURL(); got != want {
			t.Errorf("%s: %q, want %q", environment, got, want)
		}
	}
}

func TestTheSettingsOfTracesAreThoseOfOpenTelemetry(t *testing.T) {
	t.Parallel()
	c, err := load("OTEL_EXPORTER_OTLP_ENDPOINT=http://a", "OTEL_EXPORTER_OTLP_HEADERS=authorization=Basic%20hunter2, x-team=search", "OTEL_EXPORTER_OTLP_TIMEOUT=2500",
		"OTEL_RESOURCE_ATTRIBUTES=service.name=mine,team=search%2Canswers", "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01")
	if err != nil {
		t.Fatal(err)
	}
	headers, err := c.TraceHeaders()
	if err != nil || !maps.Equal(headers, map[string]string{"authorization": "Basic hunter2", "x-team": "search"}) {
		t.Errorf("%v %v", headers, err)
	}
	if got := c.TraceResource(); !maps.Equal(got, map[string]string{"service.name": "mine", "team": "search,answers"}) {
		t.Errorf("%v", got)
	}
	if name, share, parent := c.TraceSampler(); name != "traceidratio" || share != 0.01 || !parent || c.TracesTimeout() != 2500*time.Millisecond {
		t.Errorf("%s %v %v %s", name, share, parent, c.TracesTimeout())
	}
	if text := fmt.Sprintf("%+v", c); strings.Contains(text, "hunter2") {
		t.Errorf("a secret was printed: %s", text)
	}
	if c, err = load("OTEL_SERVICE_NAME=other", "OTEL_RESOURCE_ATTRIBUTES=service.name=mine"); err != nil || c.TraceResource()["service.name"] != "other" {
		t.Errorf("%v %v", c.TraceResource(), err)
	}
	for _, wrong := range []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318", "OTEL_EXPORTER_OTLP_HEADERS=hunter2", "OTEL_EXPORTER_OTLP_TIMEOUT=0", "OTEL_TRACES_EXPORTER=zipkin", "OTEL_TRACES_SAMPLER=sometimes",
		"OTEL_RESOURCE_ATTRIBUTES=team", "TRACEPARENT_HOSTS=https://models.example.com", "TRACEPARENT_HOSTS=*", "TRACEPARENT_NETWORKS=somewhere",
		"OTEL_TRACES_SAMPLER_ARG=2 OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=NaN OTEL_TRACES_SAMPLER=traceidratio", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_ENDPOINT=http://a",
	} {
		name, _, _ := strings.Cut(wrong, "=")
		if _, err := load(strings.Fields(wrong)...); err == nil || !strings.HasPrefix(err.Error(), name+": ") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
