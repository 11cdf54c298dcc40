package stack_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
)

const deployed = "../../../deploy"

func TestAlertRulesFireWhenTheyShould(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{{"check", "rules", "magpie.rules.yml"}, {"test", "rules", "magpie.test.yml"}} {
		command := exec.CommandContext(t.Context(), "promtool", arguments...)
		command.Dir = filepath.Join(deployed, "prometheus")
		if said, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", arguments, err, said)
		}
	}
	cases, err := os.ReadFile(filepath.Join(deployed, "prometheus", "magpie.test.yml"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range rules(t) {
		if !strings.Contains(string(cases), "alertname: "+name+"\n") {
			t.Errorf("%s has no test", name)
		}
		if !strings.Contains(string(page), "\n## "+name+"\n") {
			t.Errorf("docs/alerts.md does not describe %s", name)
		}
	}
}

// rules returns the expressions of the alerts by name.
func rules(t *testing.T) map[string]string {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	content, err := os.ReadFile(filepath.Join(deployed, "prometheus", "magpie.rules.yml"))
	if err == nil {
		err = yaml.Unmarshal(content, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			all[rule.Alert] = rule.Expr
		}
	}
	return all
}

type grafanaPanel struct {
	ID         int
	Title      string
	Datasource struct{ UID string }
	GridPos    struct{ X, Y, W, H int }
	Targets    []struct {
		Expr       string
		Datasource struct{ UID string }
	}
}

// panels returns the panels of the dashboard.
func panels(t *testing.T) []grafanaPanel {
	t.Helper()
	var board struct {
		UID        string
		Templating struct{ List []struct{ Name, Type string } }
		Panels     []grafanaPanel
	}
	content, err := os.ReadFile(filepath.Join(deployed, "grafana", "magpie.json"))
	if err == nil {
		err = json.Unmarshal(content, &board)
	}
	if err != nil {
		t.Fatal(err)
	}
	variables := board.Templating.List
	if len(variables) == 0 || variables[0].Name != "datasource" || variables[0].Type != "datasource" || board.UID == "" {
		t.Errorf("the dashboard has no variable for its data source: %v", variables)
	}
	return board.Panels
}

func TestNoTwoPanelsOverlap(t *testing.T) {
	t.Parallel()
	all := panels(t)
	ids := map[int]bool{}
	for i, p := range all {
		a := p.GridPos
		if ids[p.ID] || p.Title == "" || a.W <= 0 || a.H <= 0 || a.X < 0 || a.X+a.W > 24 || len(p.Targets) == 0 {
			t.Errorf("panel %d %q at %v", p.ID, p.Title, a)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			if p.Datasource.UID != "${datasource}" || target.Datasource.UID != "${datasource}" {
				t.Errorf("%q has a data source of its own", p.Title)
			}
		}
		for _, q := range all[i+1:] {
			if b := q.GridPos; a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%q and %q overlap", p.Title, q.Title)
			}
		}
	}
}

func TestAlertsAndDashboardNameOnlyWhatIsExported(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"DATABASE_READ_URL": testkit.Database(t).AppURL}) // as a replica that was promoted: left out
	m := s.app.Metrics
	m.Task("sync")(nil)
	m.EngineCall("put")(t.Context(), nil)
	m.Calls("chat", "m").Begin(t.Context())(t.Context(), nil)
	m.JobEnded(syncjob.Snapshot{Status: "COMPLETED"})
	_, _ = io.Copy(io.Discard, s.request(http.MethodGet, "/v1/docs/search?query=a", "", nil).Body)
	exposition, err := io.ReadAll(s.request(http.MethodGet, "/metrics", "", nil).Body)
	if err != nil {
		t.Fatal(err)
	}
	exported := map[string]map[string]bool{"up": {}} // labels by metric
	label := regexp.MustCompile(`(\w+)="`)
	for _, sample := range regexp.MustCompile(`(?m)^(\w+)(\{.*\})? \S+$`).FindAllStringSubmatch(string(exposition), -1) {
		if exported[sample[1]] == nil {
			exported[sample[1]] = map[string]bool{}
		}
		for _, found := range label.FindAllStringSubmatch(sample[2], -1) {
			exported[sample[1]][found[1]] = true
		}
	}
	expressions := rules(t)
	for _, p := range panels(t) {
		for i, target := range p.Targets {
			expressions[p.Title+string(rune('A'+i))] = target.Expr
		}
	}
	metric := regexp.MustCompile(`\b(up|(?:magpie|go|process)_\w+)\b(\{[^}]*\})?`)
	matcher := regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)
	grouping := regexp.MustCompile(`\bby \(([^)]*)\)`)
	for where, expression := range expressions {
		found := metric.FindAllStringSubmatch(expression, -1)
		if len(found) == 0 {
			t.Errorf("%s: no metric in %s", where, expression)
		}
		given := map[string]bool{"instance": true, "job": true} // by Prometheus
		for _, use := range found {
			labels := exported[use[1]]
			if labels == nil {
				t.Errorf("%s: no process exports %s", where, use[1])
			}
			maps.Copy(given, labels)
			for _, l := range matcher.FindAllStringSubmatch(use[2], -1) {
				if !labels[l[1]] && l[1] != "job" && l[1] != "instance" {
					t.Errorf("%s: %s has no label %s", where, use[1], l[1])
				}
			}
		}
		for _, list := range grouping.FindAllStringSubmatch(expression, -1) {
			for _, name := range strings.Split(list[1], ",") {
				if name = strings.TrimSpace(name); !given[name] {
					t.Errorf("%s: by %s, which is not among %v", where, name, slices.Sorted(maps.Keys(given)))
				}
			}
		}
	}
}
