// Package envoy tests deploy/envoy with the types of Envoy's configuration.
//
// Allowed imports: the standard library, Envoy's types, protobuf and yaml.
package envoy_test

import (
	"os"
	"testing"

	bootstrap "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	manager "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	tls "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"
)

// Each field has the name and the type that Envoy documents, and a value within its rules.
func TestEnvoyKnowsTheFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../deploy/envoy/magpie.yaml")
	if err != nil {
		t.Fatal(err)
	}
	content, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatal(err)
	}
	var file bootstrap.Bootstrap
	if err := protojson.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	if err := file.ValidateAll(); err != nil {
		t.Error(err)
	}
	chain := file.GetStaticResources().GetListeners()[0].GetFilterChains()[0]
	var connections manager.HttpConnectionManager
	if err := chain.GetFilters()[0].GetTypedConfig().UnmarshalTo(&connections); err != nil {
		t.Fatal(err)
	}
	var secured tls.DownstreamTlsContext
	if err := chain.GetTransportSocket().GetTypedConfig().UnmarshalTo(&secured); err != nil {
		t.Fatal(err)
	}
	for _, part := range []interface{ ValidateAll() error }{&connections, &secured} {
		if err := part.ValidateAll(); err != nil {
			t.Error(err)
		}
	}
}
