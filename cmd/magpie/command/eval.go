package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/eval"
	"github.com/magpie-search/magpie/internal/model/embed"
)

type evalCommand struct {
	Sets    []string `name:"set" placeholder:"DIR" help:"A judged set: a folder of corpus.jsonl, queries.jsonl and qrels.tsv; may be given several times."`
	Modes   []string `name:"mode" placeholder:"MODE" enum:"lexical,dense,hybrid" help:"Only this way to rank (lexical, dense, hybrid); may be given several times."`
	File    string   `name:"run" type:"path" placeholder:"FILE" help:"Write the ranking, of hybrid or the only --mode, as a TREC run; - is the standard output."`
	Scores  bool     `help:"Also show what min_score 0.3, 0.5 and 0.7 do: how many questions keep an answer, and, with several sets, how many questions of the others, which have none, find nothing; how many documents are relevant by tenths of the score; and, in each language of a set, what becomes of questions about one half of the articles that are put to the other half."`
	Answers bool     `help:"Also answer the questions that have known answers, as the chat does without a model: how many answers have the known text, from the documents in the question's language and from all; and how many questions about one half of the articles find nothing in the other half."`
	Model   string   `help:"The embedding model; the installation's default when left out."`

	FromTraffic bool   `help:"Instead of a set, use the questions that people asked at least 3 times, and the documents that they clicked or rated; needs the database."`
	Collection  string `help:"With --from-traffic, only this collection (id or name)."`
	Days        int    `default:"30" help:"With --from-traffic, days of traffic up to now, 1 to 366."`

	SQL       string `name:"sql" type:"path" placeholder:"DIR" help:"Instead of a set, use questions about databases: CSV files with question, query (a right statement) and db_name, and scripts NAME_pgsql.sql that make the databases. Shows how many of the needed tables are found and, with a chat model, how many of its statements have the right rows."`
	Attached  bool   `help:"With --sql, use the attached databases with those names, instead of making them."`
	Samples   bool   `name:"sample-rows" help:"With --sql and without --attached, the databases show rows, so that values of columns are found, too."`
	As        string `placeholder:"EMAIL" help:"With --sql, the member for whom the agent runs; an owner when left out."`
	Questions int    `placeholder:"N" help:"With --sql, at most N questions about each database."`
}

// evaluated is a line of the result.
type evaluated struct {
	Set       string  `json:"set"`
	Language  string  `json:"language,omitempty"` // of the questions; all if empty
	Mode      string  `json:"mode"`
	NDCG10    float64 `json:"ndcg@10"`
	Recall100 float64 `json:"recall@100"`
	MRR10     float64 `json:"mrr@10"`
	Questions int     `json:"questions"`
}

// Run measures search quality on judged sets, in memory: no server is needed. With
// --from-traffic it measures the collections of the installation.
func (c *evalCommand) Run(r *runtime) error {
	switch {
	case c.FromTraffic && len(c.Sets) > 0, c.SQL != "" && (c.FromTraffic || len(c.Sets) > 0):
		return usagef("give one of --set, --from-traffic and --sql")
	case c.SQL != "":
		return c.sql(r)
	case c.FromTraffic:
		return c.fromTraffic(r)
	case len(c.Sets) == 0:
		return usagef("give --set DIR, a judged set, or --from-traffic, or --sql DIR")
	}
	var modes []eval.Mode
	for _, m := range eval.Modes() {
		if len(c.Modes) == 0 || slices.Contains(c.Modes, m.Name) {
			modes = append(modes, m)
		}
	}
	written := modes[len(modes)-1].Name // hybrid comes last
	if c.File != "" && len(c.Sets) > 1 {
		return usagef("--run writes the ranking of one set: give one --set")
	}
	settings, err := r.settings(nil)
	if err != nil {
		return err
	}
	models, closeModels, err := wire.Embedders(settings, nil)
	if err != nil {
		return err
	}
	defer closeModels()
	embedder := models.Default()
	if c.Model != "" {
		var known bool
		if embedder, known = models.Lookup(c.Model); !known {
			return fmt.Errorf("--model %s is not set up here; there are %s", c.Model, strings.Join(models.Names(), ", "))
		}
	}
	var all []evaluated
	for _, folder := range c.Sets {
		lines, err := c.evaluate(r, folder, modes, written, embedder)
		if err != nil {
			return err
		}
		all = append(all, lines...)
	}
	if c.Scores {
		if err := c.confidences(r, embedder); err != nil {
			return err
		}
	}
	if c.Answers {
		if err := c.answers(r, embedder); err != nil {
			return err
		}
	}
	if r.JSON {
		out := json.NewEncoder(r.streams.Out)
		out.SetIndent("", "  ")
		return out.Encode(all)
	}
	return nil
}

func (c *evalCommand) evaluate(r *runtime, folder string, modes []eval.Mode, written string, e embed.Embedder) ([]evaluated, error) {
	set, err := eval.Load(folder)
	if err != nil {
		return nil, err
	}
	evaluator, err := eval.NewEvaluator(r, set, analysis.New(), e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", set.Name, err)
	}
	var lines []evaluated
	for _, mode := range modes {
		run, err := evaluator.Run(r, mode.Rank)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", set.Name, err)
		}
		f := evaluator.Figures(run)
		found := []evaluated{{set.Name, "", mode.Name, f.NDCG10, f.Recall100, f.MRR10, f.Questions}}
		languages := evaluator.FiguresByLanguage(run)
		if len(languages) > 1 {
			for _, language := range slices.Sorted(maps.Keys(languages)) {
				f := languages[language]
				found = append(found, evaluated{set.Name, language, mode.Name, f.NDCG10, f.Recall100, f.MRR10, f.Questions})
			}
		}
		lines = append(lines, found...)
		if !r.JSON {
			to := r.streams.Out
			if c.File == "-" {
				to = r.streams.Err // the run has the output to itself
			}
			for _, f := range found {
				name := f.Set
				if f.Language != "" {
					name += " in " + f.Language
				}
				_, _ = fmt.Fprintf(to, "%s %s ndcg@10 %.4f recall@100 %.4f mrr@10 %.4f\n", name, f.Mode, f.NDCG10, f.Recall100, f.MRR10)
			}
		}
		if c.File != "" && mode.Name == written {
			if err := c.write(r, run, set, mode.Name); err != nil {
				return nil, err
			}
		}
	}
	return lines, nil
}

// answers shows how well the answerer without a model does on each set.
func (c *evalCommand) answers(r *runtime, e embed.Embedder) error {
	for _, folder := range c.Sets {
		set, err := eval.Load(folder)
		if err != nil {
			return err
		}
		languages, err := eval.MeasureAnswers(r, set, analysis.New(), e)
		if err != nil {
			return fmt.Errorf("%s: %w", set.Name, err)
		}
		if len(languages) == 0 {
			_, _ = fmt.Fprintf(r.streams.Err, "%s answers: no question has a known answer\n", set.Name)
		}
		for i := range languages {
			a := &languages[i]
			name := set.Name + " answers"
			if a.Language != "" {
				name += " in " + a.Language
			}
			_, _ = fmt.Fprintf(r.streams.Err, "%s: %d questions, %.1f %% answered, %.1f %% with the known answer, %.1f %% with all languages together; %.1f sentences, %.0f characters\n",
				name, a.Questions, 100*a.Found, 100*a.Right, 100*a.Mixed, a.Sentences, a.Characters)
			if a.Unanswerable > 0 {
				_, _ = fmt.Fprintf(r.streams.Err, "%s, halves: %.1f %% of the questions about a half are answered, %.1f %% of %d about the other half find nothing\n",
					name, 100*a.Kept, 100*a.Silent, a.Unanswerable)
			}
		}
	}
	return nil
}

// confidences shows what least scores do to each set.
func (c *evalCommand) confidences(r *runtime, e embed.Embedder) error {
	sets := make([]*eval.Set, len(c.Sets))
	for i, folder := range c.Sets {
		var err error
		if sets[i], err = eval.Load(folder); err != nil {
			return err
		}
	}
	for _, set := range sets {
		evaluator, err := eval.NewEvaluator(r, set, analysis.New(), e)
		if err != nil {
			return fmt.Errorf("%s: %w", set.Name, err)
		}
		for _, asked := range sets {
			own := asked == set
			var found eval.Confidence
			what := "keep an answer"
			if own {
				found, err = evaluator.Answerable(r)
			} else {
				found, err = evaluator.Unanswerable(r, asked)
				what = "find nothing"
			}
			if err != nil {
				return fmt.Errorf("%s: %w", set.Name, err)
			}
			shares := found.Kept
			if !own {
				shares = found.Silent
			}
			_, _ = fmt.Fprintf(r.streams.Err, "%s asked %s: %d questions, at", set.Name, asked.Name, found.Questions)
			for i, level := range eval.MinScores() {
				_, _ = fmt.Fprintf(r.streams.Err, " %.1f %.1f %%", level, 100*shares[i])
			}
			_, _ = fmt.Fprintf(r.streams.Err, " %s\n", what)
			if own {
				c.reliability(r, &found.Calibration)
			}
		}
		halves, err := eval.MeasureHalves(r, set, analysis.New(), e)
		if err != nil {
			return fmt.Errorf("%s: %w", set.Name, err)
		}
		for i := range halves {
			h := &halves[i]
			_, _ = fmt.Fprintf(r.streams.Err, "%s halves in %s, at %.1f: %d questions %.1f %% keep an answer, %d questions %.1f %% find nothing\n",
				set.Name, h.Language, eval.HalvesMinScore, h.Answerable, 100*h.Kept, h.Unanswerable, 100*h.Silent)
			c.reliability(r, &h.Calibration)
		}
	}
	return nil
}

// reliability prints a line of the reliability table: for each tenth of the scores how many
// documents are relevant.
func (c *evalCommand) reliability(r *runtime, t *eval.Calibration) {
	_, _ = fmt.Fprintf(r.streams.Err, "  calibration error %.3f; score: share relevant (documents)", t.Error())
	for _, b := range t.Bins {
		if b.Documents > 0 {
			_, _ = fmt.Fprintf(r.streams.Err, ", %.2f: %.2f (%d)", b.Scores/float64(b.Documents), float64(b.Relevant)/float64(b.Documents), b.Documents)
		}
	}
	_, _ = fmt.Fprintln(r.streams.Err)
}

func (c *evalCommand) write(r *runtime, run eval.Run, set *eval.Set, tag string) error {
	if c.File == "-" {
		return run.Write(r.streams.Out, set, tag)
	}
	file, err := os.Create(c.File)
	if err != nil {
		return fmt.Errorf("--run: %w", err)
	}
	return errors.Join(run.Write(file, set, tag), file.Close())
}
