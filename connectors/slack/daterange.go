package slack

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// A dateRange is a range of days, or the time back from now. The zero dateRange
// is all time.
type dateRange struct {
	from, to            time.Time // the start of the first day and the end of the last day
	hours, days, months int
}

var errDateRange = errors.New("is no range; write it as 90d (h, d, w, m and y are understood), as its first day 2024-01-01, or as 2024-01-01..2024-06-30")

// parseDateRange parses config.dateRange.
func parseDateRange(text string) (dateRange, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "all" {
		return dateRange{}, nil
	}
	for _, between := range []string{"..", " to ", "/"} {
		if first, last, found := strings.Cut(text, between); found {
			return parseDays(strings.TrimSpace(first), strings.TrimSpace(last))
		}
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return dateRange{from: day}, nil
	}
	count, err := strconv.Atoi(text[:len(text)-1])
	if err != nil || count <= 0 || text[0] == '+' {
		return dateRange{}, errDateRange
	}
	const years = 100
	unit := text[len(text)-1]
	limit := map[byte]int{'h': years * 366 * 24, 'd': years * 366, 'w': years * 52, 'm': years * 12, 'y': years}[unit]
	if count > limit {
		return dateRange{}, errDateRange
	}
	switch unit {
	case 'h':
		return dateRange{hours: count}, nil
	case 'd':
		return dateRange{days: count}, nil
	case 'w':
		return dateRange{days: 7 * count}, nil
	case 'm':
		return dateRange{months: count}, nil
	default:
		return dateRange{months: 12 * count}, nil
	}
}

func parseDays(first, last string) (dateRange, error) {
	var s dateRange
	var err error
	if first == "" && last == "" {
		return s, errDateRange
	}
	if first != "" {
		if s.from, err = time.Parse(time.DateOnly, first); err != nil {
			return dateRange{}, errDateRange
		}
	}
	if last != "" {
		if s.to, err = time.Parse(time.DateOnly, last); err != nil {
			return dateRange{}, errDateRange
		}
		s.to = s.to.AddDate(0, 0, 1)
	}
	if !s.to.IsZero() && !s.from.IsZero() && !s.from.Before(s.to) {
		return dateRange{}, errors.New("ends before it begins")
	}
	return s, nil
}

// bounds returns the first moment of the range and the first one after it,
// which are starts of days in UTC, or zero.
func (s dateRange) bounds(now time.Time) (from, to time.Time) {
	if s.hours+s.days+s.months == 0 {
		return s.from, s.to
	}
	return startOfDay(now.Add(-time.Duration(s.hours)*time.Hour).AddDate(0, -s.months, -s.days)), time.Time{}
}

func startOfDay(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
