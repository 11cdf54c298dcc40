package microsoft365

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
)

type group struct {
	ID          string `json:"id"`
	Name        string `json:"displayName"`
	Description string `json:"description,omitempty"`
	URL         string `json:"webUrl,omitempty"`
}

type noInput struct{}

func listTeams(ctx context.Context, a integration.Account, _ noInput) (loop.Result, error) {
	var out list[group]
	if err := api().Do(ctx, a, platform.Request{Path: "me/joinedTeams"}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"teams": out.Value}, "%d teams", len(out.Value))
}

type teamInput struct {
	Team string `json:"team_id" rule:"required,min=1,max=100"`
}

func listChannels(ctx context.Context, a integration.Account, in teamInput) (loop.Result, error) {
	var out list[group]
	if err := api().Do(ctx, a, platform.Request{Path: platform.Path("teams/%s/channels", in.Team)}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"channels": out.Value}, "%d channels", len(out.Value))
}

type postInput struct {
	Team    string `json:"team_id" rule:"required,min=1,max=100"`
	Channel string `json:"channel_id" rule:"required,min=1,max=200"`
	Text    string `json:"text" rule:"required,min=1,max=20000" about:"Plain text."`
}

// post posts a text. Teams keeps nothing beside it, so the mark of the call is its last
// line.
func post(ctx context.Context, a integration.Account, in postInput) (loop.Result, error) {
	var out struct {
		ID  string `json:"id"`
		URL string `json:"webUrl"`
	}
	r := platform.Request{
		Method: http.MethodPost, Path: platform.Path("teams/%s/channels/%s/messages", in.Team, in.Channel),
		Body: map[string]any{"body": map[string]any{"contentType": "text", "content": integration.Marked(ctx, in.Text)}},
	}
	if err := api().Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "A message was posted")
}

type filesInput struct {
	Words string `json:"words" rule:"required,min=1,max=300"`
	Limit int    `json:"limit" rule:"min=1,max=50" about:"20 when left out."`
}

func searchFiles(ctx context.Context, a integration.Account, in filesInput) (loop.Result, error) {
	if in.Limit == 0 {
		in.Limit = 20
	}
	type hit struct {
		Summary  string `json:"summary"`
		Resource struct {
			ID       string `json:"id"`
			Name     string `json:"name"`
			URL      string `json:"webUrl"`
			Modified string `json:"lastModifiedDateTime,omitempty"`
		} `json:"resource"`
	}
	var out list[struct {
		Containers []struct {
			Hits  []hit `json:"hits"`
			Total int   `json:"total"`
		} `json:"hitsContainers"`
	}]
	body := map[string]any{"requests": []any{map[string]any{
		"entityTypes": []string{"driveItem", "listItem"}, "query": map[string]any{"queryString": in.Words}, "from": 0, "size": in.Limit,
	}}}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Reads: true, Path: "search/query", Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	hits, total := []hit{}, 0
	for _, answer := range out.Value {
		for _, c := range answer.Containers {
			hits, total = append(hits, c.Hits...), total+c.Total
		}
	}
	return integration.Result(map[string]any{"files": hits, "total": total}, "%d files found", total)
}

type sitesInput struct {
	Words string `json:"words" rule:"required,min=1,max=200"`
}

func listSites(ctx context.Context, a integration.Account, in sitesInput) (loop.Result, error) {
	var out list[group]
	if err := api().Do(ctx, a, platform.Request{Path: "sites", Query: url.Values{"search": {in.Words}, "$top": {strconv.Itoa(25)}}}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"sites": out.Value}, "%d sites", len(out.Value))
}

type pageInput struct {
	Site  string `json:"site_id" rule:"required,min=1,max=300" about:"Of sharepoint_list_sites."`
	Title string `json:"title" rule:"required,min=1,max=200"`
	Text  string `json:"text" rule:"required,min=1,max=50000" about:"Plain text; an empty line begins a paragraph."`
}

// createPage creates a page that is not published. Its description has the mark of the
// call.
func createPage(ctx context.Context, a integration.Account, in pageInput) (loop.Result, error) {
	var paragraphs strings.Builder
	for text := range strings.SplitSeq(strings.ReplaceAll(in.Text, "\r\n", "\n"), "\n\n") {
		paragraphs.WriteString("<p>" + strings.ReplaceAll(html.EscapeString(text), "\n", "<br>") + "</p>")
	}
	column := map[string]any{"id": "1", "width": 12, "webparts": []any{map[string]any{"@odata.type": "#microsoft.graph.textWebPart", "innerHtml": paragraphs.String()}}}
	body := map[string]any{
		"@odata.type": "#microsoft.graph.sitePage", "title": in.Title, "pageLayout": "article", "description": integration.Marker(ctx),
		"canvasLayout": map[string]any{"horizontalSections": []any{map[string]any{"layout": "oneColumn", "id": "1", "columns": []any{column}}}},
	}
	var out struct {
		ID    string `json:"id"`
		Title string `json:"title"`
		URL   string `json:"webUrl"`
	}
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: platform.Path("sites/%s/pages", in.Site), Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "The page %s was created", out.Title)
}
