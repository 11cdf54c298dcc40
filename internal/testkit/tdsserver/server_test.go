package tdsserver_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/internal/testkit/tdsserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tsql runs statements with the client of FreeTDS, which is not ours.
func tsql(t *testing.T, s *tdsserver.Server, password, encryption string, lines ...string) string {
	t.Helper()
	program, err := exec.LookPath("tsql")
	if err != nil {
		t.Fatalf("FreeTDS is not installed (tsql was not found); run scripts/setup.sh --tests: %v", err)
	}
	folder := t.TempDir()
	settings := filepath.Join(folder, "freetds.conf")
	config := fmt.Sprintf("[magpie]\nhost = %s\nport = %d\ntds version = 7.4\nencryption = %s\n", s.Host, s.Port, encryption)
	if err := os.WriteFile(settings, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, "-S", "magpie", "-U", "reader", "-P", password, "-D", "shop", "-o", "fhq", "-t", "|")
	command.Env = []string{"FREETDSCONF=" + settings, "HOME=" + folder, "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	command.Stdin = strings.NewReader(strings.Join(append(lines, "exit", ""), "\n"))
	output, err := command.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		t.Fatalf("tsql: %v\n%s", err, output)
	}
	return string(output)
}

// Another client understands the server, with each kind of encryption.
func TestFreeTDSAcceptsTheServer(t *testing.T) {
	t.Parallel()
	certificate := tdsserver.Certificate(t)
	for _, c := range []struct {
		name, encryption string
		mode             tdsserver.Encryption
		certificate      bool
	}{
		{"without encryption", "off", tdsserver.NotSupported, false}, {"the login is encrypted", "request", tdsserver.LoginOnly, true}, {"all is encrypted", "require", tdsserver.Supported, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := tdsserver.Options{
				Encryption: c.mode,
				Authenticate: func(l tdsserver.Login) *tdsserver.Error {
					if l.User != "reader" || l.Password != "pässword" || l.Database != "shop" {
						return &tdsserver.Error{Number: 18456, Message: "Login failed for user '" + l.User + "'."}
					}
					return nil
				},
				Answer: func(q tdsserver.Query) tdsserver.Reply {
					if strings.Contains(q.Text, "wrong") {
						return tdsserver.Reply{Error: &tdsserver.Error{Number: 208, Message: "Invalid object name 'wrong'."}}
					}
					rows := make([][]any, 500)
					for i := range rows {
						rows[i] = []any{i, "Zeile ä日本", nil, "12.50", 1.5, true, []byte{0, 255}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), int64(1) << 40, []byte("0123456789abcdef")}
					}
					return tdsserver.Reply{Columns: []tdsserver.Column{
						{"n", tdsserver.Int}, {"text", tdsserver.NVarChar}, {"nothing", tdsserver.NVarChar}, {"exact", tdsserver.Decimal}, {"float", tdsserver.Float}, {"bit", tdsserver.Bit},
						{"raw", tdsserver.VarBinary}, {"at", tdsserver.DateTime}, {"big", tdsserver.BigInt}, {"id", tdsserver.UniqueIdentifier},
					}, Rows: rows}
				},
			}
			if c.certificate {
				o.Certificate = &certificate
			}
			server := tdsserver.Start(t, o)
			got := tsql(t, server, "pässword", c.encryption, "select 1", "go", "select * from wrong", "go", "begin transaction", "go", "rollback transaction", "go")
			for _, part := range []string{"\n0|Zeile ä日本|NULL|12.50|1.5|1|00ff|Jan  2 2026", "\n499|Zeile", "|1099511627776|33323130-3534-3736-3839-616263646566", "Msg 208", "Invalid object name 'wrong'."} {
				if !strings.Contains("\n"+got, part) {
					t.Errorf("%q is not in %.1500s", part, got)
				}
			}
			if counts := server.Counts(); counts.Began != 1 || counts.RolledBack != 1 || counts.Open != 0 {
				t.Errorf("%+v", counts)
			}
			if got := tsql(t, server, "other", c.encryption); !strings.Contains(got, "Login failed for user 'reader'.") {
				t.Errorf("a wrong password: %s", got)
			}
		})
	}
}
