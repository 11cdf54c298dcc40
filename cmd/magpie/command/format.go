package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/humanize"
)

// reporter shows the progress of a client's tasks on a console.
type reporter struct{ *console.Console }

// Progress implements client.Reporter.
func (r reporter) Progress(label string) client.Progress { return r.Console.Progress(label) }

// text returns the text of s, "" for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// moment formats a time in the local time zone; "-" is no time.
func moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// printFolder shows the rates of a folder's sync, and the files that are not
// indexed with the reasons.
func printFolder(c *console.Console, f client.FolderSync) {
	c.Note("%s", summary(f.Job))
	if seconds := f.SyncTime.Seconds(); seconds > 0 {
		stored := f.Job.Stats.Added + f.Job.Stats.Modified
		line := fmt.Sprintf("%.0f files/s", float64(f.Job.Progress.Collected)/seconds)
		if stored > 0 && f.Job.Stats.Unchanged == 0 {
			line += fmt.Sprintf(", %.0f passages/s (%d passages)", float64(f.Passages)/seconds, f.Passages)
		}
		c.Note("%s; the sync took %s", line, humanize.Duration(f.SyncTime))
	}
	for _, refused := range f.Upload.Refused {
		c.Note("  not uploaded: %s: %s", refused.Path, refused.Reason)
	}
	for _, problem := range f.Problems {
		c.Note("  %s %d: %s", strings.ToLower(problem.Status), problem.Count, problem.Reason)
		for _, example := range problem.Examples {
			c.Note("      %s", example)
		}
	}
	for _, warning := range f.Job.Warnings {
		c.Note("  warning: %s", warning)
	}
}
