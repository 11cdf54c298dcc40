package deploy_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"gopkg.in/yaml.v3"
)

// at returns what is below the keys and indexes of a document, nil if there is nothing.
func at(document any, path ...any) any {
	for _, key := range path {
		switch key := key.(type) {
		case string:
			object, _ := document.(map[string]any)
			document = object[key]
		case int:
			list, _ := document.([]any)
			if key >= len(list) {
				return nil
			}
			document = list[key]
		}
	}
	return document
}

// internal/tools/deploycheck reads the file by Envoy's own types.
func TestEnvoyRoutesAsNginxDoes(t *testing.T) {
	t.Parallel()
	var file map[string]any
	if err := yaml.Unmarshal([]byte(read(t, "envoy", "magpie.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	manager := at(file, "static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config")
	route := at(manager, "route_config", "virtual_hosts", 0, "routes", 0, "route")
	policies, _ := at(route, "hash_policy").([]any)
	var keys []string
	for _, policy := range policies {
		if at(policy, "terminal") != true {
			t.Errorf("%v is mixed with the next key", policy)
		}
		keys = append(keys, fmt.Sprint(at(policy, "query_parameter", "name"), at(policy, "header", "header_name")))
	}
	if want := []string{"route<nil>", "collection<nil>", "<nil>x-service-key", "<nil>authorization"}; !slices.Equal(keys, want) {
		t.Errorf("the keys are %q, not %q", keys, want)
	}
	cluster := at(file, "static_resources", "clusters", 0)
	for what, check := range map[string][2]any{
		"the hash":                {at(cluster, "lb_policy"), "RING_HASH"},
		"the health check":        {at(cluster, "health_checks", 0, "http_health_check", "path"), "/readyz?exclude=redis"},
		"the cluster":             {at(route, "cluster"), at(cluster, "name")},
		"the end of long answers": {at(route, "timeout"), "0s"},
		"WebSockets":              {at(manager, "upgrade_configs", 0, "upgrade_type"), "websocket"},
		"the client":              {at(manager, "use_remote_address"), true},
		"the access log":          {at(manager, "access_log"), nil},
	} {
		if !reflect.DeepEqual(check[0], check[1]) {
			t.Errorf("%s is %v, not %v", what, check[0], check[1])
		}
	}
}
