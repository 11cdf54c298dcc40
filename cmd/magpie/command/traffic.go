package command

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
)

// qualityRun is a measurement of search quality by traffic.
type qualityRun struct {
	ID         *uuid.UUID        `json:"id"` // nil with too little traffic
	Collection uuid.UUID         `json:"collectionId"`
	MeasuredAt time.Time         `json:"measuredAt"`
	Days       int               `json:"days"`
	Questions  int               `json:"questionCount"`
	Judged     int               `json:"judged"`
	NDCG10     *float64          `json:"ndcg10"`
	MRR10      *float64          `json:"mrr10"`
	ZeroRate   float64           `json:"zeroResultRate"`
	LowRate    float64           `json:"lowScoreRate"`
	Note       *string           `json:"note"`
	Rows       []qualityQuestion `json:"questions"`
}

type qualityQuestion struct {
	Query            string   `json:"query"`
	Asked            int      `json:"asked"`
	Clicks           int      `json:"clicks"`
	Relevant         int      `json:"relevant"`
	NDCG10           *float64 `json:"ndcg10"`
	MRR10            *float64 `json:"mrr10"`
	Results          int      `json:"results"`
	TopScore         *float64 `json:"topScore"`
	Change           string   `json:"change"`
	PreviousNDCG10   *float64 `json:"previousNdcg10"`
	PreviousTopScore *float64 `json:"previousTopScore"`
}

// fromTraffic measures the named collection, or all of them.
func (c *evalCommand) fromTraffic(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		collections, err := client.List[client.Collection](r, api, "ListCollections", nil, 0)
		if err != nil {
			return err
		}
		if c.Collection != "" {
			id, err := collectionID(r, api, c.Collection)
			if err != nil {
				return err
			}
			named := []client.Collection{{ID: id, Name: c.Collection}}
			for _, row := range collections {
				if row.ID == id {
					named[0] = row
				}
			}
			collections = named
		}
		runs := make([]qualityRun, 0, len(collections))
		names := make([]string, 0, len(collections))
		for _, row := range collections {
			var got struct{ Run qualityRun }
			if err := api.Do(r, "MeasureSearchQuality", client.Variables{"collection": row.ID, "days": c.Days}, &got); err != nil {
				return err
			}
			runs, names = append(runs, got.Run), append(names, row.Name)
		}
		if len(runs) == 0 {
			return errors.New("there is no collection; `magpie collections create` makes one")
		}
		return r.console.Result(runs, func() {
			for i := range runs {
				printQuality(r, names[i], &runs[i])
			}
		})
	})
}

func printQuality(r *runtime, name string, run *qualityRun) {
	if run.Questions == 0 {
		r.console.Printf("%s\n", r.console.Wrap(name+": "+text(run.Note), ""))
		return
	}
	figure := func(x *float64) string {
		if x == nil {
			return "-"
		}
		return fmt.Sprintf("%.3f", *x)
	}
	r.console.Pairs(
		[2]string{"collection", name},
		[2]string{"questions", fmt.Sprintf("%d in %d days, %d of them judged", run.Questions, run.Days, run.Judged)},
		[2]string{"nDCG@10", figure(run.NDCG10)},
		[2]string{"MRR@10", figure(run.MRR10)},
		[2]string{"without results", fmt.Sprintf("%.1f%%", 100*run.ZeroRate)},
		[2]string{"low score", fmt.Sprintf("%.1f%%", 100*run.LowRate)},
	)
	table := make([][]string, 0, len(run.Rows))
	for i := range run.Rows {
		q := &run.Rows[i]
		change := strings.ToLower(q.Change)
		if q.PreviousNDCG10 != nil {
			change += ", was " + figure(q.PreviousNDCG10)
		}
		table = append(table, []string{q.Query, strconv.Itoa(q.Asked), strconv.Itoa(q.Clicks), figure(q.NDCG10), figure(q.TopScore), change})
	}
	r.console.Printf("\n")
	r.console.Table([]string{"QUESTION", "ASKED", "CLICKS", "NDCG@10", "SCORE", "SINCE THE LAST RUN"}, table, "No texts of questions are kept.")
	if note := text(run.Note); note != "" {
		r.console.Note("%s", note)
	}
}
