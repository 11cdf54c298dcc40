package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/minio/minio-go/v7"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/safetext"
)

// markError returns the marked error of a request. action is what was tried,
// such as `list the bucket "docs"`.
func (s *source) markError(ctx context.Context, c *call, action string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", action, ctx.Err())
	}
	if response, ok := errors.AsType[minio.ErrorResponse](err); ok {
		return s.markResponse(c, action, response)
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // the outer text repeats the URL
	}
	if httpx.IsHidden(err) {
		return connectors.Fatal(fmt.Errorf("%s: config.endpoint: %w", action, err))
	}
	if errors.Is(err, errEndlessListing) {
		return connectors.Fatal(fmt.Errorf("%s: %w; is config.endpoint an S3 service?", action, err))
	}
	if reason := tlsReason(err); reason != "" {
		return connectors.Fatal(fmt.Errorf("%s: %s", action, reason))
	}
	if mismatch, ok := errors.AsType[*unexpectedResponseError](err); ok {
		return connectors.Retryable(fmt.Errorf("%s: %w", action, mismatch), 0)
	}
	if _, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return connectors.Retryable(fmt.Errorf("%s: the answer was cut off or is no S3 answer; is config.endpoint an S3 service?", action), 0)
	}
	return connectors.Retryable(fmt.Errorf("%s: %w", action, err), 0)
}

func (s *source) markResponse(c *call, action string, response minio.ErrorResponse) error {
	say := func(format string, args ...any) error {
		return fmt.Errorf(action+": "+format, args...)
	}
	switch response.Code {
	case minio.NoSuchKey:
		return say("%w", connectors.ErrNotFound)
	case minio.NoSuchBucket:
		return connectors.Fatal(say("there is no such bucket; correct config.bucket, or config.endpoint if it is kept elsewhere"))
	case minio.PreconditionFailed:
		return connectors.Retryable(say("%w", errChanged), 0)
	case "InvalidObjectState":
		return say("it is archived; restore it at the source to have it indexed")
	case "InvalidAccessKeyId", "XAdminUserNotFound": // the second is of Versity
		return connectors.NeedsAuth(say("the service does not know the access key; correct credentials.%s", credentialID))
	case "SignatureDoesNotMatch":
		return connectors.NeedsAuth(say("the secret does not belong to the access key; correct credentials.%s", credentialSecret))
	case "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
		return connectors.NeedsAuth(say("the credentials have expired; enter new ones"))
	case "RequestTimeTooSkewed":
		return connectors.Fatal(say("the clock of this server is more than 15 minutes off; set it right"))
	case minio.InvalidRegion, minio.AuthorizationHeaderMalformed, "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraintException":
		return connectors.Fatal(say("the bucket is in another region%s; correct config.%s", regionHint(response.Region), optionRegion))
	}
	status := response.StatusCode
	switch {
	case response.Code == minio.AccessDenied:
		return connectors.NeedsAuth(say("%w", &deniedError{advice: s.accessAdvice()}))
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return connectors.NeedsAuth(say("%s", s.accessAdvice()))
	case status >= 300 && status < 400:
		// The service uses one of the codes above. This may be the login of a proxy.
		return connectors.Retryable(say("the service sends elsewhere (status %d)%s; check config.%s and config.%s, and whether a proxy or a login stands between",
			status, regionHint(response.Region), optionEndpoint, optionRegion), 0)
	case isThrottled(response):
		return connectors.Retryable(say("the service is busy or broken for now (%s)", errorCode(response)), c.delay())
	default:
		return say("the service answered %s: %s", errorCode(response), printable(response.Message))
	}
}

// A deniedError says that one request was not allowed, with valid credentials.
type deniedError struct{ advice string }

func (e *deniedError) Error() string { return e.advice }

func (s *source) accessAdvice() string {
	if s.anonymous {
		return "the bucket is not public; enter credentials." + credentialID + " and credentials." + credentialSecret
	}
	return "the access key is not allowed to; grant it s3:ListBucket on the bucket and s3:GetObject on its objects"
}

func isThrottled(response minio.ErrorResponse) bool {
	switch response.Code {
	case "SlowDown", "SlowDownRead", "Throttling", "ThrottlingException", "RequestLimitExceeded", "RequestThrottled",
		"RequestTimeout", "InternalError", "ServiceUnavailable", "OperationAborted":
		return true
	}
	status := response.StatusCode
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError &&
		status != http.StatusNotImplemented
}

// tlsReason says why there is no encrypted connection, or "".
func tlsReason(err error) string {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return "the endpoint does not speak https; write config." + optionEndpoint + " with http:// in front"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the endpoint's certificate is not trusted: " + printable(err.Error())
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the endpoint's certificate is not trusted: " + printable(err.Error())
	}
	return ""
}

func regionHint(region string) string {
	if region == "" {
		return ""
	}
	return " (" + printable(region) + ")"
}

func errorCode(response minio.ErrorResponse) string {
	if response.StatusCode == 0 {
		return printable(response.Code)
	}
	return fmt.Sprintf("%d %s", response.StatusCode, printable(response.Code))
}

// printable returns a text of a server in a form that is safe in a message.
func printable(text string) string {
	const maxRunes = 200
	return safetext.Truncate(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text), maxRunes)
}
