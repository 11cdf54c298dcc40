// Package chart tests the chart in deploy/helm with Helm's libraries.
//
// Allowed imports: the standard library and Helm.
package chart_test

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

const chart = "../../../../deploy/helm/magpie"

// render returns the objects of the chart by kind and name.
func render(t *testing.T, values map[string]any) (map[string]map[string]any, error) {
	t.Helper()
	loaded, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(loaded, values, chartutil.ReleaseOptions{Name: "test", Namespace: "search", IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(loaded, all)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]any{}
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for _, document := range strings.Split("\n"+text, "\n---\n") {
			if strings.TrimSpace(document) == "" {
				continue
			}
			var object map[string]any
			if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, document)
			}
			out[object["kind"].(string)+" "+at(t, object, "metadata", "name").(string)] = object
		}
	}
	return out, nil
}

// at returns what is below the keys and indexes of an object.
func at(t *testing.T, object any, path ...any) any {
	t.Helper()
	for _, key := range path {
		switch key := key.(type) {
		case string:
			object = object.(map[string]any)[key]
		case int:
			object = object.([]any)[key]
		}
	}
	return object
}

func TestHelmFindsNothingWrong(t *testing.T) {
	t.Parallel()
	for _, values := range []map[string]any{{}, full()} {
		l := action.NewLint()
		l.Strict = true
		result := l.Run([]string{chart}, values)
		for _, err := range result.Errors {
			t.Error(err)
		}
		for _, m := range result.Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", m.Path, m.Err)
			}
		}
	}
}

// full are values that turn everything on, with numbers as Helm reads them from a
// file (float64) and from --set (int64).
func full() map[string]any {
	return map[string]any{
		"settings": map[string]any{
			"BASE_URL": "https://magpie.example.com", "QUERY_LIMIT": float64(1000000), "UPLOAD_LIMIT": float64(10485760), "SECRET_RATE_LIMIT": int64(5000000),
			"DEFAULT_MIN_SCORE": 0.25, "ACCESS_LOG": false,
		},
		"files":              map[string]any{"existingClaim": "files"},
		"extraVolumes":       []any{map[string]any{"name": "models", "configMap": map[string]any{"name": "magpie-models"}}},
		"extraVolumeMounts":  []any{map[string]any{"name": "models", "mountPath": "/etc/magpie", "readOnly": true}},
		"extraEnvFrom":       []any{map[string]any{"secretRef": map[string]any{"name": "keys"}}},
		"serviceAccountName": "magpie",
		"serve":              map[string]any{"autoscaling": map[string]any{"enabled": true}},
		"ingress":            map[string]any{"enabled": true, "className": "nginx", "host": "magpie.example.com", "tlsSecret": "certificate"},
	}
}

func TestTheChartRenders(t *testing.T) {
	t.Parallel()
	objects, err := render(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ConfigMap test", "Deployment test-serve", "Deployment test-worker", "Job test-migrate", "Service test", "PodDisruptionBudget test-serve"} {
		if objects[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	if len(objects) != 6 {
		t.Errorf("there are %d objects, want 6", len(objects))
	}
	for _, name := range []string{"Deployment test-serve", "Deployment test-worker", "Job test-migrate"} {
		pod := at(t, objects[name], "spec", "template", "spec")
		if at(t, pod, "securityContext", "runAsNonRoot") != true || at(t, pod, "containers", 0, "securityContext", "readOnlyRootFilesystem") != true {
			t.Errorf("%s has rights: %v", name, pod)
		}
	}
	if got := at(t, objects["Job test-migrate"], "metadata", "annotations", "helm.sh/hook"); got != "pre-install,pre-upgrade" {
		t.Errorf("the hook of the job is %v", got)
	}
	selector := at(t, objects["Service test"], "spec", "selector").(map[string]any)
	labels := at(t, objects["Deployment test-serve"], "spec", "template", "metadata", "labels").(map[string]any)
	for key, value := range selector {
		if labels[key] != value {
			t.Errorf("the service selects %s=%v, and pods have %v", key, value, labels[key])
		}
	}
}

func TestTheChartRendersEverything(t *testing.T) {
	t.Parallel()
	objects, err := render(t, full())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"BASE_URL": "https://magpie.example.com", "QUERY_LIMIT": "1000000", "UPLOAD_LIMIT": "10485760", "SECRET_RATE_LIMIT": "5000000", "DEFAULT_MIN_SCORE": "0.25", "ACCESS_LOG": "false",
	} {
		if got := at(t, objects["ConfigMap test"], "data", name); got != want {
			t.Errorf("%s is %#v, want %q", name, got, want)
		}
	}
	if got := at(t, objects["Ingress test"], "spec", "tls", 0, "secretName"); got != "certificate" {
		t.Errorf("the certificate is in %v", got)
	}
	if _, fixed := at(t, objects["Deployment test-serve"], "spec").(map[string]any)["replicas"]; fixed || objects["HorizontalPodAutoscaler test-serve"] == nil {
		t.Error("the number of servers is fixed, and there is an autoscaler")
	}
}

// last returns the last element of a list.
func last(t *testing.T, list any) any {
	t.Helper()
	elements, _ := list.([]any)
	if len(elements) == 0 {
		t.Fatalf("there is nothing in %v", list)
	}
	return elements[len(elements)-1]
}

func TestAllPodsHaveFurtherFilesVariablesAndTheAccount(t *testing.T) {
	t.Parallel()
	objects, err := render(t, full())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Deployment test-serve", "Deployment test-worker", "Job test-migrate"} {
		pod := at(t, objects[name], "spec", "template", "spec")
		container := at(t, pod, "containers", 0)
		if got := at(t, last(t, at(t, pod, "volumes")), "configMap", "name"); got != "magpie-models" {
			t.Errorf("%s: the last volume is of %v", name, got)
		}
		if got := at(t, last(t, at(t, container, "volumeMounts")), "mountPath"); got != "/etc/magpie" {
			t.Errorf("%s: the last volume is at %v", name, got)
		}
		if got := at(t, last(t, at(t, container, "envFrom")), "secretRef", "name"); got != "keys" {
			t.Errorf("%s: the last variables are of %v", name, got)
		}
		if got := at(t, pod, "serviceAccountName"); got != "magpie" {
			t.Errorf("%s: the account is %v", name, got)
		}
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]map[string]any{
		"an unknown value":        {"replicas": 3},
		"a secret in settings":    {"settings": map[string]any{"SECRET_KEYS": "first:x"}},
		"a setting in lower case": {"settings": map[string]any{"base_url": "x"}},
		"no number":               {"worker": map[string]any{"replicas": "many"}},
		"an ingress without host": {"ingress": map[string]any{"enabled": true}},
		"a volume's name twice":   {"extraVolumes": []any{map[string]any{"name": "cache"}}},
	} {
		if _, err := render(t, values); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
