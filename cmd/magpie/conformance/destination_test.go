package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/testkit/driveserver"
	"github.com/magpie-search/magpie/internal/viewer"
)

// moved says of each kind with credentials how a connector is made and which
// change of its config leads them elsewhere, by the option that does.
func moved(t *testing.T) map[string]struct {
	config, credentials string
	away                map[string]string
	same                string
} {
	t.Helper()
	drive := driveserver.New()
	defer drive.Close()
	account, err := json.Marshal(drive.ServiceAccount())
	must(t, err)
	const database = `{"host":"db.example.com","database":"a","%s":"require","caCertificate":""}`
	return map[string]struct {
		config, credentials string
		away                map[string]string
		same                string
	}{
		"github": {`{"repos":["a/b"],"apiUrl":"https://github.example.com/api/v3"}`, `{"token":"t0ken-old","webhookSecret":"s3cret-old"}`,
			map[string]string{"apiUrl": `{"apiUrl":"https://evil.example.com/api/v3"}`}, `{"apiUrl":"https://GITHUB.example.com:443/api/v3/"}`},
		"slack": {`{"apiUrl":"https://slack-gov.com/api"}`, `{"botToken":"xoxb-old","signingSecret":"s3cret-old"}`,
			map[string]string{"apiUrl": `{"apiUrl":null}`}, `{"apiUrl":"https://slack-gov.com/api/"}`},
		"confluence": {`{"instanceUrl":"https://wiki.example.com"}`, `{"personalAccessToken":"t0ken-old"}`,
			map[string]string{"instanceUrl": `{"instanceUrl":"http://wiki.example.com"}`}, `{"instanceUrl":"wiki.example.com."}`},
		"jira": {`{"instanceUrl":"https://jira.example.com"}`, `{"personalAccessToken":"t0ken-old"}`,
			map[string]string{"instanceUrl": `{"instanceUrl":"http://jira.example.com"}`, "apiUrl": `{"apiUrl":"https://evil.example.com"}`}, `{"instanceUrl":"jira.example.com/browse/ENG-1"}`},
		"google_drive": {`{"apiUrl":"https://proxy.example.com"}`, `{"serviceAccountJson":` + string(account) + `}`, map[string]string{
			"apiUrl": `{"apiUrl":"https://evil.example.com"}`, "authUrl": `{"authUrl":"https://evil.example.com"}`, "directoryUrl": `{"directoryUrl":"https://evil.example.com"}`,
		}, `{"apiUrl":"https://PROXY.example.com:443/google"}`},
		"sharepoint": {`{"sites":["https://acme.sharepoint.com/sites/a"],"graphUrl":"https://graph.microsoft.com"}`, `{"tenantId":"acme","clientId":"app","clientSecret":"s3cret-old"}`,
			map[string]string{
				"graphUrl": `{"graphUrl":"https://graph.microsoft.us"}`, "authUrl": `{"authUrl":"https://login.microsoftonline.us"}`, "domainSuffix": `{"domainSuffix":"evil.example.com"}`,
			}, `{"graphUrl":"https://GRAPH.microsoft.com:443/v1.0","sites":["https://acme.sharepoint.com/sites/b"]}`},
		"gitlab": {`{"instanceUrl":"https://gitlab.example.com"}`, `{"token":"t0ken-old","webhookSecret":"s3cret-old"}`,
			map[string]string{"instanceUrl": `{"instanceUrl":null}`, "apiUrl": `{"apiUrl":"https://evil.example.com"}`}, `{"instanceUrl":"https://GitLab.example.com:443/"}`},
		"salesforce": {`{"instanceUrl":"https://acme.my.salesforce.com"}`, `{"clientId":"app","clientSecret":"s3cret-old"}`,
			map[string]string{"instanceUrl": `{"instanceUrl":"https://evil.my.salesforce.com"}`, "authUrl": `{"authUrl":"https://evil.example.com"}`}, `{"instanceUrl":"https://ACME.my.salesforce.com:443/"}`},
		"notion": {`{}`, `{"integrationToken":"t0ken-old"}`,
			map[string]string{"apiUrl": `{"apiUrl":"https://evil.example.com"}`}, `{"apiUrl":"https://api.notion.com/v1"}`},
		"servicenow": {`{"instanceUrl":"https://acme.service-now.com"}`, `{"apiKey":"t0ken-old"}`,
			map[string]string{"instanceUrl": `{"instanceUrl":"https://evil.example.com"}`}, `{"instanceUrl":"https://ACME.service-now.com:443/"}`},
		"hubspot": {`{}`, `{"accessToken":"t0ken-old"}`,
			map[string]string{"apiUrl": `{"apiUrl":"https://evil.example.com"}`}, `{"apiUrl":"https://api.hubapi.com","objects":["deals"]}`},
		"s3": {`{"bucket":"docs","endpoint":"https://minio.example.com"}`, `{"accessKeyId":"id","secretAccessKey":"s3cret-old"}`,
			map[string]string{"endpoint": `{"endpoint":"https://minio.example.com:9000"}`}, `{"bucket":"other","prefix":"p/"}`},
		"web_crawler": {`{"startUrls":["https://docs.example.com/"]}`, `{"bearerToken":"t0ken-old"}`,
			map[string]string{"startUrls": `{"startUrls":["https://docs.example.com/","https://evil.example.com/"]}`}, `{"startUrls":["https://docs.example.com/a"]}`},
		"postgresql": {fmt.Sprintf(database, "sslMode"), `{"user":"u","password":"s3cret-old"}`,
			map[string]string{"host": `{"host":"evil.example.com"}`, "port": `{"port":6432}`, "sslMode": `{"sslMode":"disable"}`, "caCertificate": `{"caCertificate":"x"}`},
			`{"host":"DB.example.com","port":5432,"database":"b"}`},
		"mysql": {fmt.Sprintf(database, "tls"), `{"user":"u","password":"s3cret-old"}`,
			map[string]string{"host": `{"host":"evil.example.com"}`, "port": `{"port":3307}`, "tls": `{"tls":"prefer"}`, "caCertificate": `{"caCertificate":"x"}`},
			`{"host":"db.example.com.","port":3306}`},
		"mssql": {`{"host":"db.example.com","database":"a","encrypt":"true","trustServerCertificate":false}`, `{"username":"u","password":"s3cret-old"}`,
			map[string]string{
				"host": `{"host":"evil.example.com"}`, "port": `{"port":1434}`, "encrypt": `{"encrypt":"false"}`, "trustServerCertificate": `{"trustServerCertificate":true}`, "caCertificate": `{"caCertificate":"x"}`,
			}, `{"host":"db.example.com.","port":1433,"database":"b"}`},
		"clickhouse": {`{"host":"db.example.com","database":"a","secure":true,"port":8443}`, `{"username":"u","password":"s3cret-old"}`,
			map[string]string{"host": `{"host":"evil.example.com"}`, "port": `{"port":8123}`, "secure": `{"secure":false}`, "caCertificate": `{"caCertificate":"x"}`},
			`{"host":"db.example.com.","database":"b"}`},
	}
}

func TestCredentialsStayWithTheirHost(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	cases := moved(t)
	for _, kind := range s.app.Kinds.Kinds() {
		c, listed := cases[kind.Name]
		if !listed && len(kind.Credentials) > 0 {
			t.Errorf("%s has no case", kind.Name)
		}
		for _, option := range kind.Options {
			if option.Destination && c.away[option.Name] == "" {
				t.Errorf("%s has no case of config.%s", kind.Name, option.Name)
			}
		}
		if !listed {
			continue
		}
		id := s.connectorWithDeliveries(t, kind.Name, c.config, c.credentials)
		path := "/api/v1/connectors/" + id
		stored := func() string {
			return fmt.Sprint(data(t, "the connector", s.atDashboard(t, "GET", path, ""), 200)["config"])
		}
		before := stored()
		for option, change := range c.away {
			for what, a := range map[string]answer{
				"PUT":                s.atDashboard(t, "PUT", path, `{"config":`+change+`}`),
				"PUT with a name":    s.atDashboard(t, "PUT", path, `{"name":"x","config":`+change+`,"credentials":{}}`),
				"a test of a change": s.atDashboard(t, "POST", path+"/test", `{"config":`+change+`}`),
			} {
				rejected(t, kind.Name+": "+what, a, 400, "invalid_request", "")
				if !strings.Contains(a.body, `"config.`+option+`: `) || !strings.Contains(a.body, "credentials.") || strings.Contains(a.body, "-old") {
					t.Errorf("%s, %s: %s", kind.Name, what, a.body)
				}
			}
			if a := s.mutate(t, `mutation($i: ID!, $c: Map) { updateConnector(id: $i, input: {config: $c}) { id } }`, id, change); !strings.Contains(a.body, `config.`+option) || !strings.Contains(a.body, "invalid_request") {
				t.Errorf("%s by GraphQL: %s", kind.Name, a.body)
			}
			if a := s.mutate(t, `mutation($i: ID!, $c: Map) { testConnector(id: $i, config: $c) { ok } }`, id, change); !strings.Contains(a.body, `config.`+option) || !strings.Contains(a.body, "invalid_request") {
				t.Errorf("%s, tested by GraphQL: %s", kind.Name, a.body)
			}
		}
		if after := stored(); after != before {
			t.Errorf("%s was changed all the same: %s", kind.Name, after)
		}
		if a := s.atDashboard(t, "PUT", path, `{"config":`+c.same+`}`); a.status != 200 {
			t.Errorf("%s, the same host: %d %s", kind.Name, a.status, a.body)
		}
		for option, change := range c.away {
			if option == "caCertificate" {
				continue // x is none
			}
			if a := s.atDashboard(t, "PUT", path, `{"config":`+change+`,"credentials":`+strings.ReplaceAll(c.credentials, "-old", "-new")+`}`); a.status != 200 {
				t.Errorf("%s, with credentials: %d %s", kind.Name, a.status, a.body)
			}
		}
		delete(cases, kind.Name)
	}
	if len(cases) > 0 {
		t.Errorf("there are no such kinds: %v", cases)
	}
	// Half of the credentials is not all of them.
	id := s.connectorWithDeliveries(t, "github", `{"repos":["a/b"]}`, `{"token":"t0ken-old","webhookSecret":"s3cret-old"}`)
	a := s.atDashboard(t, "PUT", "/api/v1/connectors/"+id, `{"config":{"apiUrl":"https://evil.example.com"},"credentials":{"token":"new"}}`)
	rejected(t, "half of them", a, 400, "invalid_request", "")
	if !strings.Contains(a.body, "credentials.webhookSecret") || strings.Contains(a.body, "credentials.token") {
		t.Errorf("what is missing: %s", a.body)
	}
	// What is taken away stays with nobody.
	if a := s.atDashboard(t, "PUT", "/api/v1/connectors/"+id, `{"config":{"apiUrl":"https://evil.example.com/api/v3"},"credentials":{"token":"new","webhookSecret":null}}`); a.status != 200 {
		t.Errorf("one new, one taken away: %d %s", a.status, a.body)
	}
}

// mutate runs a mutation on a connector with a change of its config.
func (s *site) mutate(t *testing.T, query, id, change string) answer {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": map[string]any{"i": id, "c": json.RawMessage(change)}})
	must(t, err)
	return s.do(t, call{http.MethodPost, "/graphql", string(body), []string{"Authorization", "Bearer " + s.token}})
}

// The operator took a key away with which credentials were sealed.
func TestCredentialsOfALostKeyAreGivenAnew(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	box, err := secret.NewBox(map[string][]byte{"gone-2024": bytes.Repeat([]byte{1}, secret.KeyBytes)}, "gone-2024")
	must(t, err)
	ctx := viewer.With(t.Context(), viewer.System(s.workspace))
	lose := func(id string) {
		t.Helper()
		sealed, err := credential.NewVault(box).Seal(uuid.MustParse(id), map[string]string{"token": "t0ken-old"})
		must(t, err)
		must(t, s.app.DB.Ent.Connector.UpdateOneID(uuid.MustParse(id)).SetCredentials(sealed).Exec(ctx))
	}
	id := s.connectorWithDeliveries(t, "github", `{"repos":["a/b"]}`, `{"token":"t0ken-old"}`)
	path := "/api/v1/connectors/" + id
	lose(id)
	for _, target := range []string{path, "/api/v1/connectors"} {
		if a := s.atDashboard(t, "GET", target, ""); a.status != 200 || !strings.Contains(a.body, id) {
			t.Errorf("GET %s: %d %s", target, a.status, a.body)
		}
	}
	tested := data(t, "a test", s.atDashboard(t, "POST", path+"/test", ""), 200)
	details, _ := tested["details"].(map[string]any)
	if message, _ := tested["message"].(string); tested["ok"] != false || details["needsAuth"] != true || !strings.Contains(message, `"gone-2024"`) || !strings.Contains(message, "SECRET_KEYS") {
		t.Errorf("a test says %v", tested)
	}
	if a := s.atDashboard(t, "PUT", path, `{"name":"Renamed"}`); a.status != 200 {
		t.Errorf("another name: %d %s", a.status, a.body)
	}
	a := s.atDashboard(t, "PUT", path, `{"config":{"branch":"main"}}`)
	rejected(t, "another branch", a, 400, "invalid_request", "")
	if !strings.Contains(a.body, "credentials: ") || !strings.Contains(a.body, "gone-2024") {
		t.Errorf("another branch: %s", a.body)
	}
	rejected(t, "half of the credentials", s.atDashboard(t, "PUT", path, `{"credentials":{"webhookSecret":"w"}}`), 400, "invalid_request", "")
	if a := s.atDashboard(t, "PUT", path, `{"config":{"apiUrl":"https://github.example.com/api/v3"},"credentials":{"token":"t0ken-new"}}`); a.status != 200 {
		t.Errorf("new credentials: %d %s", a.status, a.body)
	}
	row, err := s.app.DB.Ent.Connector.Get(ctx, uuid.MustParse(id))
	must(t, err)
	if opened, err := credential.NewVault(s.app.Secrets).Open(row.ID, row.Credentials); err != nil || opened["token"] != "t0ken-new" {
		t.Errorf("what is stored opens to %v, %v", opened, err)
	}
	lose(id)
	if a := s.atDashboard(t, "DELETE", path, ""); a.status != 204 {
		t.Errorf("deleted: %d %s", a.status, a.body)
	}
}
