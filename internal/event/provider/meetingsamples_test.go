package provider_test

import (
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/magpie-search/magpie/internal/event"
)

func meetingOf(check func(t *testing.T, m *event.Meeting)) func(t *testing.T, c event.Content) {
	return func(t *testing.T, c event.Content) {
		t.Helper()
		if c.Meeting == nil {
			t.Fatalf("no meeting: %+v", c)
		}
		check(t, c.Meeting)
	}
}

// keySet returns the keys of Google, with one key.
func keySet(key *rsa.PublicKey) []byte {
	out, err := json.Marshal(map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k1", "n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
		"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
	}}})
	if err != nil {
		return nil
	}
	return out
}

// googleToken returns the token of a push subscription.
func googleToken(t testing.TB, key *rsa.PrivateKey, audience, email string, at time.Time) string {
	t.Helper()
	unsigned := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": "https://accounts.google.com", "aud": audience, "email": email, "email_verified": true, "iat": at.Unix(), "exp": at.Add(time.Hour).Unix(), "sub": "1",
	})
	unsigned.Header["kid"] = "k1"
	signed, err := unsigned.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

const pusher = "push@acme.iam.gserviceaccount.com"

const teamsBody = `{"value":[{"subscriptionId":"7f3b6e0c-1","clientState":"STATE","changeType":"created","resource":"users('8b081ef6-4792-4def-b2c9-c363a1bf41d5')/onlineMeetings('MSo4YjA4MWVmNi00')/transcripts('MSMjMCMjZDA')","subscriptionExpirationDateTime":"2026-11-24T12:30:00Z","resourceData":{"id":"MSMjMCMjZDA","@odata.type":"#Microsoft.Graph.callTranscript","@odata.id":"users('8b081ef6')/onlineMeetings('MSo4')/transcripts('MSMj')"},"tenantId":"2432b57b-0abd-43db-aa7b-16eadd115d34"}]}`

func meetingSamples(t testing.TB, google, foreign *rsa.PrivateKey) map[string]sample {
	t.Helper()
	return map[string]sample{
		"zoom": {
			settings: settings(map[string]any{"account_id": "AAAAAABBBB"}), secret: "s3cret", timed: true,
			sign: func(body []byte, secret string, at time.Time) *event.Request {
				stamp := strconv.FormatInt(at.Unix(), 10)
				return newRequest(body, address, "x-zm-request-timestamp", stamp, "x-zm-signature", "v0="+hexMAC(secret, []byte("v0:"+stamp+":"), body))
			},
			keys: []string{"aaaaaabbbb"}, id: "recording.transcript_completed 4444AAAiAAAAAiAiAiiAii== 1626230691572", typ: "recording.transcript_completed",
			content: meetingOf(func(t *testing.T, m *event.Meeting) {
				t.Helper()
				if m.Topic != "My Personal Recording" || m.Organizer.Email != "jchill@example.com" || m.Transcript == nil || m.Transcript.Token == "" || m.End.Sub(m.Start) != time.Hour {
					t.Errorf("the meeting is %+v", m)
				}
			}),
		},
		"google_meet": {
			settings: settings(map[string]any{"service_account": pusher, "subscription": "projects/acme/subscriptions/meet"}), secret: "signed", timed: true,
			sign: func(body []byte, secret string, at time.Time) *event.Request {
				key := google
				if secret != "signed" {
					key = foreign
				}
				audience, _, _ := strings.Cut(address, "?")
				return newRequest(body, address, "Authorization", "Bearer "+googleToken(t, key, audience, pusher, at))
			},
			keys: []string{"projects/acme/subscriptions/meet"}, id: "2070443601311540", typ: "meet.transcript.v2.fileGenerated",
			content: meetingOf(func(t *testing.T, m *event.Meeting) {
				t.Helper()
				if m.ID != "conferenceRecords/ABCdef123" || m.Transcript == nil || m.Transcript.ID != "conferenceRecords/ABCdef123/transcripts/T1" {
					t.Errorf("the meeting is %+v", m)
				}
			}),
		},
		"teams": {
			settings: settings(map[string]any{"tenant_id": "2432b57b-0abd-43db-aa7b-16eadd115d34"}), secret: "st4te", body: teamsBody,
			sign: func(body []byte, secret string, _ time.Time) *event.Request {
				return newRequest([]byte(strings.Replace(string(body), "STATE", secret, 1)), address)
			},
			keys: []string{"2432b57b-0abd-43db-aa7b-16eadd115d34"},
			id:   "created users('8b081ef6-4792-4def-b2c9-c363a1bf41d5')/onlineMeetings('MSo4YjA4MWVmNi00')/transcripts('MSMjMCMjZDA')", typ: "transcript.created",
			content: meetingOf(func(t *testing.T, m *event.Meeting) {
				t.Helper()
				if m.ID != "users('8b081ef6-4792-4def-b2c9-c363a1bf41d5')/onlineMeetings('MSo4YjA4MWVmNi00')" || m.Transcript == nil {
					t.Errorf("the meeting is %+v", m)
				}
			}),
		},
	}
}
