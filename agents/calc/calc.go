package calc

import (
	"fmt"
	"math/big"
	"strings"
)

// Limits of an expression and its result.
const (
	maxLength    = 1000   // characters
	maxDepth     = 50     // of parentheses, signs and powers within each other
	maxExponent  = 10_000 // of a power, and of a number literal such as 1e400
	maxBits      = 65_536 // of a number's numerator and denominator together: about 19,700 digits
	maxFactorial = 1000
	exactDigits  = 40 // significant digits of an exact result; longer ones are rounded
	floatDigits  = 15 // significant digits of a floating-point result
)

// Result is the value of an expression.
type Result struct {
	// Text is the number in decimal notation, or with an exponent if that is
	// shorter.
	Text string
	// Exact reports whether Text is not rounded.
	Exact bool
	// Fraction is the exact number as a fraction such as 1/3, if its decimals
	// never end.
	Fraction string
}

// Error describes what is wrong with an expression, for the person or model
// that wrote it.
type Error struct {
	// Position is a character of the expression, from 1; 0 means the whole
	// expression.
	Position int
	Message  string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Position == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s (at character %d)", e.Message, e.Position)
}

func errorAt(at int, format string, values ...any) *Error {
	return &Error{Position: at, Message: fmt.Sprintf(format, values...)}
}

// number is a fraction. It is exact unless a floating-point function made it
// approximate.
type number struct {
	rat         *big.Rat
	approximate bool
}

// Evaluate computes an expression of numbers, + - * / % ^ !, parentheses, the
// functions of [Functions] and the constants pi, tau and e. A % that nothing
// follows to divide by means a hundredth: "15% of 80" is 12. Errors are of type
// *Error.
func Evaluate(expression string) (Result, error) {
	if len(expression) > 4*maxLength || len([]rune(expression)) > maxLength {
		return Result{}, errorAt(0, "the expression is longer than %d characters", maxLength)
	}
	if strings.TrimSpace(expression) == "" {
		return Result{}, errorAt(0, "the expression is empty")
	}
	p := &parser{text: []rune(normalizeOperators(expression))}
	value, err := p.parse()
	if err != nil {
		return Result{}, err
	}
	return value.result(), nil
}

// normalizeOperators replaces typographic operators by those of a keyboard.
func normalizeOperators(expression string) string {
	return strings.NewReplacer("×", "*", "·", "*", "⋅", "*", "÷", "/", "−", "-", "–", "-", "**", "^", "²", "^2", "³", "^3", "√", "sqrt", "π", "pi", "\u00a0", " ", "\u202f", " ").Replace(expression)
}

func (n number) result() Result {
	if n.approximate {
		text, _ := decimal(n.rat, floatDigits)
		return Result{Text: text}
	}
	text, exact := decimal(n.rat, exactDigits)
	r := Result{Text: text, Exact: exact}
	if fraction := n.rat.RatString(); !exact && !n.rat.IsInt() && len(fraction) <= exactDigits {
		r.Fraction = fraction
	}
	return r
}

// decimal formats a fraction with at most digits significant digits and reports
// whether the text is exact.
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

// checkSize returns an error if a number is too large to compute with.
func checkSize(at int, n number) (number, error) {
	if n.rat.Num().BitLen()+n.rat.Denom().BitLen() > maxBits {
		return number{}, errorAt(at, "the numbers become too large")
	}
	return n, nil
}

func apply(at int, operator rune, a, b number) (number, error) {
	out := number{rat: new(big.Rat), approximate: a.approximate || b.approximate}
	switch operator {
	case '+':
		out.rat.Add(a.rat, b.rat)
	case '-':
		out.rat.Sub(a.rat, b.rat)
	case '*':
		out.rat.Mul(a.rat, b.rat)
	case '/':
		if b.rat.Sign() == 0 {
			return number{}, errorAt(at, "division by zero")
		}
		out.rat.Quo(a.rat, b.rat)
	case '%':
		if b.rat.Sign() == 0 {
			return number{}, errorAt(at, "division by zero")
		}
		// The remainder has the sign of what is divided, as in most languages.
		times := truncate(new(big.Rat).Quo(a.rat, b.rat))
		out.rat.Sub(a.rat, new(big.Rat).Mul(b.rat, times))
	default:
		return number{}, errorAt(at, "unknown operator %q", operator)
	}
	return checkSize(at, out)
}

// power returns a to the power of b. It is exact for integer exponents.
func power(at int, a, b number) (number, error) {
	if !b.rat.IsInt() {
		return fractionalPower(at, a, b)
	}
	if !b.rat.Num().IsInt64() || abs(b.rat.Num().Int64()) > maxExponent {
		return number{}, errorAt(at, "an exponent may be at most %d", maxExponent)
	}
	n := b.rat.Num().Int64()
	if a.rat.Sign() == 0 && n < 0 {
		return number{}, errorAt(at, "division by zero")
	}
	size := max(a.rat.Num().BitLen(), a.rat.Denom().BitLen())
	if int64(size)*abs(n) > maxBits {
		if one := big.NewRat(1, 1); new(big.Rat).Abs(a.rat).Cmp(one) != 0 && a.rat.Sign() != 0 {
			if a.approximate {
				return fromFloat(at, floatPower(a, b))
			}
			return number{}, errorAt(at, "the numbers become too large")
		}
	}
	raise := func(x *big.Int) *big.Int { return new(big.Int).Exp(x, big.NewInt(abs(n)), nil) }
	num, denom := raise(a.rat.Num()), raise(a.rat.Denom())
	if n < 0 {
		num, denom = denom, num
	}
	return checkSize(at, number{rat: new(big.Rat).SetFrac(num, denom), approximate: a.approximate || b.approximate})
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// truncate returns x without its decimals.
func truncate(x *big.Rat) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Quo(x.Num(), x.Denom()))
}
