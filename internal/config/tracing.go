package config

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The samplers of OTEL_TRACES_SAMPLER. Each is there with parentBased, too.
const (
	SamplerAlwaysOn  = "always_on"
	SamplerAlwaysOff = "always_off"
	SamplerRatio     = "traceidratio"
	parentBased      = "parentbased_"
)

// tracesPath is the path of traces below the address of a collector.
const tracesPath = "/v1/traces"

// TracesURL returns the address to which traces are sent, or "" for none.
func (c *Config) TracesURL() string {
	switch {
	case c.TelemetryDisabled || c.TracesExporter == "none":
		return ""
	case c.OTLPTracesEndpoint != "":
		return c.OTLPTracesEndpoint
	case c.OTLPEndpoint != "":
		return trimSlash(c.OTLPEndpoint) + tracesPath
	default:
		return ""
	}
}

// TracesTimeout returns the time that one export of traces may take.
func (c *Config) TracesTimeout() time.Duration {
	return time.Duration(c.OTLPTimeout) * time.Millisecond
}

// TraceHeaders returns the headers of requests to the collector.
func (c *Config) TraceHeaders() (map[string]string, error) {
	headers, err := pairs(strings.Split(c.OTLPHeaders.Reveal(), ","))
	if err != nil {
		return nil, errors.New("write it as name=value,name=value, with values encoded as in a URL") // without the value
	}
	return headers, nil
}

// TraceResource returns the attributes of all spans: OTEL_RESOURCE_ATTRIBUTES and
// OTEL_SERVICE_NAME. A name among the attributes counts if OTEL_SERVICE_NAME is not set.
func (c *Config) TraceResource() map[string]string {
	const key, fallback = "service.name", "magpie"
	attributes, _ := pairs(c.ResourceAttributes) // Validate has checked them
	if attributes[key] == "" || c.ServiceName != fallback {
		attributes[key] = c.ServiceName
	}
	return attributes
}

// TraceSampler returns the sampler of traces that begin here, the share of those that
// it samples, and whether the decision of a parent counts instead.
func (c *Config) TraceSampler() (name string, ratio float64, parent bool) {
	name, parent = strings.CutPrefix(c.TracesSampler, parentBased)
	ratio, _ = c.samplerRatio() // Validate has checked it
	return name, ratio, parent
}

func (c *Config) samplerRatio() (float64, error) {
	if c.TracesSamplerArg == "" || !strings.HasSuffix(c.TracesSampler, SamplerRatio) {
		return 1, nil
	}
	ratio, err := strconv.ParseFloat(c.TracesSamplerArg, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		return 0, fmt.Errorf("%q is not a share; write it as 0.01", c.TracesSamplerArg)
	}
	return ratio, nil
}

// pairs parses name=value, whose values are encoded as in a URL.
func pairs(list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, pair := range list {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || name == "" || err != nil {
			return nil, fmt.Errorf("%q is not an attribute; write it as name=value", pair)
		}
		out[name] = decoded
	}
	return out, nil
}

func checkProtocol(protocol, address string) error {
	if address == "" || protocol == "http/protobuf" {
		return nil
	}
	return fmt.Errorf("%q is not supported; use http/protobuf, which collectors serve on port 4318", protocol)
}

func checkHosts(hosts []string) error {
	for _, host := range hosts {
		name := strings.TrimPrefix(host, "*.")
		if name == "" || strings.ContainsAny(name, "*/: ") {
			return fmt.Errorf("%q is not a host; write it as models.example.com or *.example.com", host)
		}
	}
	return nil
}
