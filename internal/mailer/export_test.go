package mailer

import (
	"net/http"
	"net/mail"
	"time"
)

// Render returns a message as it is sent.
func Render(m Message, from string, now time.Time) ([]byte, string, error) {
	return render(m, mail.Address{Address: from}, now)
}

// Sign signs a request.
func Sign(r *http.Request, body []byte, keyID, key, region, service string, now time.Time) {
	sign(r, body, keyID, key, region, service, now)
}
