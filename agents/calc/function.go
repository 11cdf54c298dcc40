package calc

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
)

// function is a function that expressions may call.
type function struct {
	minArgs, maxArgs int
	call             func(at int, values []number) (number, error)
}

func (f function) arity() string {
	switch {
	case f.maxArgs == 1:
		return "one value"
	case f.minArgs == f.maxArgs:
		return fmt.Sprintf("%d values", f.minArgs)
	case f.maxArgs >= maxArgs:
		return fmt.Sprintf("%d values or more", f.minArgs)
	default:
		return fmt.Sprintf("%d to %d values", f.minArgs, f.maxArgs)
	}
}

const maxArgs = 500

// Functions returns the sorted names of the functions.
func Functions() []string { return slices.Sorted(maps.Keys(functions())) }

func functions() map[string]function {
	real := func(do func(float64) float64) function {
		return function{1, 1, func(at int, v []number) (number, error) { return fromFloat(at, do(float(v[0]))) }}
	}
	exact := func(do func(*big.Rat) *big.Rat) function {
		return function{1, 1, func(_ int, v []number) (number, error) { return number{rat: do(v[0].rat)}, nil }}
	}
	log10 := function{1, 2, logarithm}
	return map[string]function{
		"abs":   exact(func(x *big.Rat) *big.Rat { return new(big.Rat).Abs(x) }),
		"sign":  exact(func(x *big.Rat) *big.Rat { return big.NewRat(int64(x.Sign()), 1) }),
		"trunc": exact(truncate),
		"floor": exact(func(x *big.Rat) *big.Rat { return floor(x) }),
		"ceil":  exact(func(x *big.Rat) *big.Rat { return new(big.Rat).Neg(floor(new(big.Rat).Neg(x))) }),
		"round": {1, 2, round},
		"sqrt":  {1, 1, squareRoot},
		"cbrt":  {1, 1, func(at int, v []number) (number, error) { return fromFloat(at, math.Cbrt(float(v[0]))) }},
		"exp":   real(math.Exp), "ln": real(math.Log), "log2": real(math.Log2), "log10": log10, "log": log10,
		"sin": real(math.Sin), "cos": real(math.Cos), "tan": real(math.Tan),
		"asin": real(math.Asin), "acos": real(math.Acos), "atan": real(math.Atan),
		"deg":       real(func(x float64) float64 { return x * 180 / math.Pi }),
		"rad":       real(func(x float64) float64 { return x * math.Pi / 180 }),
		"pow":       {2, 2, func(at int, v []number) (number, error) { return power(at, v[0], v[1]) }},
		"mod":       {2, 2, func(at int, v []number) (number, error) { return apply(at, '%', v[0], v[1]) }},
		"factorial": {1, 1, func(at int, v []number) (number, error) { return factorial(at, v[0]) }},
		"gcd":       {2, 2, greatestDivisor},
		"lcm":       {2, 2, leastMultiple},
		"sum":       {1, maxArgs, sum},
		"avg":       {1, maxArgs, mean}, "mean": {1, maxArgs, mean}, "median": {1, maxArgs, median},
		"min": {1, maxArgs, func(_ int, v []number) (number, error) { return slices.MinFunc(v, compare), nil }},
		"max": {1, maxArgs, func(_ int, v []number) (number, error) { return slices.MaxFunc(v, compare), nil }},
	}
}

func constantValue(name string) (number, bool) {
	values := map[string]float64{"pi": math.Pi, "tau": 2 * math.Pi, "e": math.E}
	value, known := values[name]
	if !known {
		return number{}, false
	}
	return number{rat: new(big.Rat).SetFloat64(value), approximate: true}, true
}

func compare(a, b number) int { return a.rat.Cmp(b.rat) }

func float(n number) float64 {
	f, _ := n.rat.Float64()
	return f
}

func fromFloat(at int, f float64) (number, error) {
	if math.IsNaN(f) {
		return number{}, errorAt(at, "this has no result among the real numbers")
	}
	if math.IsInf(f, 0) {
		return number{}, errorAt(at, "the numbers become too large")
	}
	return number{rat: new(big.Rat).SetFloat64(f), approximate: true}, nil
}

func floor(x *big.Rat) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Div(x.Num(), x.Denom())) // denominators are positive: Euclid's division is the floor
}

// round rounds half away from zero, to the given number of decimals.
func round(at int, v []number) (number, error) {
	places := int64(0)
	if len(v) == 2 {
		if !v[1].rat.IsInt() || !v[1].rat.Num().IsInt64() || abs(v[1].rat.Num().Int64()) > 100 {
			return number{}, errorAt(at, "round takes -100 to 100 decimals")
		}
		places = v[1].rat.Num().Int64()
	}
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(abs(places)), nil))
	if places < 0 {
		scale.Inv(scale)
	}
	x := new(big.Rat).Mul(v[0].rat, scale)
	half := big.NewRat(int64(x.Sign()), 2)
	return number{rat: new(big.Rat).Quo(truncate(x.Add(x, half)), scale)}, nil
}

// squareRoot is exact if numerator and denominator are squares.
func squareRoot(at int, v []number) (number, error) {
	x := v[0].rat
	if x.Sign() < 0 {
		return number{}, errorAt(at, "a negative number has no real square root")
	}
	num, denom := new(big.Int).Sqrt(x.Num()), new(big.Int).Sqrt(x.Denom())
	root := new(big.Rat).SetFrac(num, denom)
	if new(big.Rat).Mul(root, root).Cmp(x) == 0 {
		return number{rat: root}, nil
	}
	approximate, _ := new(big.Float).Sqrt(new(big.Float).SetPrec(128).SetRat(x)).Rat(nil)
	return number{rat: approximate, approximate: true}, nil
}

func logarithm(at int, v []number) (number, error) {
	if v[0].rat.Sign() <= 0 {
		return number{}, errorAt(at, "only numbers above 0 have a logarithm")
	}
	if len(v) == 1 {
		return fromFloat(at, math.Log10(float(v[0])))
	}
	return fromFloat(at, math.Log(float(v[0]))/math.Log(float(v[1])))
}

func floatPower(a, b number) float64 { return math.Pow(float(a), float(b)) }

func fractionalPower(at int, a, b number) (number, error) {
	if half := big.NewRat(1, 2); b.rat.Cmp(half) == 0 && a.rat.Sign() >= 0 {
		return squareRoot(at, []number{a})
	}
	return fromFloat(at, floatPower(a, b))
}

func factorial(at int, n number) (number, error) {
	if !n.rat.IsInt() || n.rat.Sign() < 0 {
		return number{}, errorAt(at, "only whole numbers from 0 have a factorial")
	}
	if !n.rat.Num().IsInt64() || n.rat.Num().Int64() > maxFactorial {
		return number{}, errorAt(at, "a factorial may be of %d at most", maxFactorial)
	}
	product := new(big.Int).MulRange(1, n.rat.Num().Int64())
	return checkSize(at, number{rat: new(big.Rat).SetInt(product), approximate: n.approximate})
}

func integers(at int, v []number) (a, b *big.Int, err error) {
	if !v[0].rat.IsInt() || !v[1].rat.IsInt() {
		return nil, nil, errorAt(at, "this takes whole numbers")
	}
	return new(big.Int).Abs(v[0].rat.Num()), new(big.Int).Abs(v[1].rat.Num()), nil
}

func greatestDivisor(at int, v []number) (number, error) {
	a, b, err := integers(at, v)
	if err != nil {
		return number{}, err
	}
	return number{rat: new(big.Rat).SetInt(new(big.Int).GCD(nil, nil, a, b))}, nil
}

func leastMultiple(at int, v []number) (number, error) {
	a, b, err := integers(at, v)
	if err != nil {
		return number{}, err
	}
	if a.Sign() == 0 || b.Sign() == 0 {
		return number{rat: new(big.Rat)}, nil
	}
	common := new(big.Int).GCD(nil, nil, a, b)
	return number{rat: new(big.Rat).SetInt(new(big.Int).Mul(a, b.Quo(b, common)))}, nil
}

func sum(at int, v []number) (number, error) {
	total := number{rat: new(big.Rat)}
	var err error
	for _, value := range v {
		if total, err = apply(at, '+', total, value); err != nil {
			return number{}, err
		}
	}
	return total, nil
}

func mean(at int, v []number) (number, error) {
	total, err := sum(at, v)
	if err != nil {
		return number{}, err
	}
	return apply(at, '/', total, number{rat: big.NewRat(int64(len(v)), 1)})
}

func median(at int, v []number) (number, error) {
	sorted := slices.SortedFunc(slices.Values(v), compare)
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle], nil
	}
	return mean(at, sorted[middle-1:middle+1])
}
