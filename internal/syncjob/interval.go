package syncjob

import (
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
)

// Intervals returns the allowed schedule intervals, the shortest first.
func Intervals() []string { return []string{"15m", "30m", "1h", "2h", "4h", "6h", "12h", "24h"} }

// DefaultInterval is the schedule interval of a connector without one.
const DefaultInterval = "6h"

const defaultInterval = 6 * time.Hour

// ParseInterval parses one of [Intervals]. The error is an invalid
// schedule_interval.
func ParseInterval(text string) (time.Duration, error) {
	for _, known := range Intervals() {
		if text == known {
			return time.ParseDuration(text)
		}
	}
	return 0, apierr.Invalid("scheduleInterval", "must be one of "+strings.Join(Intervals(), ", "))
}

// NextStart returns the first time after now that is a whole number of intervals
// after intended. A late schedule keeps its rhythm, and missed starts are not made
// up for.
func NextStart(intended time.Time, interval time.Duration, now time.Time) time.Time {
	if intended.After(now) {
		return intended
	}
	missed := now.Sub(intended) / interval
	return intended.Add((missed + 1) * interval)
}
