package calc

import (
	"fmt"
	"math/big"
	"strings"
)

// Bounds of an expression.
const (
	maxLength    = 1000   // characters
	maxDepth     = 50     // of parentheses, signs and powers within each other
	maxExponent  = 10_000 // of a power, and of a number such as 1e400
	maxBits      = 65_536 // of a number's numerator and denominator together: about 19,700 digits
	maxFactorial = 1000
	shownDigits  = 40 // significant digits of an exact result; longer ones are rounded
	roughDigits  = 15 // of a result that went through floating point
)

// Result is what an expression comes to.
type Result struct {
	// Text is the number in decimal notation, or with an exponent where that is shorter.
	Text string
	// Exact says that Text is the very number and not rounded.
	Exact bool
	// Fraction is the exact number as a fraction where its decimals never end, such as 1/3; "" otherwise.
	Fraction string
}

// Error says what is wrong with an expression, in words for whoever wrote it.
type Error struct {
	// At is the place in characters, from 1; 0 where the whole is meant.
	At      int
	Message string
}

// Error implements error.
func (e *Error) Error() string {
	if e.At == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s (at character %d)", e.Message, e.At)
}

func wrong(at int, format string, values ...any) *Error {
	return &Error{At: at, Message: fmt.Sprintf(format, values...)}
}

// number is a value: a fraction, exact unless a function made it rough.
type number struct {
	rat   *big.Rat
	rough bool
}

// Evaluate computes an expression of numbers, + - * / % ^ !, parentheses, the functions of Functions and the constants pi,
// tau and e. A % behind a number with nothing to divide by is a hundredth, "15% of 80" is 12. Errors are *Error.
func Evaluate(expression string) (Result, error) {
	if len(expression) > 4*maxLength || len([]rune(expression)) > maxLength {
		return Result{}, wrong(0, "the expression is longer than %d characters", maxLength)
	}
	if strings.TrimSpace(expression) == "" {
		return Result{}, wrong(0, "the expression is empty")
	}
	p := &parser{text: []rune(normal(expression))}
	value, err := p.all()
	if err != nil {
		return Result{}, err
	}
	return value.result(), nil
}

// normal writes operators as they stand on a keyboard.
func normal(expression string) string {
	return strings.NewReplacer("×", "*", "·", "*", "⋅", "*", "÷", "/", "−", "-", "–", "-", "**", "^", "²", "^2", "³", "^3", "√", "sqrt", "π", "pi", "\u00a0", " ", "\u202f", " ").Replace(expression)
}

// result writes a value.
func (n number) result() Result {
	if n.rough {
		text, _ := decimal(n.rat, roughDigits)
		return Result{Text: text}
	}
	text, exact := decimal(n.rat, shownDigits)
	r := Result{Text: text, Exact: exact}
	if fraction := n.rat.RatString(); !exact && !n.rat.IsInt() && len(fraction) <= shownDigits {
		r.Fraction = fraction
	}
	return r
}

// decimal writes a fraction with at most so many significant digits, and reports whether that is the very number.
func decimal(r *big.Rat, digits int) (text string, exact bool) {
	if r.IsInt() {
		if text = r.Num().String(); len(strings.TrimPrefix(text, "-")) <= digits {
			return text, true
		}
	} else if places, ends := r.FloatPrec(); ends {
		text = r.FloatString(places)
		if len(strings.Trim(strings.Replace(text, ".", "", 1), "-0")) <= digits && places <= 2*digits {
			return text, true
		}
	}
	f := new(big.Float).SetPrec(uint(4*digits) + 64).SetRat(r)
	if text = f.Text('g', digits); strings.Contains(text, ".") {
		mantissa, exponent, has := strings.Cut(text, "e")
		text = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		if has {
			text += "e" + exponent
		}
	}
	back, ok := new(big.Rat).SetString(text)
	return text, ok && back.Cmp(r) == 0
}

// bounded refuses a number that has grown too large to go on with.
func bounded(at int, n number) (number, error) {
	if n.rat.Num().BitLen()+n.rat.Denom().BitLen() > maxBits {
		return number{}, wrong(at, "the numbers become too large")
	}
	return n, nil
}

func apply(at int, operator rune, a, b number) (number, error) {
	out := number{rat: new(big.Rat), rough: a.rough || b.rough}
	switch operator {
	case '+':
		out.rat.Add(a.rat, b.rat)
	case '-':
		out.rat.Sub(a.rat, b.rat)
	case '*':
		out.rat.Mul(a.rat, b.rat)
	case '/':
		if b.rat.Sign() == 0 {
			return number{}, wrong(at, "division by zero")
		}
		out.rat.Quo(a.rat, b.rat)
	case '%':
		if b.rat.Sign() == 0 {
			return number{}, wrong(at, "division by zero")
		}
		// The remainder has the sign of what is divided, as in most languages.
		times := truncated(new(big.Rat).Quo(a.rat, b.rat))
		out.rat.Sub(a.rat, new(big.Rat).Mul(b.rat, times))
	default:
		return number{}, wrong(at, "unknown operator %q", operator)
	}
	return bounded(at, out)
}

// power raises a to b: exactly for whole exponents.
func power(at int, a, b number) (number, error) {
	if !b.rat.IsInt() {
		return powerOfFraction(at, a, b)
	}
	if !b.rat.Num().IsInt64() || abs(b.rat.Num().Int64()) > maxExponent {
		return number{}, wrong(at, "an exponent may be at most %d", maxExponent)
	}
	n := b.rat.Num().Int64()
	if a.rat.Sign() == 0 && n < 0 {
		return number{}, wrong(at, "division by zero")
	}
	size := max(a.rat.Num().BitLen(), a.rat.Denom().BitLen())
	if int64(size)*abs(n) > maxBits {
		if one := big.NewRat(1, 1); new(big.Rat).Abs(a.rat).Cmp(one) != 0 && a.rat.Sign() != 0 {
			if a.rough {
				return fromFloat(at, floatPower(a, b))
			}
			return number{}, wrong(at, "the numbers become too large")
		}
	}
	raise := func(x *big.Int) *big.Int { return new(big.Int).Exp(x, big.NewInt(abs(n)), nil) }
	num, denom := raise(a.rat.Num()), raise(a.rat.Denom())
	if n < 0 {
		num, denom = denom, num
	}
	return bounded(at, number{rat: new(big.Rat).SetFrac(num, denom), rough: a.rough || b.rough})
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// truncated is x without its decimals.
func truncated(x *big.Rat) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Quo(x.Num(), x.Denom()))
}
