package sheet

import (
	"bytes"
	"math"
	"strconv"
	"time"
)

// dateFormat holds the parts of a date and time that a format shows. They are written in the order of ISO 8601.
type dateFormat struct {
	year, month, day     bool
	hour, minute, second bool
	subsecond            int  // digits of the fraction of a second
	elapsed              byte // 'h', 'm' or 's', the unit of a duration; 0 for a date
}

const secondsADay = 86400

func compileDate(tokens []token) dateFormat {
	var f dateFormat
	for i, t := range tokens {
		switch t.what {
		case 'y', 'e', 'g':
			f.year = true
		case 'd':
			f.day = true
		case 'h', tokenClock:
			f.hour = true
		case 's':
			f.second = true
		case 'm':
			if len(t.text) < 3 && isMinute(tokens, i) {
				f.minute = true
			} else {
				f.month = true
			}
		case tokenElapsed:
			if f.elapsed == 0 {
				f.elapsed = t.text[0]
			}
		case '0':
			if i > 0 && (tokens[i-1].what == '.' || f.subsecond > 0) {
				f.subsecond = min(f.subsecond+1, 3)
			}
		}
	}
	if f.day {
		f.month, f.year = true, true
	}
	f.year = f.year || f.month
	return f
}

// isMinute reports whether an m comes after the hour or before the second.
func isMinute(tokens []token, i int) bool {
	for n := i - 1; n >= 0; n-- {
		switch t := tokens[n]; t.what {
		case 'h':
			return true
		case tokenElapsed:
			return t.text[0] == 'h'
		case 'y', 'm', 'd', 's':
			n = 0
		}
	}
	for _, t := range tokens[i+1:] {
		switch t.what {
		case 's':
			return true
		case tokenElapsed:
			return t.text[0] == 's'
		case 'y', 'm', 'd', 'h':
			return false
		}
	}
	return false
}

// append appends a number of days as date and time.
func (f *dateFormat) append(to []byte, value float64, from1904 bool) []byte {
	if f.elapsed != 0 {
		return f.appendElapsed(to, value)
	}
	days := value
	if from1904 {
		days += 1462
	}
	const lastDay = 2958465 // of the year 9999
	if days < 0 || days >= lastDay+1 {
		return appendGeneral(to, value)
	}
	day := math.Floor(days)
	scale := 1.0
	for range f.subsecond {
		scale *= 10
	}
	ticks := int64(math.Round((days - day) * secondsADay * scale))
	if ticks == int64(secondsADay*scale) {
		ticks, day = 0, day+1
	}
	hasTime := f.hour || f.minute || f.second
	begin := len(to)
	if f.year {
		switch {
		case day >= 1:
			to = f.appendDay(to, int(day))
		case !hasTime:
			return appendGeneral(to, value)
		}
	}
	if hasTime {
		if len(to) > begin {
			to = append(to, ' ')
		}
		to = f.appendClock(to, ticks, int64(scale))
	}
	return to
}

// appendDay appends a day, of which 1 is 1 January 1900. In spreadsheets, 1900 is a leap year.
func (f *dateFormat) appendDay(to []byte, day int) []byte {
	year, month, date := 1900, 2, 29
	if day != 60 {
		if day < 60 {
			day++
		}
		const epoch = 25569 // 1 January 1970
		y, m, d := time.Unix(int64(day-epoch)*secondsADay, 0).UTC().Date()
		year, month, date = y, int(m), d
	}
	to = appendPadded(to, int64(year), 4)
	if f.month {
		to = appendPadded(append(to, '-'), int64(month), 2)
	}
	if f.day {
		to = appendPadded(append(to, '-'), int64(date), 2)
	}
	return to
}

func (f *dateFormat) appendClock(to []byte, ticks, scale int64) []byte {
	seconds := ticks / scale
	to = appendPadded(to, seconds/3600, 2)
	to = appendPadded(append(to, ':'), seconds/60%60, 2)
	if f.second {
		to = f.appendSeconds(append(to, ':'), ticks, scale)
	}
	return to
}

func (f *dateFormat) appendSeconds(to []byte, ticks, scale int64) []byte {
	to = appendPadded(to, ticks/scale%60, 2)
	if f.subsecond > 0 {
		to = appendPadded(append(to, '.'), ticks%scale, f.subsecond)
	}
	return to
}

// appendElapsed appends a duration, whose hours may exceed 24.
func (f *dateFormat) appendElapsed(to []byte, value float64) []byte {
	scale := int64(1)
	for range f.subsecond {
		scale *= 10
	}
	if math.Abs(value) > 1e9 {
		return appendGeneral(to, value)
	}
	ticks := int64(math.Round(math.Abs(value) * secondsADay * float64(scale)))
	if value < 0 && ticks > 0 {
		to = append(to, '-')
	}
	seconds := ticks / scale
	switch f.elapsed {
	case 's':
		to = strconv.AppendInt(to, seconds, 10)
		if f.subsecond > 0 {
			to = appendPadded(append(to, '.'), ticks%scale, f.subsecond)
		}
		return to
	case 'm':
		to = appendPadded(to, seconds/60, 2)
	default:
		to = appendPadded(to, seconds/3600, 2)
		to = appendPadded(append(to, ':'), seconds/60%60, 2)
	}
	if f.second {
		to = f.appendSeconds(append(to, ':'), ticks, scale)
	}
	return to
}

func appendPadded(to []byte, value int64, digits int) []byte {
	for bound := int64(10); digits > 1; digits, bound = digits-1, bound*10 {
		if value < bound {
			to = append(to, '0')
		}
	}
	return strconv.AppendInt(to, value, 10)
}

// appendISO appends a date in ISO 8601, without a time at midnight and without seconds that are zero.
func appendISO(to, value []byte) []byte {
	date, clock, found := bytes.Cut(value, []byte("T"))
	if !found || len(clock) < len("00:00") {
		return append(to, value...)
	}
	clock = bytes.TrimSuffix(clock, []byte("Z"))
	if seconds, fraction, found := bytes.Cut(clock, []byte(".")); found && len(bytes.Trim(fraction, "0")) == 0 {
		clock = seconds
	}
	clock = bytes.TrimSuffix(clock, []byte(":00"))
	if len(clock) == len("00") {
		clock = append(clock, ":00"...)
	}
	to = append(to, date...)
	if string(clock) == "00:00" {
		return to
	}
	return append(append(to, ' '), clock...)
}
