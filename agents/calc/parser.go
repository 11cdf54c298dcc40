package calc

import (
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// parser evaluates an expression while it parses it, by recursive descent.
type parser struct {
	text      []rune
	position  int
	depth     int
	callDepth int // calls around the position, within the innermost parentheses: there a comma separates arguments
}

func (p *parser) parse() (number, error) {
	value, err := p.sum()
	if err != nil {
		return number{}, err
	}
	if p.skipSpace(); p.position < len(p.text) {
		if p.text[p.position] == ')' {
			return number{}, errorAt(p.position+1, "a closing parenthesis without an opening one")
		}
		return number{}, errorAt(p.position+1, "an operator is missing before %q", p.currentWord())
	}
	return value, nil
}

// currentWord returns the word at the current position, for a message.
func (p *parser) currentWord() string {
	end := p.position + 1
	for end < len(p.text) && (unicode.IsLetter(p.text[end]) || unicode.IsDigit(p.text[end])) && end-p.position < 20 {
		end++
	}
	return string(p.text[p.position:end])
}

func (p *parser) skipSpace() {
	for p.position < len(p.text) && unicode.IsSpace(p.text[p.position]) {
		p.position++
	}
}

// peek skips white space and returns the next character, or 0 at the end.
func (p *parser) peek() rune {
	p.skipSpace()
	if p.position == len(p.text) {
		return 0
	}
	return p.text[p.position]
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return errorAt(p.position+1, "the expression is nested deeper than %d levels", maxDepth)
	}
	return nil
}

func (p *parser) sum() (number, error) {
	if err := p.enter(); err != nil {
		return number{}, err
	}
	defer func() { p.depth-- }()
	return p.leftAssociative("+-", p.product)
}

func (p *parser) product() (number, error) { return p.leftAssociative("*/%", p.unary) }

// leftAssociative parses operands with left-associative operators between them.
func (p *parser) leftAssociative(operators string, operand func() (number, error)) (number, error) {
	value, err := operand()
	for err == nil {
		operator, at := p.peek(), p.position+1
		switch {
		case operator != 0 && strings.ContainsRune(operators, operator):
			p.position++
		case strings.Contains(operators, "*") && p.acceptWord("of"):
			operator = '*' // 15% of 80
		case strings.Contains(operators, "%") && p.acceptWord("mod"):
			operator = '%'
		default:
			return value, nil
		}
		var right number
		if right, err = operand(); err == nil {
			value, err = apply(at, operator, value, right)
		}
	}
	return number{}, err
}

// acceptWord consumes the given word if it stands alone, and reports whether it
// did.
func (p *parser) acceptWord(word string) bool {
	p.skipSpace()
	end := p.position + len(word)
	if end >= len(p.text) || string(p.text[p.position:end]) != word || unicode.IsLetter(p.text[end]) || p.text[end] == '(' {
		return false
	}
	p.position = end
	return true
}

// unary parses a sign. A sign binds less than a power: -2^2 is -4.
func (p *parser) unary() (number, error) {
	sign := p.peek()
	if sign != '-' && sign != '+' {
		return p.power()
	}
	if err := p.enter(); err != nil {
		return number{}, err
	}
	defer func() { p.depth-- }()
	p.position++
	value, err := p.unary()
	if err == nil && sign == '-' {
		value.rat = new(big.Rat).Neg(value.rat)
	}
	return value, err
}

// power parses a base and its exponent, from the right: 2^3^2 is 2^9.
func (p *parser) power() (number, error) {
	base, err := p.postfix()
	if err != nil || p.peek() != '^' {
		return base, err
	}
	if err := p.enter(); err != nil {
		return number{}, err
	}
	defer func() { p.depth-- }()
	p.position++
	at := p.position
	exponent, err := p.unary()
	if err != nil {
		return number{}, err
	}
	return power(at, base, exponent)
}

// postfix parses a value and its postfix operators ! and %.
func (p *parser) postfix() (number, error) {
	value, err := p.operand()
	for err == nil {
		switch mark := p.peek(); {
		case mark == '!':
			p.position++
			value, err = factorial(p.position, value)
		case mark == '%' && p.isPercent():
			p.position++
			value, err = apply(p.position, '/', value, number{rat: big.NewRat(100, 1)})
		default:
			return value, nil
		}
	}
	return number{}, err
}

// isPercent reports whether the % at the current position is a hundredth and
// not a remainder.
func (p *parser) isPercent() bool {
	next := parser{text: p.text, position: p.position + 1}
	char := next.peek()
	return char == 0 || strings.ContainsRune("+-*/^)%,;", char) || next.acceptWord("of")
}

func (p *parser) operand() (number, error) {
	at := p.peek()
	switch {
	case at == 0:
		return number{}, errorAt(p.position, "the expression ends where a number is expected")
	case at == '(':
		return p.group()
	case at == '.' || at >= '0' && at <= '9':
		return p.literal()
	case unicode.IsLetter(at):
		return p.nameOrCall()
	default:
		return number{}, errorAt(p.position+1, "a number is expected in the place of %q", p.currentWord())
	}
}

func (p *parser) group() (number, error) {
	open := p.position + 1
	p.position++
	callDepth := p.callDepth
	p.callDepth = 0
	value, err := p.sum()
	p.callDepth = callDepth
	if err != nil {
		return number{}, err
	}
	if p.peek() != ')' {
		return number{}, errorAt(open, "this parenthesis is never closed")
	}
	p.position++
	return value, nil
}

// literal parses a number such as 1234.5, .5, 1,234.50, 1_000 or 6.02e23.
func (p *parser) literal() (number, error) {
	start := p.position
	var text strings.Builder
	digits := func() int {
		n := 0
		for p.position < len(p.text) && p.text[p.position] >= '0' && p.text[p.position] <= '9' {
			text.WriteRune(p.text[p.position])
			p.position++
			n++
		}
		return n
	}
	whole := digits()
	for whole > 0 && p.hasDigitGroup(whole) {
		p.position++
		digits()
		whole = 3
	}
	fraction := 0
	if p.position < len(p.text) && p.text[p.position] == '.' {
		p.position++
		text.WriteByte('.')
		if fraction = digits(); fraction == 0 {
			text.WriteByte('0')
		}
	}
	if whole+fraction == 0 {
		return number{}, errorAt(start+1, "a point without digits is no number")
	}
	if err := p.exponent(&text); err != nil {
		return number{}, err
	}
	rat, ok := new(big.Rat).SetString(text.String())
	if !ok {
		return number{}, errorAt(start+1, "%q is no number", text.String())
	}
	return checkSize(start+1, number{rat: rat})
}

// hasDigitGroup reports whether a separator with exactly three digits after it
// comes next. Within a call a comma separates arguments instead.
func (p *parser) hasDigitGroup(before int) bool {
	if p.position+3 >= len(p.text) || p.text[p.position] != '_' && (p.text[p.position] != ',' || p.callDepth > 0 || before > 3) {
		return false
	}
	for _, r := range p.text[p.position+1 : p.position+4] {
		if r < '0' || r > '9' {
			return false
		}
	}
	return p.position+4 == len(p.text) || p.text[p.position+4] < '0' || p.text[p.position+4] > '9'
}

// exponent parses the e23 of 6.02e23. An e without digits after it is left in
// place, which makes it a constant and thus an error.
func (p *parser) exponent(text *strings.Builder) error {
	if p.position == len(p.text) || p.text[p.position] != 'e' && p.text[p.position] != 'E' {
		return nil
	}
	end := p.position + 1
	if end < len(p.text) && (p.text[end] == '+' || p.text[end] == '-') {
		end++
	}
	from := end
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	if end == from {
		return nil
	}
	size, err := strconv.Atoi(string(p.text[from:end]))
	if err != nil || size > maxExponent {
		return errorAt(p.position+1, "an exponent may be at most %d", maxExponent)
	}
	text.WriteString(string(p.text[p.position:end]))
	p.position = end
	return nil
}

// nameOrCall parses a constant or a function call.
func (p *parser) nameOrCall() (number, error) {
	start := p.position
	for p.position < len(p.text) && (unicode.IsLetter(p.text[p.position]) || unicode.IsDigit(p.text[p.position]) || p.text[p.position] == '_') {
		p.position++
	}
	name := strings.ToLower(string(p.text[start:p.position]))
	if p.peek() != '(' {
		if value, known := constantValue(name); known {
			return value, nil
		}
		if _, known := functions()[name]; known {
			return number{}, errorAt(start+1, "the function %s needs its values in parentheses", name)
		}
		return number{}, errorAt(start+1, "%q is neither a number nor a constant; the constants are pi, tau and e", string(p.text[start:min(p.position, start+20)]))
	}
	f, known := functions()[name]
	if !known {
		return number{}, errorAt(start+1, "there is no function %q; the functions are %s", string(p.text[start:min(p.position, start+20)]), strings.Join(Functions(), ", "))
	}
	p.position++
	p.callDepth++
	values, err := p.arguments()
	p.callDepth--
	if err != nil {
		return number{}, err
	}
	if len(values) < f.minArgs || len(values) > f.maxArgs {
		return number{}, errorAt(start+1, "the function %s takes %s", name, f.arity())
	}
	value, err := f.call(start+1, values)
	if err != nil {
		return number{}, err
	}
	for _, v := range values {
		value.approximate = value.approximate || v.approximate
	}
	return checkSize(start+1, value)
}

func (p *parser) arguments() ([]number, error) {
	var values []number
	if p.peek() == ')' {
		p.position++
		return nil, nil
	}
	for {
		value, err := p.sum()
		if err != nil {
			return nil, err
		}
		values = append(values, value)
		switch p.peek() {
		case ',', ';':
			p.position++
		case ')':
			p.position++
			return values, nil
		case 0:
			return nil, errorAt(len(p.text), "a closing parenthesis is missing")
		default:
			return nil, errorAt(p.position+1, "a comma or a closing parenthesis is expected in the place of %q", p.currentWord())
		}
	}
}
