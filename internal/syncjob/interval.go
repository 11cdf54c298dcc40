package syncjob

import (
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
)

// Intervals lists the schedule intervals a connector may have, shortest first.
func Intervals() []string { return []string{"15m", "30m", "1h", "2h", "4h", "6h", "12h", "24h"} }

// DefaultInterval is the schedule interval of a connector that names none.
const DefaultInterval = "6h"

const defaultInterval = 6 * time.Hour

// ParseInterval reads one of [Intervals]. Anything else is an invalid
// schedule_interval.
func ParseInterval(text string) (time.Duration, error) {
	for _, known := range Intervals() {
		if text == known {
			return time.ParseDuration(text)
		}
	}
	return 0, apierr.Invalid("schedule_interval", "must be one of "+strings.Join(Intervals(), ", "))
}

// NextBeat returns the first time after now that lies a whole number of
// intervals after intended: a schedule that was late keeps its rhythm, and what
// it missed is not made up for.
func NextBeat(intended time.Time, interval time.Duration, now time.Time) time.Time {
	if intended.After(now) {
		return intended
	}
	missed := now.Sub(intended) / interval
	return intended.Add((missed + 1) * interval)
}
