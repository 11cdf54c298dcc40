package calc

import (
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// parser reads and computes in one go: what it has is the value so far.
type parser struct {
	text  []rune
	at    int
	depth int
	lists int // function calls around this point: a comma is theirs
}

func (p *parser) all() (number, error) {
	value, err := p.sum()
	if err != nil {
		return number{}, err
	}
	if p.skip(); p.at < len(p.text) {
		if p.text[p.at] == ')' {
			return number{}, wrong(p.at+1, "a closing parenthesis without an opening one")
		}
		return number{}, wrong(p.at+1, "an operator is missing before %q", p.word())
	}
	return value, nil
}

// word is what stands here, for a message.
func (p *parser) word() string {
	end := p.at + 1
	for end < len(p.text) && (unicode.IsLetter(p.text[end]) || unicode.IsDigit(p.text[end])) && end-p.at < 20 {
		end++
	}
	return string(p.text[p.at:end])
}

func (p *parser) skip() {
	for p.at < len(p.text) && unicode.IsSpace(p.text[p.at]) {
		p.at++
	}
}

// peek is the next character behind blanks, 0 at the end.
func (p *parser) peek() rune {
	p.skip()
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return wrong(p.at+1, "the expression is nested deeper than %d levels", maxDepth)
	}
	return nil
}

func (p *parser) sum() (number, error) {
	if err := p.enter(); err != nil {
		return number{}, err
	}
	defer func() { p.depth-- }()
	return p.row("+-", p.product)
}

func (p *parser) product() (number, error) { return p.row("*/%", p.signed) }

// row reads operands with operators of one rank between them, from the left.
func (p *parser) row(operators string, operand func() (number, error)) (number, error) {
	value, err := operand()
	for err == nil {
		operator, at := p.peek(), p.at+1
		switch {
		case operator != 0 && strings.ContainsRune(operators, operator):
			p.at++
		case strings.Contains(operators, "*") && p.reads("of"):
			operator = '*' // 15% of 80
		case strings.Contains(operators, "%") && p.reads("mod"):
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

// reads takes a word that stands by itself.
func (p *parser) reads(word string) bool {
	p.skip()
	end := p.at + len(word)
	if end >= len(p.text) || string(p.text[p.at:end]) != word || unicode.IsLetter(p.text[end]) || p.text[end] == '(' {
		return false
	}
	p.at = end
	return true
}

// signed reads a sign, which binds less than a power: -2^2 is -4.
func (p *parser) signed() (number, error) {
	sign := p.peek()
	if sign != '-' && sign != '+' {
		return p.powers()
	}
	if err := p.enter(); err != nil {
		return number{}, err
	}
	defer func() { p.depth-- }()
	p.at++
	value, err := p.signed()
	if err == nil && sign == '-' {
		value.rat = new(big.Rat).Neg(value.rat)
	}
	return value, err
}

// powers reads a base and its exponent, from the right: 2^3^2 is 2^9.
func (p *parser) powers() (number, error) {
	base, err := p.postfix()
	if err != nil || p.peek() != '^' {
		return base, err
	}
	if err := p.enter(); err != nil {
		return number{}, err
	}
	defer func() { p.depth-- }()
	p.at++
	at := p.at
	exponent, err := p.signed()
	if err != nil {
		return number{}, err
	}
	return power(at, base, exponent)
}

// postfix reads a value with the marks behind it: ! and the % that nothing follows to divide by.
func (p *parser) postfix() (number, error) {
	value, err := p.value()
	for err == nil {
		switch mark := p.peek(); {
		case mark == '!':
			p.at++
			value, err = factorial(p.at, value)
		case mark == '%' && p.percent():
			p.at++
			value, err = apply(p.at, '/', value, number{rat: big.NewRat(100, 1)})
		default:
			return value, nil
		}
	}
	return number{}, err
}

// percent reports whether the % here is a hundredth and no remainder.
func (p *parser) percent() bool {
	ahead := parser{text: p.text, at: p.at + 1}
	next := ahead.peek()
	return next == 0 || strings.ContainsRune("+-*/^)%,;", next) || ahead.reads("of")
}

func (p *parser) value() (number, error) {
	at := p.peek()
	switch {
	case at == 0:
		return number{}, wrong(p.at, "the expression ends where a number is expected")
	case at == '(':
		return p.group()
	case at == '.' || at >= '0' && at <= '9':
		return p.literal()
	case unicode.IsLetter(at):
		return p.named()
	default:
		return number{}, wrong(p.at+1, "a number is expected in the place of %q", p.word())
	}
}

func (p *parser) group() (number, error) {
	open := p.at + 1
	p.at++
	lists := p.lists
	p.lists = 0
	value, err := p.sum()
	p.lists = lists
	if err != nil {
		return number{}, err
	}
	if p.peek() != ')' {
		return number{}, wrong(open, "this parenthesis is never closed")
	}
	p.at++
	return value, nil
}

// literal reads a number such as 1234.5, .5, 1,234.50, 1_000 or 6.02e23.
func (p *parser) literal() (number, error) {
	start := p.at
	var text strings.Builder
	digits := func() int {
		n := 0
		for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
			text.WriteRune(p.text[p.at])
			p.at++
			n++
		}
		return n
	}
	whole := digits()
	for whole > 0 && p.grouped(whole) {
		p.at++
		digits()
		whole = 3
	}
	fraction := 0
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		text.WriteByte('.')
		if fraction = digits(); fraction == 0 {
			text.WriteByte('0')
		}
	}
	if whole+fraction == 0 {
		return number{}, wrong(start+1, "a point without digits is no number")
	}
	if err := p.exponent(&text); err != nil {
		return number{}, err
	}
	rat, ok := new(big.Rat).SetString(text.String())
	if !ok {
		return number{}, wrong(start+1, "%q is no number", text.String())
	}
	return bounded(start+1, number{rat: rat})
}

// grouped reports whether a separator with exactly three digits behind it stands here. In the list of a function a comma
// separates its values.
func (p *parser) grouped(before int) bool {
	if p.at+3 >= len(p.text) || p.text[p.at] != '_' && (p.text[p.at] != ',' || p.lists > 0 || before > 3) {
		return false
	}
	for _, r := range p.text[p.at+1 : p.at+4] {
		if r < '0' || r > '9' {
			return false
		}
	}
	return p.at+4 == len(p.text) || p.text[p.at+4] < '0' || p.text[p.at+4] > '9'
}

// exponent reads the e23 of 6.02e23; an e that no number follows is left to be a constant, and so an error.
func (p *parser) exponent(text *strings.Builder) error {
	if p.at == len(p.text) || p.text[p.at] != 'e' && p.text[p.at] != 'E' {
		return nil
	}
	end := p.at + 1
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
		return wrong(p.at+1, "an exponent may be at most %d", maxExponent)
	}
	text.WriteString(string(p.text[p.at:end]))
	p.at = end
	return nil
}

// named reads a constant or a function with its values.
func (p *parser) named() (number, error) {
	start := p.at
	for p.at < len(p.text) && (unicode.IsLetter(p.text[p.at]) || unicode.IsDigit(p.text[p.at]) || p.text[p.at] == '_') {
		p.at++
	}
	name := strings.ToLower(string(p.text[start:p.at]))
	if p.peek() != '(' {
		if value, known := constant(name); known {
			return value, nil
		}
		if _, known := functions()[name]; known {
			return number{}, wrong(start+1, "the function %s needs its values in parentheses", name)
		}
		return number{}, wrong(start+1, "%q is neither a number nor a constant; the constants are pi, tau and e", string(p.text[start:min(p.at, start+20)]))
	}
	f, known := functions()[name]
	if !known {
		return number{}, wrong(start+1, "there is no function %q; the functions are %s", string(p.text[start:min(p.at, start+20)]), strings.Join(Functions(), ", "))
	}
	p.at++
	p.lists++
	values, err := p.values()
	p.lists--
	if err != nil {
		return number{}, err
	}
	if len(values) < f.least || len(values) > f.most {
		return number{}, wrong(start+1, "the function %s takes %s", name, f.takes())
	}
	value, err := f.do(start+1, values)
	if err != nil {
		return number{}, err
	}
	for _, v := range values {
		value.rough = value.rough || v.rough
	}
	return bounded(start+1, value)
}

func (p *parser) values() ([]number, error) {
	var values []number
	if p.peek() == ')' {
		p.at++
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
			p.at++
		case ')':
			p.at++
			return values, nil
		case 0:
			return nil, wrong(len(p.text), "a closing parenthesis is missing")
		default:
			return nil, wrong(p.at+1, "a comma or a closing parenthesis is expected in the place of %q", p.word())
		}
	}
}
