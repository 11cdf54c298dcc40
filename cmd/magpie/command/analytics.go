package command

import (
	"fmt"
	"strconv"
	"time"

	"github.com/magpie-search/magpie/internal/client"
)

type analyticsCommand struct {
	Days       int    `default:"30" help:"Days up to today, in UTC."`
	First      int    `default:"10" help:"Length of the lists, 1 to 100."`
	Collection string `help:"Only questions to this collection (id or name)."`
	Key        string `help:"Only questions by this pair of keys (id or name)."`
}

type queryRow struct {
	Query        string    `json:"query"`
	Count        int       `json:"count"`
	ZeroResults  int       `json:"zeroResults"`
	Clicks       int       `json:"clicks"`
	AverageScore *float64  `json:"averageScore"`
	LastAt       time.Time `json:"lastAt"`
}

type analyticsRow struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Totals struct {
		Searches    int     `json:"searches"`
		Chats       int     `json:"chats"`
		ZeroResults int     `json:"zeroResults"`
		ZeroRate    float64 `json:"zeroResultRate"`
		Clicks      int     `json:"clicks"`
		ClickRate   float64 `json:"clickThroughRate"`
		ClickRank   float64 `json:"meanReciprocalClickRank"`
		Positive    int     `json:"positiveFeedback"`
		Negative    int     `json:"negativeFeedback"`
		P50         float64 `json:"p50Ms"`
		P95         float64 `json:"p95Ms"`
	} `json:"totals"`
	Daily []struct {
		Date        string `json:"date"`
		Searches    int    `json:"searches"`
		Chats       int    `json:"chats"`
		ZeroResults int    `json:"zeroResults"`
		Clicks      int    `json:"clicks"`
		Positive    int    `json:"positiveFeedback"`
		Negative    int    `json:"negativeFeedback"`
	} `json:"daily"`
	Top       []queryRow `json:"topQueries"`
	Zero      []queryRow `json:"zeroResultQueries"`
	LowScore  []queryRow `json:"lowScoreQueries"`
	Unclicked []queryRow `json:"unclickedQueries"`
}

// Run prints what was asked.
func (c analyticsCommand) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		if c.Days < 1 {
			return usagef("--days must be 1 or more")
		}
		now := time.Now().UTC()
		v := client.Variables{"first": c.First, "to": now.Format(time.RFC3339), "from": now.AddDate(0, 0, 1-c.Days).Format(time.RFC3339)}
		if c.Collection != "" {
			id, err := collectionID(r, api, c.Collection)
			if err != nil {
				return err
			}
			v["collection"] = id
		}
		if c.Key != "" {
			id, err := keyID(r, api, c.Key)
			if err != nil {
				return err
			}
			v["key"] = id
		}
		var answer struct {
			Analytics analyticsRow `json:"analytics"`
		}
		if err := api.Do(r, "Analytics", v, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Analytics, func() { printAnalytics(r, &answer.Analytics) })
	})
}

func printAnalytics(r *runtime, a *analyticsRow) {
	t := a.Totals
	share := func(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }
	r.console.Pairs(
		[2]string{"days", a.From.Format(time.DateOnly) + " to " + a.To.Format(time.DateOnly)},
		[2]string{"searches", strconv.Itoa(t.Searches)},
		[2]string{"chat questions", strconv.Itoa(t.Chats)},
		[2]string{"without results", fmt.Sprintf("%d (%s)", t.ZeroResults, share(t.ZeroRate))},
		[2]string{"clicks", fmt.Sprintf("%d (%s of questions, mean reciprocal rank %.2f)", t.Clicks, share(t.ClickRate), t.ClickRank)},
		[2]string{"feedback", fmt.Sprintf("%d positive, %d negative", t.Positive, t.Negative)},
		[2]string{"search time", fmt.Sprintf("p50 %.1f ms, p95 %.1f ms", t.P50, t.P95)},
	)
	for _, list := range []struct {
		title, empty string
		rows         []queryRow
	}{
		{"ASKED MOST", "Nothing was asked, or no texts are kept (QUERY_LOG).", a.Top},
		{"FOUND NOTHING", "Every question found something.", a.Zero},
		{"LOW SCORE", "", a.LowScore},
		{"NEVER CLICKED", "", a.Unclicked},
	} {
		if len(list.rows) == 0 && list.empty == "" {
			continue
		}
		table := make([][]string, 0, len(list.rows))
		for _, q := range list.rows {
			score := "-"
			if q.AverageScore != nil {
				score = fmt.Sprintf("%.2f", *q.AverageScore)
			}
			table = append(table, []string{q.Query, strconv.Itoa(q.Count), strconv.Itoa(q.ZeroResults), strconv.Itoa(q.Clicks), score, moment(&q.LastAt)})
		}
		r.console.Printf("\n")
		r.console.Table([]string{list.title, "COUNT", "NOTHING", "CLICKS", "SCORE", "LAST"}, table, list.empty)
	}
}
