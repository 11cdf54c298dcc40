package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/magpie-search/magpie/agents/policy"
)

// Keeper keeps what a run needs to survive its process.
type Keeper interface {
	// Save keeps a state in place of the last one. The run continues from it after
	// its process died.
	Save(ctx context.Context, state State) error
	// Begin records that an acting call begins, and returns the record of earlier
	// beginnings. It does not end with the run.
	Begin(ctx context.Context, call Effect) (EffectStatus, error)
	// End records the result of a call that Begin recorded.
	End(ctx context.Context, call Effect) error
}

// Effect is an acting call as it is kept.
type Effect struct {
	CallID, Tool string
	// Repeat says that a person agreed to make the call again, although it is not
	// known whether it took effect.
	Repeat bool
	Result EffectResult // for End, and of a call that is done
}

// EffectResult is the result of an acting call.
type EffectResult struct {
	Text    string `json:"text,omitempty"`
	Summary string `json:"summary,omitempty"`
	Failure string `json:"failure,omitempty"`
}

// EffectStatus is the record of an acting call before it begins.
type EffectStatus struct {
	// Done reports that the call was made before; Result is its result.
	Done   bool
	Result EffectResult
	// Begun reports that the call began before and has no result: it is not known
	// whether it took effect.
	Begun bool
}

// Pending is a call on which a run waits.
type Pending struct {
	// ID identifies the decision within the run: the id of the call, with a suffix
	// if the call is asked about again because its outcome is not known.
	ID     string
	CallID string
	Tool   string // its Tool.PolicyName, or Tool.Name
	Risk   policy.Risk
	// Arguments are those of the call, if a person agrees.
	Arguments json.RawMessage
	Preview   Preview
	// Reason is the text that the model wrote before the call.
	Reason string
	// Unknown reports that the call began before and that it is not known whether it
	// took effect. Approval makes it again.
	Unknown bool
	// Question is set if a person is asked for an answer instead of consent.
	Question *Question
	// ToolHash identifies the tool as it is described to the model.
	ToolHash string
}

// Question asks a person.
type Question struct {
	Text    string
	Options []string // answers to choose from; empty for any text
}

// Verdict is a person's decision about a call.
type Verdict string

// The verdicts. The call is made only if it is Approved.
const (
	Approved Verdict = "approved"
	Rejected Verdict = "rejected"
	Expired  Verdict = "expired"
	Answered Verdict = "answered" // Decision.Answer is the result of the call
)

// Decision ends the wait for one call.
type Decision struct {
	Verdict Verdict
	// Arguments are those that a person wrote in place of the model's, or nil.
	Arguments json.RawMessage
	Comment   string
	Answer    string
}

// Hash identifies a tool as it is described to the model.
func (t *Tool) Hash() string {
	sum := sha256.New()
	for _, part := range []string{t.Name, t.Description, string(t.Schema)} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
