package slack

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// span is a range of time as it was set: from the first to the last day, or back
// from now. The zero span is all time.
type span struct {
	from, to            time.Time // the start of the first day, the end of the last one
	hours, days, months int
}

var errSpan = errors.New("is no range; write it as 90d (h, d, w, m and y are understood), as its first day 2024-01-01, or as 2024-01-01..2024-06-30")

// parseSpan reads config.dateRange.
func parseSpan(text string) (span, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "all" {
		return span{}, nil
	}
	for _, between := range []string{"..", " to ", "/"} {
		if first, last, found := strings.Cut(text, between); found {
			return daysBetween(strings.TrimSpace(first), strings.TrimSpace(last))
		}
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return span{from: day}, nil
	}
	count, err := strconv.Atoi(text[:len(text)-1])
	if err != nil || count <= 0 || text[0] == '+' {
		return span{}, errSpan
	}
	const years = 100
	unit := text[len(text)-1]
	most := map[byte]int{'h': years * 366 * 24, 'd': years * 366, 'w': years * 52, 'm': years * 12, 'y': years}[unit]
	if count > most {
		return span{}, errSpan
	}
	switch unit {
	case 'h':
		return span{hours: count}, nil
	case 'd':
		return span{days: count}, nil
	case 'w':
		return span{days: 7 * count}, nil
	case 'm':
		return span{months: count}, nil
	default:
		return span{months: 12 * count}, nil
	}
}

func daysBetween(first, last string) (span, error) {
	var s span
	var err error
	if first == "" && last == "" {
		return s, errSpan
	}
	if first != "" {
		if s.from, err = time.Parse(time.DateOnly, first); err != nil {
			return span{}, errSpan
		}
	}
	if last != "" {
		if s.to, err = time.Parse(time.DateOnly, last); err != nil {
			return span{}, errSpan
		}
		s.to = s.to.AddDate(0, 0, 1)
	}
	if !s.to.IsZero() && !s.from.IsZero() && !s.from.Before(s.to) {
		return span{}, errors.New("ends before it begins")
	}
	return s, nil
}

// bounds are the first moment of the span and the first one after it, at the
// starts of days in UTC; zero for none.
func (s span) bounds(now time.Time) (from, to time.Time) {
	if s.hours+s.days+s.months == 0 {
		return s.from, s.to
	}
	return startOfDay(now.Add(-time.Duration(s.hours)*time.Hour).AddDate(0, -s.months, -s.days)), time.Time{}
}

func startOfDay(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
