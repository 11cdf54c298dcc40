package connector

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/connector/credential"
)

// probeTimeout bounds a connection test.
const probeTimeout = 20 * time.Second

// A Probe is the outcome of a connection test. Details are JSON values: type,
// tookMs, and after a failure needsAuth and retryable.
type Probe struct {
	OK      bool
	Message string
	Details map[string]any
	// Tiers are the rights of a kind whose rights come in tiers.
	Tiers []ProbedTier
}

// A ProbedTier says whether the credentials have a set of rights. Message says what
// is missing; it is empty if the tier works.
type ProbedTier struct {
	Name    string
	OK      bool
	Message string
}

// Test asks the source of a connector whether it can be reached, with its stored
// settings or with the changes in s, which are not stored. An unreachable source
// is an outcome, not an error. The audit log records the test.
func (c *Connectors) Test(ctx context.Context, id uuid.UUID, s Settings) (Probe, error) {
	row, err := c.Get(ctx, id)
	if err != nil {
		return Probe{}, err
	}
	kind, err := c.kind(row.Type)
	if err != nil {
		return Probe{}, err
	}
	var settings checked
	if s.given() {
		settings, err = c.changedSettings(ctx, row, kind, s)
		if err != nil {
			return Probe{}, err
		}
		return c.record(ctx, id, row.Name, c.probe(ctx, kind, settings))
	}
	settings.Settings, err = c.o.Vault.Settings(row)
	if lost, ok := errors.AsType[*credential.LostError](err); ok {
		c.logLostCredentials(ctx, id, err)
		return c.record(ctx, id, row.Name, Probe{Message: lost.Error(), Details: map[string]any{
			"type": kind.Name, "needsAuth": true, "retryable": false,
		}})
	}
	settings.grant, settings.Token = row.GrantID, c.tokenSource(ctx, row.GrantID)
	if err := c.checkGrantHosts(ctx, kind, row.Config, row.GrantID); err != nil {
		return Probe{}, err
	}
	return c.record(ctx, id, row.Name, c.probe(ctx, kind, settings))
}

// TestSettings is Test for a connector that does not exist yet.
func (c *Connectors) TestSettings(ctx context.Context, kindName string, s Settings) (Probe, error) {
	kind, err := c.kind(kindName)
	if err != nil {
		return Probe{}, err
	}
	settings, err := c.newSettings(ctx, kind, s)
	if err != nil {
		return Probe{}, err
	}
	return c.record(ctx, uuid.Nil, kind.Name, c.probe(ctx, kind, settings))
}

// record writes a test to the audit log.
func (c *Connectors) record(ctx context.Context, id uuid.UUID, name string, p Probe) (Probe, error) {
	err := audit.Record(ctx, audit.ClientExec(c.client(ctx)), audit.Event{
		Action: "connector.test", TargetKind: "connector", TargetID: id, TargetName: name, Changes: []audit.Change{{Field: "ok", New: p.OK}},
	})
	return p, apierr.Wrap("record a connection test", err)
}

func (c *Connectors) probe(ctx context.Context, kind connectors.Kind, s checked) Probe {
	inside, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if c.o.Limiters != nil {
		s.Limiter = c.o.Limiters.For(kind, s.Settings, s.grant).Wait
	}
	began := c.o.Now()
	tiers, err := open(inside, kind, s.Settings)
	p := Probe{OK: err == nil, Message: "The connection works", Details: map[string]any{
		"type": kind.Name, "tookMs": c.o.Now().Sub(began).Milliseconds(),
	}}
	for _, t := range tiers {
		probed := ProbedTier{Name: string(t.Name), OK: t.Err == nil}
		if t.Err != nil {
			probed.Message = kind.Redact(t.Err.Error(), s.Credentials)
		}
		p.Tiers = append(p.Tiers, probed)
	}
	_, retryable := connectors.RetryAfterOf(err)
	switch {
	case err == nil:
	case inside.Err() != nil && ctx.Err() == nil:
		p.Message = fmt.Sprintf("There was no answer within %d seconds", int(probeTimeout.Seconds()))
		p.Details["needsAuth"], p.Details["retryable"] = false, true
	default:
		p.Message = kind.Redact(err.Error(), s.Credentials)
		p.Details["needsAuth"], p.Details["retryable"] = connectors.IsNeedsAuth(err), retryable
	}
	return p
}

// open opens a source or a database, asks it whether it can be used and which tiers
// of rights it has, and closes it.
func open(ctx context.Context, kind connectors.Kind, s connectors.Settings) (tiers []connectors.Tier, err error) {
	var target interface {
		Check(ctx context.Context) error
		Close() error
	}
	if kind.AttachesDatabase() {
		target, err = kind.Attach(ctx, s)
	} else {
		target, err = kind.New(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = target.Close() }()
	err = target.Check(ctx)
	if checker, ok := target.(connectors.TierChecker); ok && ctx.Err() == nil {
		var tierErr error
		if tiers, tierErr = checker.CheckTiers(ctx); err == nil {
			err = tierErr
		}
	}
	return tiers, err
}
