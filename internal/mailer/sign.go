package mailer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// sign adds the signature of Amazon's version 4 to a request without a query, whose path
// needs no escapes. It signs the host, the time, the type and the body.
//
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
func sign(r *http.Request, body []byte, keyID, key, region, service string, now time.Time) {
	now = now.UTC()
	stamp, day := now.Format("20060102T150405Z"), now.Format("20060102")
	r.Header.Set("X-Amz-Date", stamp)
	values := map[string]string{"host": r.URL.Host, "x-amz-date": stamp}
	if kind := r.Header.Get("Content-Type"); kind != "" {
		values["content-type"] = kind
	}
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	path := r.URL.Path
	if path == "" {
		path = "/"
	}
	var canonical strings.Builder
	canonical.WriteString(r.Method + "\n" + path + "\n\n")
	for _, name := range names {
		canonical.WriteString(name + ":" + strings.TrimSpace(values[name]) + "\n")
	}
	signed := strings.Join(names, ";")
	canonical.WriteString("\n" + signed + "\n" + digest(body))
	scope := strings.Join([]string{day, region, service, "aws4_request"}, "/")
	text := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, digest([]byte(canonical.String()))}, "\n")
	secret := []byte("AWS4" + key)
	for _, part := range []string{day, region, service, "aws4_request"} {
		secret = mac(secret, part)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+keyID+"/"+scope+", SignedHeaders="+signed+", Signature="+hex.EncodeToString(mac(secret, text)))
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
