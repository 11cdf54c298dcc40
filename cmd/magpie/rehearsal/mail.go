package rehearsal

import (
	"io"
	"mime/quotedprintable"
	"net/mail"
	"strings"

	"github.com/magpie-search/magpie/internal/testkit/smtpserver"
)

// A Reply is a mail that the mail server has.
type Reply struct {
	To        string `json:"to"`
	Subject   string `json:"subject"`
	InReplyTo string `json:"inReplyTo"`
	Text      string `json:"text"`
}

// atMail is called by the mail server at each command. A sender that was killed gets no
// answer.
func (s *Stage) atMail(command string) (smtpserver.Fault, bool) {
	at, ok := map[string]Point{"DATA": PointSending, ".": PointDelivered}[command]
	return smtpserver.Fault{Command: command, Drop: true}, ok && s.reach(at)
}

// replies returns the mails that the mail server has in reply to a mail.
func (s *Stage) replies(id string) []Reply {
	out := []Reply{}
	for _, m := range s.mail.Mails() {
		if r := readReply(m); r.InReplyTo == id {
			out = append(out, r)
		}
	}
	return out
}

func readReply(m smtpserver.Mail) Reply {
	reply := Reply{To: strings.Join(m.To, ", "), Text: m.Data}
	read, err := mail.ReadMessage(strings.NewReader(m.Data))
	if err != nil {
		return reply
	}
	reply.Subject, reply.InReplyTo = read.Header.Get("Subject"), strings.Trim(read.Header.Get("In-Reply-To"), "<>")
	if body, err := io.ReadAll(quotedprintable.NewReader(read.Body)); err == nil {
		reply.Text = string(body)
	}
	return reply
}
