package all

import (
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/clickhouse"
	"github.com/magpie-search/magpie/connectors/confluence"
	"github.com/magpie-search/magpie/connectors/fileupload"
	"github.com/magpie-search/magpie/connectors/github"
	"github.com/magpie-search/magpie/connectors/gitlab"
	"github.com/magpie-search/magpie/connectors/googledrive"
	"github.com/magpie-search/magpie/connectors/hubspot"
	"github.com/magpie-search/magpie/connectors/jira"
	"github.com/magpie-search/magpie/connectors/mssql"
	"github.com/magpie-search/magpie/connectors/mysql"
	"github.com/magpie-search/magpie/connectors/notion"
	"github.com/magpie-search/magpie/connectors/postgresql"
	"github.com/magpie-search/magpie/connectors/s3"
	"github.com/magpie-search/magpie/connectors/salesforce"
	"github.com/magpie-search/magpie/connectors/servicenow"
	"github.com/magpie-search/magpie/connectors/sharepoint"
	"github.com/magpie-search/magpie/connectors/slack"
	"github.com/magpie-search/magpie/connectors/webcrawler"
)

// Deps are the dependencies of connectors on the process.
type Deps struct {
	// Files are the uploaded files.
	Files fileupload.Files
	// Dial connects to addresses that users choose. It refuses addresses that
	// must not be reached.
	Dial connectors.Dial
}

// Registry returns the registry of all kinds. A new kind is one more line here.
func Registry(d Deps) (*connectors.Registry, error) {
	return connectors.NewRegistry(
		fileupload.Kind(d.Files),
		github.Kind(d.Dial),
		gitlab.Kind(d.Dial),
		s3.Kind(d.Dial),
		slack.Kind(d.Dial),
		webcrawler.Kind(d.Dial),
		postgresql.Kind(d.Dial),
		mysql.Kind(d.Dial),
		clickhouse.Kind(d.Dial),
		mssql.Kind(d.Dial),
		confluence.Kind(d.Dial),
		jira.Kind(d.Dial),
		notion.Kind(d.Dial),
		googledrive.Kind(d.Dial),
		salesforce.Kind(d.Dial),
		sharepoint.Kind(d.Dial),
		hubspot.Kind(d.Dial),
		servicenow.Kind(d.Dial),
	)
}
