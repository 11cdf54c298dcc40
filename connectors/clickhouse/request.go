package clickhouse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
	"github.com/magpie-search/magpie/connectors/sqldb"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	connectTimeout = 15 * time.Second
	killTimeout    = 3 * time.Second

	// maxMemory bounds the memory of a statement at the server, in bytes.
	maxMemory = 2 << 30
)

// newClient returns a client of a server's HTTP interface.
func newClient(s connectors.Settings, dial connectors.Dial) (client *restapi.Client, server string, err error) {
	base := url.URL{Scheme: "http"}
	port := s.Integer(sqldb.OptionPort)
	options := restapi.Options{Advice: "config.host and config.port", ErrorMessage: errorMessage, SameHost: true, Wait: s.Wait}
	if s.Boolean(optionSecure) {
		if options.TLS, _, err = sqldb.TLSConfig(s, sqldb.TLSVerify); err != nil {
			return nil, "", connectors.Fatal(err)
		}
		base.Scheme = "https"
	}
	if port == 0 {
		port = map[bool]int64{true: securePort, false: plainPort}[s.Boolean(optionSecure)]
	}
	base.Host = hostPort(s.String(sqldb.OptionHost), port)
	server = "ClickHouse at " + base.Host
	options.Platform, options.Header = server, http.Header{}
	if token := s.Credentials[credentialToken]; token != "" {
		options.Header.Set("Authorization", "Bearer "+token)
	} else {
		options.Header.Set("X-ClickHouse-User", s.Credentials[credentialUser])
		options.Header.Set("X-ClickHouse-Key", s.Credentials[sqldb.CredentialPassword])
	}
	client, err = restapi.New(base.String(), dial, options)
	return client, server, err
}

func hostPort(host string, port int64) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.FormatInt(port, 10)
}

// serverLimits are the limits that the server is given with a statement.
type serverLimits struct {
	timeout     time.Duration
	rows, bytes int // 0 for none
}

// settings returns the parameters of a request. With readonly = 1, the server
// refuses to write, table functions, and other settings in the statement.
func (d *database) settings(l serverLimits, id string) url.Values {
	values := url.Values{
		"database":                                {d.name},
		"query_id":                                {id},
		"default_format":                          {"JSONCompact"},
		"wait_end_of_query":                       {"1"}, // errors come instead of rows, not behind them
		"readonly":                                {"1"},
		"max_execution_time":                      {strconv.Itoa(int((l.timeout + time.Second - 1) / time.Second))},
		"timeout_overflow_mode":                   {"throw"},
		"max_memory_usage":                        {strconv.Itoa(maxMemory)},
		"output_format_json_quote_denormals":      {"1"},
		"output_format_json_quote_64bit_integers": {"0"},
	}
	if l.rows > 0 {
		values["max_result_rows"] = []string{strconv.Itoa(l.rows)}
		values["max_result_bytes"] = []string{strconv.Itoa(l.bytes)}
		values["result_overflow_mode"] = []string{"break"}
	}
	if d.profileIsReadonly.Load() {
		delete(values, "readonly") // may not be set again, and cannot be lifted
	}
	return values
}

// send runs a statement and returns its result. Errors of the server are a
// *serverError.
func (d *database) send(ctx context.Context, text string, l serverLimits) (*result, error) {
	if err := d.CheckOpen(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.timeout+connectTimeout)
	defer cancel()
	got, err := d.exchange(ctx, text, l)
	failure, ok := errors.AsType[*serverError](err)
	if !ok || failure.code != codeReadonly || !refusesSettings(failure.message) || d.profileIsReadonly.Load() {
		return got, err
	}
	if err := d.learnProfile(ctx); err != nil {
		return nil, err
	}
	return d.exchange(ctx, text, l)
}

// refusesSettings reports whether a message says that the user's profile does not
// let a setting be changed. That a statement tries it has been refused before.
func refusesSettings(message string) bool {
	return strings.Contains(message, "etting") && strings.Contains(message, "readonly mode")
}

// learnProfile reads the setting readonly of the user's profile, which did not
// accept the settings of a statement: 1 accepts none, 2 all but readonly.
func (d *database) learnProfile(ctx context.Context) error {
	var got result
	_, err := d.client.JSON(ctx, d.request("select value from system.settings where name = 'readonly'",
		url.Values{"database": {d.name}, "default_format": {"JSONCompact"}}), &got)
	if err != nil {
		return d.requestError(err)
	}
	if len(got.Data) != 1 || !got.isComplete() {
		return connectors.Retryable(fmt.Errorf("%s does not tell the settings of the user", d.server), 0)
	}
	if got.text(0, 0) != "2" {
		return connectors.NeedsAuth(errors.New("the user's settings profile has readonly = 1, with which the server accepts no limits of time, rows and memory; give the user a profile with readonly = 2"))
	}
	d.profileIsReadonly.Store(true)
	return nil
}

func (d *database) request(text string, query url.Values) restapi.Request {
	return restapi.Request{
		Method: http.MethodPost, Query: query, RawBody: []byte(text), Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
	}
}

func (d *database) exchange(ctx context.Context, text string, l serverLimits) (*result, error) {
	id := "magpie-" + uuid.NewString()
	var got result
	_, err := d.client.JSON(ctx, d.request(text, d.settings(l, id)), &got)
	switch {
	case err != nil:
		if ctx.Err() != nil {
			d.kill(ctx, id)
			return nil, fmt.Errorf("the statement was given up: %w", context.Cause(ctx))
		}
		return nil, d.requestError(err)
	case got.Exception != "":
		return nil, parseServerError("", got.Exception)
	case got.Meta == nil || !got.isComplete():
		return nil, connectors.Retryable(fmt.Errorf("%s answered with JSON that is no complete result; check config.host and config.port", d.server), 0)
	}
	return &got, nil
}

// kill ends a statement at the server, which would otherwise run until its timeout.
func (d *database) kill(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	_, _ = d.client.JSON(ctx, d.request("kill query where query_id = '"+id+"'", url.Values{"database": {d.name}}), nil) // it may have ended
}

// A serverError is an error of the server.
type serverError struct {
	code    int
	message string
}

func (e *serverError) Error() string { return fmt.Sprintf("%s (%d)", e.message, e.code) }

// Codes of the server's errors.
const (
	codeUnknownTable     = 60
	codeSyntax           = 62
	codeNoDatabase       = 81
	codeTimeout          = 159
	codeReadonly         = 164
	codeMemory           = 241
	codeDatabaseDenied   = 291
	codeCanceled         = 394
	codeTooManyBytes     = 396
	codeConstraint       = 452
	codeAccessDenied     = 497
	codeNotAuthenticated = 516
)

func isLoginError(code int) bool {
	return slices.Contains([]int{192, 193, 194, 195, codeDatabaseDenied, codeAccessDenied, codeNotAuthenticated}, code)
}

// isBusyError reports whether the server cannot run any statement now.
func isBusyError(code int) bool {
	return slices.Contains([]int{202, 203, 209, 210, 236, 242, 279, 319, 425, 439, 999}, code)
}

var (
	errorCode = regexp.MustCompile(`Code: ([0-9]+)[.,]`)
	errorText = regexp.MustCompile(`(?s)^.*?Code: [0-9]+[.,]\s*(?:e\.displayText\(\) = )?(?:DB::Exception: )?(.*?)(?:, e\.what\(\) = .*|\s*\(version [^)]*\)+\s*)?$`)
)

// parseServerError parses the server's text of an error. header is its code in a
// header, "" for none. It returns nil for other texts.
func parseServerError(header, text string) *serverError {
	text = strings.TrimSpace(text)
	code, err := strconv.Atoi(header)
	if found := errorCode.FindStringSubmatch(text); err != nil && found != nil {
		code, err = strconv.Atoi(found[1])
	}
	if err != nil {
		return nil
	}
	if found := errorText.FindStringSubmatch(text); found != nil {
		text = found[1]
	}
	return &serverError{code: code, message: text}
}

// errorMessage returns the message of an unsuccessful response, "" if it is not
// ClickHouse's.
func errorMessage(body []byte) string {
	if failure := parseServerError("", string(body)); failure != nil {
		return safetext.Line(failure.message)
	}
	return ""
}

// requestError returns the *serverError of a request, or its marked error.
func (d *database) requestError(err error) error {
	status, ok := errors.AsType[*restapi.StatusError](err)
	switch {
	case errors.Is(err, restapi.ErrTooLarge):
		return sqldb.StatementError("", "The result is too large. Ask for less: filter, aggregate, or select fewer columns.")
	case errors.Is(err, restapi.ErrUnencrypted):
		return connectors.Fatal(fmt.Errorf("%s is on the internet, where credentials are not sent without encryption; set config.secure and the port of HTTPS", d.server))
	case !ok:
		return d.withPortAdvice(err)
	}
	if failure := parseServerError(status.Header.Get("X-ClickHouse-Exception-Code"), exceptionOf(status.Body)); failure != nil {
		return failure
	}
	switch {
	case strings.Contains(string(status.Body), "clickhouse-client"):
		return connectors.Fatal(fmt.Errorf("%s says that this port is for the program clickhouse-client; set config.port to the port of the HTTP interface, 8443 with encryption or 8123 without", d.server))
	case status.Status == http.StatusUnauthorized, status.Status == http.StatusForbidden, status.Status == http.StatusTooManyRequests, status.Status >= http.StatusInternalServerError:
		return err
	}
	return connectors.Retryable(fmt.Errorf("%s answered with the status %d and nothing that ClickHouse says; check config.host and config.port, and whether a proxy stands between", d.server, status.Status), 0)
}

// exceptionOf returns the text of an error in a body. Newer servers may write it in
// the format of the result.
func exceptionOf(body []byte) string {
	var wrapped result
	if json.Unmarshal(body, &wrapped) == nil && wrapped.Exception != "" {
		return wrapped.Exception
	}
	return string(body)
}

// withPortAdvice adds what may be wrong with a port of the native protocol.
func (d *database) withPortAdvice(err error) error {
	if after, retryable := connectors.RetryAfterOf(err); retryable && d.hasNativePort {
		return connectors.Retryable(fmt.Errorf("%s; the ports 9000 and 9440 are those of the program clickhouse-client, the HTTP interface has 8123 and 8443",
			safetext.Line(err.Error())), after)
	}
	return err
}
