package command

import (
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/client"
)

// printExplanation prints how the score of a result came about.
func printExplanation(c *console.Console, x *client.Explanation) {
	line := func(name, format string, arguments ...any) {
		c.Printf("%s\n", c.Wrap(name+": "+fmt.Sprintf(format, arguments...), "      "))
	}
	line("searched", "%s, change %d of collection %s", strings.ToLower(x.Tier), x.Change, x.CollectionID)
	for _, w := range x.Words {
		var fields []string
		for _, f := range w.Fields {
			fields = append(fields, fmt.Sprintf("%s %d × %.2f", strings.ToLower(f.Field), f.Occurrences, f.Weight))
		}
		line("word", "%s (%s): %s; in %d passages, idf %.2f, query weight %.2f, score %.3f",
			w.Text, strings.Join(w.Terms, ", "), strings.Join(fields, ", "), w.DocumentFrequency, w.IDF, w.Weight, w.Score)
	}
	if s := x.Similarity; s != nil {
		line("similarity", "%.3f; background %.3f ± %.3f, z-score %.2f; %.0f %% of the query known",
			s.Cosine, s.BackgroundMean, s.BackgroundDeviation, s.ZScore, 100*s.Known)
	}
	var added []string
	for _, t := range x.SecondPass.Terms {
		if t.Matches {
			added = append(added, fmt.Sprintf("%s %.3f × %.2f", t.Term, t.Weight, t.Score/t.Weight))
		}
	}
	line("second pass", "gate %.2f open, %d terms added; here: %s", x.SecondPass.Gate, len(x.SecondPass.Terms), orNone(strings.Join(added, ", ")))
	line("order", "%.3f = %s", x.Order.Total, sum(&x.Order))
	line("log-odds", "%.3f = %s", x.LogOdds.Total, sum(&x.LogOdds))
	if x.Rating != nil {
		line("score", "%.3f, the rating of the reranker; the confidence is %.3f", *x.Rating, x.Confidence)
		return
	}
	line("score", "%.3f", x.Confidence)
}

// sum returns the terms of a sum that are not 0.
func sum(s *client.ExplainedSum) string {
	var terms []string
	for _, t := range s.Terms {
		if t.Contribution != 0 {
			terms = append(terms, fmt.Sprintf("%s %.3f × %.3f", t.Name, t.Value, t.Weight))
		}
	}
	return orNone(strings.Join(terms, " + "))
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
