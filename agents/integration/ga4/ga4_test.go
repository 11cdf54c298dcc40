package ga4_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/ga4"
	"github.com/magpie-search/magpie/agents/integration/integrationtest"
)

type object = integrationtest.Object

func setup(t *testing.T) integrationtest.Setup {
	t.Helper()
	stub := &integrationtest.Stub{
		Authorized: integrationtest.Bearer(map[string]string{"ya29.ada-token": "ada", "ya29.eve-token": "eve", "ya29.granted": "ada"}),
		Failure: func(status int, text string) any {
			return object{"error": object{"code": status, "message": text, "status": "X"}}
		},
	}
	stub.Handle("GET /v1beta/properties/{id}/metadata", func(c *integrationtest.Call) integrationtest.Answer {
		metrics := []object{{"apiName": "activeUsers", "uiName": "Active users"}}
		if c.Person == "ada" {
			metrics = append(metrics, object{"apiName": "customEvent:ada", "uiName": "Of Ada"})
		}
		return integrationtest.Answer{Body: object{"dimensions": []object{{"apiName": "country", "uiName": "Country"}}, "metrics": metrics}}
	})
	stub.Handle("POST /v1beta/properties/{method}", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Metrics, Dimensions []struct{ Name string }
			DateRanges          []struct{ StartDate, EndDate string }
			Limit               string
		}
		switch {
		case !c.Decode(&in) || in.Limit == "":
			return c.Invalid()
		case c.PathValue("method") == "5:runReport" && len(in.DateRanges) != 1, c.PathValue("method") == "5:runRealtimeReport" && len(in.DateRanges) != 0, len(in.Metrics) == 0:
			return integrationtest.Refused(http.StatusBadRequest, "wrong ranges")
		case in.Metrics[0].Name != "activeUsers":
			return integrationtest.Refused(http.StatusBadRequest, "Did you mean activeUsers? Field is not a valid metric.")
		}
		row := object{"dimensionValues": []object{{"value": "Iceland"}}, "metricValues": []object{{"value": "42"}}}
		return integrationtest.Answer{Body: object{"dimensionHeaders": in.Dimensions, "metricHeaders": []object{{"name": "activeUsers", "type": "TYPE_INTEGER"}}, "rows": []object{row}, "rowCount": 1}}
	})
	return integrationtest.Setup{
		Provider: ga4.Provider(), Server: stub, Token: "ya29.granted",
		Config:      func(url string) map[string]any { return map[string]any{"apiUrl": url, "propertyId": 5.0} },
		Credentials: map[string]string{"token": "ya29.ada-token"}, Other: map[string]string{"token": "ya29.eve-token"},
		Examples: map[string]integrationtest.Example{
			"run_report":                  {Arguments: `{"metrics": ["activeUsers"], "dimensions": ["country"], "start": "7daysAgo", "end": "today", "limit": 10}`, Want: []string{"Iceland", "42"}},
			"run_realtime_report":         {Arguments: `{"metrics": ["activeUsers"], "dimensions": ["country"], "limit": 10}`, Want: []string{"Iceland"}},
			"list_dimensions_and_metrics": {Arguments: `{}`, Want: []string{"country"}, Own: "customEvent:ada"},
		},
	}
}

func TestGoogleAnalyticsPassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, setup)
}

func TestAWrongMetricIsExplained(t *testing.T) {
	t.Parallel()
	f := integrationtest.Start(t, setup)
	if text := f.Fails(t, "run_realtime_report", `{"metrics": ["users"]}`); !strings.Contains(text, "not a valid metric") {
		t.Errorf("a wrong metric: %s", text)
	}
}
