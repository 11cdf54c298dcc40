package policy

// Risk is what a tool call can do to the world outside.
type Risk string

// The risks of tools, from none to worst. Question is the risk of an approval that
// asks a person for an answer instead of consent.
const (
	Read     Risk = "read"     // changes nothing
	Write    Risk = "write"    // creates or changes something
	Send     Risk = "send"     // reaches other people, and cannot be taken back
	Delete   Risk = "delete"   // removes something
	Question Risk = "question" // asks a person
)

// Policy says what happens with a call.
type Policy string

// The policies, from the least to the most strict.
const (
	Allow Policy = "allow" // the call is made at once
	Ask   Policy = "ask"   // the call waits until a person decides
	Deny  Policy = "deny"  // the call is not made, and the model is told
)

// Valid reports whether r is the risk of a tool.
func (r Risk) Valid() bool { return r == Read || r.Acts() }

// Acts reports whether a call of this risk changes something outside of Magpie. An
// unknown risk acts.
func (r Risk) Acts() bool { return r != Read && r != Question && r != "" }

// Default returns the policy of tools that set none: reading is allowed, everything
// else asks. The empty risk counts as Read.
func (r Risk) Default() Policy {
	if r == Read || r == "" {
		return Allow
	}
	return Ask
}

// Valid reports whether p is one of the policies.
func (p Policy) Valid() bool { return p.strictness() > 0 && (p == Allow || p == Ask || p == Deny) }

func (p Policy) strictness() int {
	switch p {
	case "":
		return 0
	case Allow:
		return 1
	case Ask:
		return 2
	default:
		return 3
	}
}

// Strictest returns the strictest of the policies. Empty ones do not count; without
// any other the result is empty. An unknown policy counts as Deny.
func Strictest(policies ...Policy) Policy {
	var strictest Policy
	for _, p := range policies {
		if p.strictness() > strictest.strictness() {
			strictest = p
		}
	}
	if strictest.strictness() > Ask.strictness() {
		return Deny
	}
	return strictest
}
