package command_test

import (
	"strings"
	"testing"
	"time"
)

type keyAnswer struct {
	ID, Name, Status                          string
	AllowAllCollections                       bool
	AllowedCollections                        []string
	AllowedHosts, AllowedReferers             []string
	DefaultCollection                         *string
	WidgetContext, WidgetModelID              *string
	RequireSignature, DatabaseTools           bool
	RateLimitPerMinute                        *int
	ExpiresAt, PreviousExpiresAt, RotatedAt   *time.Time
	PublishableHint, SecretHint, LeakedOrigin *string
}

type created struct {
	PublishableKey, SecretKey string
	APIKey                    keyAnswer `json:"apiKey"`
}

func TestKeysAreShownChangedAndRotated(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("collections", "create", "Docs")
	s.ok("collections", "create", "Guides")
	var made created
	s.read(&made, "keys", "create", "--name", "Site", "--host", "example.com", "--referer", "https://example.com/docs", "--collection", "Docs", "--database-tools")
	id := made.APIKey.ID
	if out := s.ok("keys", "show", id); !made.APIKey.DatabaseTools || !strings.Contains(out, "queried at /mcp") || !strings.Contains(out, "example.com") || !strings.Contains(out, "valid") || strings.Contains(out, made.SecretKey) {
		t.Errorf("%s", out)
	}
	var k keyAnswer
	s.read(&k, "keys", "update", id, "--name", "Page", "--host", "a.example", "--host", "b.example", "--collection", "Docs", "--collection", "Guides",
		"--default", "Guides", "--require-signature", "--rate-per-minute", "7", "--expires", "24h", "--context", "We sell boots.")
	if k.Name != "Page" || len(k.AllowedHosts) != 2 || len(k.AllowedCollections) != 2 || k.DefaultCollection == nil || !k.RequireSignature || !k.DatabaseTools ||
		k.RateLimitPerMinute == nil || *k.RateLimitPerMinute != 7 || k.ExpiresAt == nil || *k.WidgetContext != "We sell boots." || len(k.AllowedReferers) != 1 {
		t.Errorf("%+v", k)
	}
	k = keyAnswer{}
	s.read(&k, "keys", "update", id, "--default", "", "--no-require-signature", "--no-database-tools", "--rate-per-minute", "default", "--expires", "never", "--context", "", "--all-collections", "--referer", " ")
	if k.Name != "Page" || k.DefaultCollection != nil || k.RequireSignature || k.DatabaseTools || k.RateLimitPerMinute != nil || k.ExpiresAt != nil || k.WidgetContext != nil ||
		!k.AllowAllCollections || len(k.AllowedReferers) != 0 || len(k.AllowedHosts) != 2 {
		t.Errorf("%+v", k)
	}
	s.fails("give something to change", "keys", "update", id)
	s.fails("--rate-per-minute", "keys", "update", id, "--rate-per-minute", "many")
	s.fails("--expires", "keys", "update", id, "--expires", "soon")
	s.fails("expiresAt", "keys", "update", id, "--expires=-1h")
	s.fails("allowedHosts", "keys", "update", id, "--host", "a b")
	s.fails("not found", "keys", "update", "00000000-0000-0000-0000-000000000000", "--name", "x")
	s.fails("not found", "keys", "show", "00000000-0000-0000-0000-000000000000")
	var next created
	s.read(&next, "keys", "rotate", id, "--overlap", "1h", "--expires", "48h")
	if next.APIKey.ID != id || next.SecretKey == made.SecretKey || next.APIKey.PreviousExpiresAt == nil || next.APIKey.ExpiresAt == nil {
		t.Errorf("%+v", next)
	}
	if out := s.ok("keys", "rotate", id, "--overlap", "0"); !strings.Contains(out, "svc_sk_") || strings.Contains(out, next.SecretKey) {
		t.Errorf("%s", out)
	}
	s.fails("overlap", "keys", "rotate", id, "--overlap", "30s")
	s.fails("overlapMinutes", "keys", "rotate", id, "--overlap", "721h")
	s.ok("keys", "revoke", id)
	s.fails("revoked", "keys", "rotate", id)
}

func TestTheOperatorSetsQuotas(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var u struct {
		PeriodStart, PeriodEnd time.Time
		Queries                int64
		Limit, Remaining       *int64
	}
	if s.read(&u, "quota"); u.Limit != nil || u.Remaining != nil || u.Queries != 0 || !u.PeriodEnd.After(u.PeriodStart) {
		t.Errorf("%+v", u)
	}
	if s.read(&u, "quota", "set", "--limit", "5", "--workspace", "Test"); u.Limit == nil || *u.Limit != 5 || *u.Remaining != 5 {
		t.Errorf("%+v", u)
	}
	if out := s.ok("quota", "show"); !strings.Contains(out, "limit") || !strings.Contains(out, "5") {
		t.Errorf("%s", out)
	}
	s.ok("search", "anything") // the operator's own questions are not counted
	u.Limit, u.Remaining = nil, nil
	if s.read(&u, "quota", "show"); u.Queries != 0 || *u.Remaining != 5 {
		t.Errorf("%+v", u)
	}
	u.Limit, u.Remaining = nil, nil
	if s.read(&u, "quota", "set", "--limit", "default"); u.Limit != nil {
		t.Errorf("%+v", u)
	}
	s.fails("--limit", "quota", "set", "--limit", "lots")
	s.fails("limit: must be 0", "quota", "set", "--limit=-1")
	s.fails("there is no workspace", "quota", "show", "--workspace", "Nobody")
}
