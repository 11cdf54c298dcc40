package approval

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Limits of approvals.
const (
	maxArguments  = 256 << 10 // bytes
	maxPreview    = 64_000    // characters; longer previews are cut
	maxReason     = 4_000     // characters; longer reasons are cut
	maxTitle      = 300       // characters; longer titles are cut
	maxOptions    = 20
	maxOption     = 200 // characters
	maxApprovers  = 100
	maxComment    = 4_000
	maxAnswer     = 10_000
	maxOfRun      = 1_000 // approvals of one run
	defaultExpiry = 24 * time.Hour
)

// Options configure a Store. Zero means the default in the comment.
type Options struct {
	Ent *ent.Client
	// Validate checks edited arguments against the tool of an approval. Its
	// *apierr.Error is shown. Nil accepts every JSON object.
	Validate func(ctx context.Context, a *ent.Approval, arguments json.RawMessage) error
	// Resume is called after the commit that put a run into the queue. Nil leaves the
	// run to the sweep of runs.
	Resume func(ctx context.Context, run uuid.UUID)
	Expiry time.Duration // of approvals that name none: 24 hours
	Poll   time.Duration // of watchers: 1 second
	Now    func() time.Time
	Log    *slog.Logger // nil discards
}

// Store keeps approvals and grants. It is safe for concurrent use. It owns a goroutine
// for each watch, which Close ends.
type Store struct {
	opt      Options
	watchers watchers
}

// New returns a Store.
func New(o Options) *Store {
	o.Expiry, o.Poll = cmp.Or(o.Expiry, defaultExpiry), cmp.Or(o.Poll, time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{opt: o, watchers: watchers{changed: make(chan struct{}), closing: make(chan struct{})}}
}

// A Channel is a place in Slack where an approval is posted, by an inbound integration
// of the kind slack.
type Channel struct {
	Integration uuid.UUID
	Name        string // id of the channel, such as C024BE91L
}

// A Request is a question to a person.
type Request struct {
	CallID, Tool, ToolTitle string
	Integration             uuid.UUID // of the tool; zero for none
	Kind                    approval.Kind
	Risk                    policy.Risk
	// Title is one line; Preview is Markdown; Reason is the model's own sentence.
	Title, Preview, Reason string
	// Arguments are stored as they are. They are the bytes that run after consent.
	Arguments json.RawMessage
	// Configuration is a hash of the agent and the tool.
	Configuration string
	Options       []string      // suggested answers of a question
	Expiry        time.Duration // zero means Options.Expiry
	// Approvers and Role name who may decide besides the person of the run.
	Approvers []uuid.UUID
	Role      viewer.Role // empty for nobody
	// OthersOnly keeps the person of the run from deciding. It needs Approvers or Role.
	OthersOnly bool
	Channel    *Channel // nil for the workspace's channel, if others than the person may decide
}

// Hash returns the SHA-256 of arguments in hexadecimal, as approvals have it.
func Hash(arguments json.RawMessage) string {
	sum := sha256.Sum256(arguments)
	return hex.EncodeToString(sum[:])
}

// Create stores the questions of a run, as pending, with a client of the transaction in
// which the run begins to wait. A call that was asked about before, in the same way,
// keeps its approval, which is returned in its place.
func (s *Store) Create(ctx context.Context, client *ent.Client, run *ent.AgentRun, requests []Request) ([]*ent.Approval, error) {
	asked := system(ctx, run.WorkspaceID)
	before, err := s.OfRun(ctx, client, run)
	if err != nil {
		return nil, err
	}
	if len(before)+len(requests) > maxOfRun {
		return nil, apierr.New(apierr.Conflict, fmt.Sprintf("The run has asked %d times, which is the most", len(before)))
	}
	fallback, err := workspaceChannel(asked, client, run.WorkspaceID)
	if err != nil {
		return nil, err
	}
	out := make([]*ent.Approval, 0, len(requests))
	for i := range requests {
		row := find(before, requests[i].CallID, requests[i].kind())
		if row == nil {
			create, err := s.draft(client, run, &requests[i], fallback)
			if err != nil {
				return nil, err
			}
			if row, err = create.Save(asked); err != nil {
				return nil, fmt.Errorf("store an approval: %w", err)
			}
		}
		out = append(out, row)
	}
	s.announce(ctx)
	return out, nil
}

func find(rows []*ent.Approval, call string, kind approval.Kind) *ent.Approval {
	for _, row := range rows {
		if row.CallID == call && row.Kind == kind {
			return row
		}
	}
	return nil
}

func (r *Request) kind() approval.Kind { return cmp.Or(r.Kind, approval.KindConsent) }

// draft returns the row of a request.
func (s *Store) draft(client *ent.Client, run *ent.AgentRun, r *Request, fallback Channel) (*ent.ApprovalCreate, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	now := s.now()
	create := client.Approval.Create().SetRunID(run.ID).SetAgentID(run.AgentID).SetSubjectID(run.SubjectID).
		SetCallID(r.CallID).SetTool(r.Tool).SetToolTitle(safetext.Truncate(safetext.Line(r.ToolTitle), 200)).SetKind(r.kind()).SetRisk(riskOf(r.Risk, r.kind())).
		SetTitle(safetext.Truncate(safetext.Line(cmp.Or(r.Title, r.ToolTitle, r.Tool)), maxTitle)).
		SetPreview(safetext.Truncate(safetext.Storable(r.Preview), maxPreview)).SetReason(safetext.Truncate(safetext.Storable(r.Reason), maxReason)).
		SetArguments(string(r.Arguments)).SetArgumentsHash(Hash(r.Arguments)).SetConfigurationHash(r.Configuration).
		SetRequestedAt(now).SetExpiresAt(now.Add(cmp.Or(r.Expiry, s.opt.Expiry))).SetSelfApproval(!r.OthersOnly).SetNonce(rand.Text())
	if len(r.Options) > 0 {
		create.SetOptions(r.Options)
	}
	if len(r.Approvers) > 0 {
		create.SetApproverIds(r.Approvers)
	}
	if r.Role != "" {
		create.SetApproverRole(approval.ApproverRole(strings.ToUpper(string(r.Role))))
	}
	if r.Integration != uuid.Nil {
		create.SetIntegrationID(r.Integration)
	}
	channel := r.Channel
	if channel == nil && (r.Role != "" || len(r.Approvers) > 0) {
		channel = &fallback
	}
	if channel != nil && channel.Integration != uuid.Nil && channel.Name != "" {
		create.SetSlackIntegrationID(channel.Integration).SetSlackChannel(channel.Name).SetSlackDueAt(now)
	}
	return create, nil
}

// check checks what the code of runs, tools and automations gives.
func (r *Request) check() error {
	switch {
	case r.CallID == "" || r.Tool == "":
		return apierr.Invalid("tool", "a call needs an id and a tool")
	case len(r.Arguments) > maxArguments:
		return apierr.Invalid("arguments", fmt.Sprintf("must have at most %d bytes", maxArguments))
	case !isObject(r.Arguments):
		return apierr.Invalid("arguments", "must be a JSON object")
	case len(r.Options) > maxOptions:
		return apierr.Invalid("options", fmt.Sprintf("must have at most %d entries", maxOptions))
	case len(r.Approvers) > maxApprovers:
		return apierr.Invalid("approvers", fmt.Sprintf("must have at most %d entries", maxApprovers))
	case r.Role != "" && !r.Role.AtLeast(viewer.RoleViewer):
		return apierr.Invalid("role", "must be one of viewer, editor, admin, owner")
	case r.OthersOnly && r.Role == "" && len(r.Approvers) == 0:
		return apierr.Invalid("approvers", "must be given where the person of the run may not decide")
	}
	for _, option := range r.Options {
		if option == "" || utf8.RuneCountInString(option) > maxOption || option != safetext.Line(option) {
			return apierr.Invalid("options", fmt.Sprintf("each must be a line of 1 to %d characters", maxOption))
		}
	}
	return nil
}

// isObject reports whether text is a JSON object that the database can store.
func isObject(text json.RawMessage) bool {
	var object map[string]json.RawMessage
	return utf8.Valid(text) && !strings.ContainsRune(string(text), 0) && json.Unmarshal(text, &object) == nil && object != nil
}

// riskOf returns the risk of a row. An unknown risk counts as the worst.
func riskOf(r policy.Risk, kind approval.Kind) approval.Risk {
	switch {
	case kind == approval.KindQuestion || r == policy.Question:
		return approval.RiskQuestion
	case r == policy.Read || r == "":
		return approval.RiskRead
	case r == policy.Write:
		return approval.RiskWrite
	case r == policy.Send:
		return approval.RiskSend
	default:
		return approval.RiskDelete
	}
}

// workspaceChannel returns the channel of approvals that name none; the zero Channel if
// the workspace has none.
func workspaceChannel(ctx context.Context, client *ent.Client, id uuid.UUID) (Channel, error) {
	row, err := client.Workspace.Get(ctx, id)
	if err != nil {
		return Channel{}, fmt.Errorf("read the workspace: %w", err)
	}
	if row.ApprovalIntegrationID == nil || row.ApprovalChannel == nil {
		return Channel{}, nil
	}
	return Channel{Integration: *row.ApprovalIntegrationID, Name: *row.ApprovalChannel}, nil
}

// system returns the context of Magpie itself in a workspace. Changes in it are
// attributed to the caller of ctx.
func system(ctx context.Context, workspace uuid.UUID) context.Context {
	return viewer.With(ctx, viewer.System(workspace))
}

// now returns the time with the precision of the database.
func (s *Store) now() time.Time { return s.opt.Now().Truncate(time.Microsecond) }

func (s *Store) client(ctx context.Context) *ent.Client { return transaction.Client(ctx, s.opt.Ent) }

// announce wakes the watches of this process after the transaction of ctx. Those of
// other processes poll.
func (s *Store) announce(ctx context.Context) {
	transaction.AfterCommit(ctx, func(context.Context) { s.watchers.wake() })
}

// OfRun returns all approvals of a run, the oldest first.
func (s *Store) OfRun(ctx context.Context, client *ent.Client, run *ent.AgentRun) ([]*ent.Approval, error) {
	rows, err := client.Approval.Query().Where(approval.RunID(run.ID)).Order(ent.Asc(approval.FieldCreatedAt, approval.FieldID)).
		Limit(maxOfRun).All(system(ctx, run.WorkspaceID))
	if err != nil {
		return nil, fmt.Errorf("read the approvals of a run: %w", err)
	}
	return rows, nil
}

// CancelRun cancels the pending approvals of a run.
func (s *Store) CancelRun(ctx context.Context, client *ent.Client, run *ent.AgentRun) error {
	now := s.now()
	err := client.Approval.Update().Where(approval.RunID(run.ID), approval.StatusEQ(approval.StatusPending)).
		SetStatus(approval.StatusCanceled).SetDecidedAt(now).Exec(system(ctx, run.WorkspaceID))
	if err != nil {
		return fmt.Errorf("cancel the approvals of a run: %w", err)
	}
	if err := replaceMessages(ctx, client, run.ID, now); err != nil {
		return err
	}
	s.announce(ctx)
	return nil
}
