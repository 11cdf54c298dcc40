package calc_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/agents/calc"
)

func TestResults(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"1+2*3": "7", "(1+2)*3": "9", "0.1+0.2": "0.3", "2^10": "1024", "2**10": "1024", "2^3^2": "512", "-2^2": "-4", "(-2)^2": "4", "2^-2": "0.25",
		"7 % 3": "1", "-7 % 3": "-1", "7.5 % 2": "1.5", "17%": "0.17", "17% of 2340": "397.8", "200 + 10%": "200.1", "50%*4": "2", "10 % (2+1)": "1",
		"1,234.50*2": "2469", "1_000+1": "1001", "max(1,234)": "234", "max(1,234,(2,500))": "2500", "6.02e23": "602000000000000000000000", "1e-3": "0.001", ".5+5.": "5.5",
		"1/4": "0.25", "5!": "120", "20!": "2432902008176640000", "sqrt(16)": "4", "sqrt(1/4)": "0.5", "√(9)": "3", "9^0.5": "3", "3 × 4 ÷ 2 − 1": "5", "5²": "25",
		"round(2.5)": "3", "round(-2.5)": "-3", "round(3.14159, 2)": "3.14", "round(1250,-2)": "1300", "floor(-1.5)": "-2", "ceil(-1.5)": "-1", "trunc(-1.5)": "-1", "abs(-3)": "3",
		"min(3,1,2)": "1", "avg(1,2,3,4)": "2.5", "median(5,1,3)": "3", "median(1,2,3,4)": "2.5", "sum(1,2,3)": "6", "gcd(12,18)": "6", "lcm(4,6)": "12", "--3": "3", "+3": "3",
		"9007199254740993+0": "9007199254740993", "123456789.123456789*1000000000": "123456789123456789", "10 mod 4": "2", "0*5": "0", "mod(10,4)": "2", "sign(-9)": "-1", "1^10000": "1",
	} {
		got, err := calc.Evaluate(expression)
		if err != nil || got.Text != want || !got.Exact {
			t.Errorf("%s = %+v, %v; want %s", expression, got, err, want)
		}
	}
	for expression, want := range map[string]string{
		"pi": "3.14159265358979", "sin(pi/6)": "0.5", "ln(e)": "1", "log(1000)": "3", "log(8,2)": "3", "sqrt(2)": "1.4142135623731", "e^2": "7.38905609893065", "cos(0)": "1", "2^0.5": "1.4142135623731",
		"deg(pi)": "180", "exp(1)": "2.71828182845905", "atan(1)*4": "3.14159265358979", "cbrt(27)": "3", "log2(1024)": "10",
	} {
		got, err := calc.Evaluate(expression)
		if err != nil || got.Text != want && !strings.HasPrefix(got.Text, strings.TrimSuffix(want, "1")) || got.Exact {
			t.Errorf("%s = %+v, %v; want about %s", expression, got, err, want)
		}
	}
	third, err := calc.Evaluate("1/3")
	if err != nil || third.Exact || third.Fraction != "1/3" || third.Text != "0."+strings.Repeat("3", 40) {
		t.Errorf("1/3 = %+v, %v", third, err)
	}
	big, err := calc.Evaluate("2^200")
	if err != nil || big.Exact || big.Text != "1.606938044258990275541962092341162602522e+60" {
		t.Errorf("2^200 = %+v, %v", big, err)
	}
}

func TestErrorsNameThePosition(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"": "empty", " ": "empty", "1+": "ends where a number", "(1": "never closed", "1)": "without an opening", "1 2": "operator is missing", "2(3)": "operator is missing",
		"1/0": "division by zero", "5%0": "division by zero", "0^-1": "division by zero", "foo(1)": "no function \"foo\"", "x+1": "neither a number", "sqrt": "needs its values",
		"sqrt(-1)": "no real square root", "ln(-1)": "no result", "ln(0)": "too large", "asin(2)": "no result", "round(1,2,3)": "takes 1 to 2 values", "max()": "1 values or more",
		"1..2": "operator is missing", ".": "without digits", "2^99999": "at most 10000", "9^9^9": "at most 10000", "1e10000*1e10000": "too large", "2000!": "1000 at most", "1.5!": "whole numbers",
		"1e99999": "at most 10000", "round(1, 1000)": "decimals", "gcd(1.5,2)": "whole numbers", "max(1": "closing parenthesis is missing", "max(1 2)": "a comma", "; drop": "a number is expected",
		"1+\x00": "a number is expected", strings.Repeat("(", 200) + "1": "nested deeper", strings.Repeat("-", 200) + "1": "nested deeper", strings.Repeat("2^", 200) + "1": "nested deeper",
		strings.Repeat("1+", 600): "longer than", "0^0.0": "",
	} {
		_, err := calc.Evaluate(expression)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", expression, err)
			}
			continue
		}
		var failure *calc.Error
		if !errors.As(err, &failure) || !strings.Contains(failure.Error(), want) {
			t.Errorf("%q: %v, want %s", expression, err, want)
		}
	}
}

func TestNoExpressionTakesLong(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		"1000!*1000!*1000!*1000!*1000!*1000!*1000!", "2^10000/3^10000", strings.Repeat("9^5000*", 90) + "1", strings.Repeat("1000!/999!+", 80) + "1", "(1/3)^10000+(1/7)^10000", "9^(9^(9))",
		"1e10000*1e10000", "exp(1000)", strings.Repeat("(1/999983+", 49) + "1" + strings.Repeat(")", 49), "factorial(1000)^6", "(pi)^9999", "1.0000001^10000",
	} {
		start := time.Now()
		_, _ = calc.Evaluate(expression)
		if elapsed := time.Since(start); elapsed > time.Minute {
			t.Errorf("Evaluate(%q) took %v", expression, elapsed)
		}
	}
}

func FuzzEvaluate(f *testing.F) {
	for _, seed := range []string{"1+2*3", "17% of 2340", "max(1,234)", "2^-0.5", "5!!", "1e5", "-(-3)%2", "round(2.5,-1)", "sqrt(2)^2", "1,000", "((", "π²", "log(8,2)", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		result, err := calc.Evaluate(expression)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a message")
			}
			return
		}
		if result.Text == "" || len(result.Text) > 120 {
			t.Fatalf("%q = %q", expression, result.Text)
		}
		again, err := calc.Evaluate(result.Text) // a result is an expression
		if err != nil || again.Text != result.Text {
			t.Fatalf("%q = %q, read again %q, %v", expression, result.Text, again.Text, err)
		}
	})
}

func BenchmarkEvaluate(b *testing.B) {
	for b.Loop() {
		if _, err := calc.Evaluate("round((1,234.50 * 3 - 17% of 2340) / 7, 2)"); err != nil {
			b.Fatal(err)
		}
	}
}
