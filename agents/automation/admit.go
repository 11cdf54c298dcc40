package automation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// A start is a run to admit.
type start struct {
	Occurrence
	// key identifies what happened; a second start with the same key is the same one.
	key   string
	event *uuid.UUID
	// skip is why the run must not happen; empty if it may.
	skip     string
	replayOf *uuid.UUID
	// byHand starts also a disabled automation, and without the limits of events.
	byHand bool
}

// maxKey is the length of the longest key that is stored as it is.
const maxKey = 150

func keyOf(prefix, text string) string {
	if len(text) > maxKey {
		sum := sha256.Sum256([]byte(text))
		text = hex.EncodeToString(sum[:])
	}
	return prefix + ":" + text
}

// admit stores a run, queued or skipped, unless one with its key exists, which it
// returns. The lock of the automation's row makes counts and keys reliable. The viewer
// of ctx is Magpie itself in the workspace, or a person who may start the automation.
func (s *Store) admit(ctx context.Context, id uuid.UUID, st start) (*ent.AutomationRun, error) {
	var row *ent.AutomationRun
	err := transaction.In(ctx, s.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		a, err := client.Automation.Query().Where(automation.ID(id)).ForUpdate().Only(ctx)
		if err != nil {
			return fmt.Errorf("lock an automation: %w", err)
		}
		row, err = s.insert(ctx, client, a, st)
		return err
	})
	if err != nil {
		return nil, err
	}
	return transaction.Detach(ctx, row), nil
}

func (s *Store) insert(ctx context.Context, client *ent.Client, a *ent.Automation, st start) (*ent.AutomationRun, error) {
	known, found, err := find(ctx, client, a.ID, st.key)
	if err != nil || found {
		return known, err
	}
	settings, err := SettingsOf(a)
	if err != nil {
		return nil, err
	}
	key := st.key
	if a.DedupeKey != "" && st.skip == "" && !st.byHand && st.replayOf == nil {
		if value := s.valueAt(st.Data, a.DedupeKey); value != "" {
			other, found, err := find(ctx, client, a.ID, keyOf("value", value))
			switch {
			case err != nil:
				return nil, err
			case !found:
				key = keyOf("value", value)
			case sameEvent(other, st):
				return other, nil
			default:
				st.skip = "another run has the same " + a.DedupeKey
			}
		}
	}
	now := s.opt.Now()
	if st.skip == "" && !st.byHand {
		if st.skip, err = s.overLimit(ctx, client, a, settings.Limits, st.Sender, now); err != nil {
			return nil, err
		}
	}
	runID := gid.New(gid.AutomationRun)
	create := client.AutomationRun.Create().SetID(runID).SetAutomationID(a.ID).SetDedupeKey(key).SetNillableEventID(st.event).SetNillableReplayOf(st.replayOf).
		SetTitle(safetext.TruncateBytes(safetext.Line(st.Title), 500)).SetSender(safetext.TruncateBytes(strings.ToLower(safetext.Line(st.Sender)), 320)).
		SetPrivate(a.RunAs == automation.RunAsOwner).SetCreatedAt(now).SetUpdatedAt(now)
	if st.skip != "" {
		create.SetStatus(automationrun.StatusSkipped).SetStep(automationrun.StepDone).SetReason(safetext.TruncateBytes(st.skip, 500)).SetFinishedAt(now)
		return create.Save(ctx)
	}
	sealed, err := s.seal(runID, st.Occurrence)
	if err != nil {
		return nil, err
	}
	if err := a.Update().SetLastRunAt(now).Exec(ctx); err != nil {
		return nil, fmt.Errorf("note the run of an automation: %w", err)
	}
	return create.SetEvent(sealed).SetDueAt(now).Save(ctx)
}

// find returns the run of an automation with a key. found is false without one.
func find(ctx context.Context, client *ent.Client, automationID uuid.UUID, key string) (row *ent.AutomationRun, found bool, err error) {
	row, err = client.AutomationRun.Query().Where(automationrun.AutomationID(automationID), automationrun.DedupeKey(key)).First(ctx)
	if ent.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("find a run by its key: %w", err)
	}
	return row, true, nil
}

func sameEvent(row *ent.AutomationRun, st start) bool {
	return row.EventID != nil && st.event != nil && *row.EventID == *st.event
}

// overLimit says which limit a new run exceeds; empty if none.
func (s *Store) overLimit(ctx context.Context, client *ent.Client, a *ent.Automation, l Limits, sender string, now time.Time) (string, error) {
	if !a.Enabled {
		return "the automation is disabled", nil
	}
	hour := client.AutomationRun.Query().Where(automationrun.AutomationID(a.ID), automationrun.CreatedAtGT(now.Add(-time.Hour)), automationrun.StatusNEQ(automationrun.StatusSkipped))
	n, err := hour.Clone().Count(ctx)
	if err != nil {
		return "", fmt.Errorf("count runs: %w", err)
	}
	if n >= l.RunsPerHour {
		return fmt.Sprintf("rate: %d runs in the last hour, which is the limit of the automation", n), nil
	}
	if sender != "" {
		if n, err = hour.Clone().Where(automationrun.Sender(strings.ToLower(sender))).Count(ctx); err != nil {
			return "", fmt.Errorf("count runs: %w", err)
		}
		if n >= l.PerSender {
			return fmt.Sprintf("rate: %d runs for this sender in the last hour, which is the limit of the automation", n), nil
		}
	}
	if l.TokensPerDay > 0 {
		var sums []struct{ Sum int }
		err := client.AutomationRun.Query().Where(automationrun.AutomationID(a.ID), automationrun.CreatedAtGT(now.Add(-24*time.Hour)), automationrun.TokensGT(0)).
			Aggregate(ent.Sum(automationrun.FieldTokens)).Scan(ctx, &sums)
		if err != nil {
			return "", fmt.Errorf("count tokens: %w", err)
		}
		if len(sums) > 0 && sums[0].Sum >= l.TokensPerDay {
			return fmt.Sprintf("tokens: %d in the last day, which is the limit of the automation", sums[0].Sum), nil
		}
	}
	return "", nil
}

func eventAAD(id uuid.UUID) []byte { return secret.AAD("automation_runs", id.String()) }

// seal returns an occurrence as a run keeps it.
func (s *Store) seal(id uuid.UUID, o Occurrence) ([]byte, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode an event: %w", err)
	}
	sealed, err := s.opt.Box.Seal(text, eventAAD(id))
	if err != nil {
		return nil, fmt.Errorf("seal an event: %w", err)
	}
	return sealed, nil
}

// open returns the occurrence of a run.
func (s *Store) open(row *ent.AutomationRun) (Occurrence, error) {
	var o Occurrence
	text, err := s.opt.Box.Open(row.Event, eventAAD(row.ID))
	if err != nil {
		return o, fmt.Errorf("open an event: %w", err)
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return o, fmt.Errorf("decode an event: %w", err)
	}
	return o, nil
}
