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
)

// explain turns an error of a request into one that says what to do and how
// the caller has to act. doing is what was tried: `list the bucket "docs"`.
func (s *source) explain(ctx context.Context, e *exchange, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	if response, ok := errors.AsType[minio.ErrorResponse](err); ok {
		return s.explainResponse(e, doing, response)
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // the outer text repeats the whole address
	}
	if httpx.IsHidden(err) {
		return connectors.Fatal(fmt.Errorf("%s: config.endpoint: %w", doing, err))
	}
	if errors.Is(err, errEndlessListing) {
		return connectors.Fatal(fmt.Errorf("%s: %w; is config.endpoint an S3 service?", doing, err))
	}
	if reason := tlsReason(err); reason != "" {
		return connectors.Fatal(fmt.Errorf("%s: %s", doing, reason))
	}
	if mismatch, ok := errors.AsType[*mismatchError](err); ok {
		return connectors.Retryable(fmt.Errorf("%s: %w", doing, mismatch), 0)
	}
	if _, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return connectors.Retryable(fmt.Errorf("%s: the answer was cut off or is no S3 answer; is config.endpoint an S3 service?", doing), 0)
	}
	return connectors.Retryable(fmt.Errorf("%s: %w", doing, err), 0)
}

func (s *source) explainResponse(e *exchange, doing string, response minio.ErrorResponse) error {
	say := func(format string, arguments ...any) error {
		return fmt.Errorf(doing+": "+format, arguments...)
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
	case "InvalidAccessKeyId", "XAdminUserNotFound": // the second is Versity's
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
		return connectors.NeedsAuth(say("%w", &deniedError{advice: s.advice()}))
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return connectors.NeedsAuth(say("%s", s.advice()))
	case status >= 300 && status < 400:
		// The service itself says so with one of the codes above: this may be a login that stands between.
		return connectors.Retryable(say("the service sends elsewhere (status %d)%s; check config.%s and config.%s, and whether a proxy or a login stands between",
			status, regionHint(response.Region), optionEndpoint, optionRegion), 0)
	case throttled(response):
		return connectors.Retryable(say("the service is busy or broken for now (%s)", codeOf(response)), e.waitFor())
	default:
		return say("the service answered %s: %s", codeOf(response), clean(response.Message))
	}
}

// deniedError says that one request was not allowed, with credentials that are
// right.
type deniedError struct{ advice string }

func (e *deniedError) Error() string { return e.advice }

func (s *source) advice() string {
	if s.anonymous {
		return "the bucket is not public; enter credentials." + credentialID + " and credentials." + credentialSecret
	}
	return "the access key is not allowed to; grant it s3:ListBucket on the bucket and s3:GetObject on its objects"
}

func throttled(response minio.ErrorResponse) bool {
	switch response.Code {
	case "SlowDown", "SlowDownRead", "Throttling", "ThrottlingException", "RequestLimitExceeded", "RequestThrottled",
		"RequestTimeout", "InternalError", "ServiceUnavailable", "OperationAborted":
		return true
	}
	status := response.StatusCode
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError &&
		status != http.StatusNotImplemented
}

// tlsReason says what is wrong when no encrypted connection came about.
func tlsReason(err error) string {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return "the endpoint does not speak https; write config." + optionEndpoint + " with http:// in front"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the endpoint's certificate is not trusted: " + clean(err.Error())
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the endpoint's certificate is not trusted: " + clean(err.Error())
	}
	return ""
}

func regionHint(region string) string {
	if region == "" {
		return ""
	}
	return " (" + clean(region) + ")"
}

func codeOf(response minio.ErrorResponse) string {
	if response.StatusCode == 0 {
		return clean(response.Code)
	}
	return fmt.Sprintf("%d %s", response.StatusCode, clean(response.Code))
}

// clean makes text of a server fit for a message.
func clean(text string) string {
	const longest = 200
	runes := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text))
	if len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return string(runes)
}
