package mailer

import (
	"net/mail"
	"time"
)

// Render returns a message as it is sent.
func Render(m Message, from string, now time.Time) ([]byte, string, error) {
	return render(m, mail.Address{Address: from}, now)
}
