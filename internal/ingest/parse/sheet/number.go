package sheet

import (
	"math"
	"strconv"
)

// significant is how many digits of a number are shown, which is the precision of spreadsheets. Further digits are
// rounding errors.
const significant = 15

// append appends a value in the format. Days count from 1900, or from 1904.
func (f *numberFormat) append(to []byte, value float64, from1904 bool) []byte {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return to
	}
	s, isUnsigned := f.choose(value)
	if s == nil {
		return appendGeneral(to, value)
	}
	switch s.kind {
	case dates:
		return s.date.append(to, value, from1904)
	case literal:
		for _, p := range s.whole {
			to = append(to, p.text...)
		}
		return to
	case figures:
		return s.append(to, value, isUnsigned)
	case general:
	}
	if isUnsigned {
		value = math.Abs(value)
	}
	return appendGeneral(to, value)
}

// appendGeneral appends a number in its shortest form of at most 15 digits.
func appendGeneral(to []byte, value float64) []byte {
	if value == math.Trunc(value) && math.Abs(value) < 1e15 {
		return strconv.AppendInt(to, int64(value), 10)
	}
	var d decimal
	d.set(math.Abs(value))
	for d.length > 1 && d.digits[d.length-1] == '0' {
		d.length--
	}
	if value < 0 {
		to = append(to, '-')
	}
	switch {
	case d.point > significant || d.point < -3:
		to = append(to, d.digits[0])
		if d.length > 1 {
			to = append(to, '.')
			to = append(to, d.digits[1:d.length]...)
		}
		return appendExponent(to, d.point-1, 2)
	case d.point <= 0:
		to = append(to, '0', '.')
		for range -d.point {
			to = append(to, '0')
		}
		return append(to, d.digits[:d.length]...)
	}
	for i := range max(d.length, d.point) {
		if i == d.point {
			to = append(to, '.')
		}
		to = append(to, d.at(i))
	}
	return to
}

func appendExponent(to []byte, exponent, digits int) []byte {
	to = append(to, 'E')
	if exponent < 0 {
		to, exponent = append(to, '-'), -exponent
	} else {
		to = append(to, '+')
	}
	for bound := 10; digits > 1; digits, bound = digits-1, bound*10 {
		if exponent < bound {
			to = append(to, '0')
		}
	}
	return strconv.AppendInt(to, int64(exponent), 10)
}

// decimal is a non-negative number as digits: 0.d₁d₂… times ten to the power of point.
type decimal struct {
	digits [significant + 1]byte
	length int
	point  int
}

func (d *decimal) set(value float64) {
	var buffer [32]byte
	text := strconv.AppendFloat(buffer[:0], value, 'e', significant-1, 64) // d.dddddddddddddde±xx
	d.digits[0] = text[0]
	copy(d.digits[1:], text[2:significant+1])
	d.length = significant
	exponent, _ := strconv.Atoi(string(text[significant+2:]))
	if d.point = exponent + 1; value == 0 {
		d.point = 1
	}
}

// at returns a digit. Digits outside of the number are zero.
func (d *decimal) at(i int) byte {
	if i < 0 || i >= d.length {
		return '0'
	}
	return d.digits[i]
}

// round rounds to a number of decimal places, halves away from zero.
func (d *decimal) round(places int) {
	keep := d.point + places
	if keep >= d.length {
		return
	}
	if keep < 0 {
		d.digits[0], d.length, d.point = '0', 1, 1
		return
	}
	up := d.digits[keep] >= '5'
	d.length = keep
	for i := keep - 1; up && i >= 0; i-- {
		if d.digits[i] < '9' {
			d.digits[i]++
			return
		}
		d.digits[i] = '0'
	}
	if up {
		copy(d.digits[1:], d.digits[:d.length])
		d.digits[0] = '1'
		d.length++
		d.point++
	}
	if d.length == 0 {
		d.digits[0], d.length, d.point = '0', 1, 1
	}
}

func (d *decimal) isZero() bool {
	for _, digit := range d.digits[:d.length] {
		if digit != '0' {
			return false
		}
	}
	return true
}

// append appends a value in a section with placeholders of digits.
func (s *section) append(to []byte, value float64, isUnsigned bool) []byte {
	var d decimal
	d.set(math.Abs(value))
	exponent := 0
	if !d.isZero() {
		d.point += s.power
		if s.exponent > 0 {
			whole := max(1, s.wholeDigits())
			exponent = d.point - 1
			if whole > 1 { // the exponent is a multiple of the places before the point
				exponent -= ((exponent % whole) + whole) % whole
			}
			d.point -= exponent
		}
	}
	point := d.point
	d.round(s.decimals)
	if s.exponent > 0 && d.point > point && d.point > max(1, s.wholeDigits()) {
		d.point--
		exponent++
	}
	if value < 0 && !isUnsigned && !d.isZero() {
		to = append(to, '-')
	}
	to = s.appendWhole(to, &d)
	return s.appendFraction(to, &d, exponent)
}

func (s *section) wholeDigits() int {
	n := 0
	for _, p := range s.whole {
		if p.digit != 0 {
			n++
		}
	}
	return n
}

// appendWhole writes the digits before the decimal point into their places. The first place has all further digits.
func (s *section) appendWhole(to []byte, d *decimal) []byte {
	left := max(d.point, 0) // number of digits to be written
	if left == 1 && d.at(0) == '0' {
		left = 0
	}
	places := s.wholeDigits()
	if places == 0 && left > 0 {
		to = s.appendDigits(to, d, left)
	}
	for _, p := range s.whole {
		if p.digit == 0 {
			to = append(to, p.text...)
			continue
		}
		if left > places { // the first place
			to = s.appendDigits(to, d, left-places+1)
			left, places = places-1, places-1
			continue
		}
		switch {
		case left == places:
			to = s.appendDigit(to, d.at(d.point-left), left)
			left--
		case p.digit == '0':
			to = s.appendDigit(to, '0', places)
		}
		places--
	}
	return to
}

func (s *section) appendDigits(to []byte, d *decimal, n int) []byte {
	remaining := max(d.point, 0)
	for i := range n {
		to = s.appendDigit(to, d.at(i), remaining-i)
	}
	return to
}

// appendDigit writes a digit at a position, counted from the decimal point to the left.
func (s *section) appendDigit(to []byte, digit byte, position int) []byte {
	to = append(to, digit)
	if s.thousands && position > 1 && position%3 == 1 {
		to = append(to, ',')
	}
	return to
}

func (s *section) appendFraction(to []byte, d *decimal, exponent int) []byte {
	shown := s.decimals // without optional digits that are zero
	written := 0
	for i := len(s.fraction) - 1; i >= 0; i-- {
		p := s.fraction[i]
		if p.digit == 0 || p.digit == 'E' {
			continue
		}
		if p.digit == '0' || d.at(d.point+shown-1) != '0' {
			break
		}
		shown--
	}
	for _, p := range s.fraction {
		switch {
		case p.digit == 'E':
			to = appendExponent(to, exponent, s.exponent)
		case p.digit == 0:
			to = append(to, p.text...)
		case written < shown:
			if written == 0 {
				to = append(to, '.')
			}
			to = append(to, d.at(d.point+written))
			written++
		}
	}
	return to
}
