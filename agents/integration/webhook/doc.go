// Package webhook makes tools of HTTP endpoints that people describe: one by one, or as the
// operations of an OpenAPI 3 document. A tool has a fixed host; arguments of a call become
// parts of the path, parameters of the query and fields of a JSON body, always escaped.
//
// A request is signed: X-Magpie-Signature is "v1=" and the hex HMAC-SHA256 of the
// X-Magpie-Timestamp, a dot and the body. It carries the key of the call as
// Idempotency-Key. Redirects to other hosts are not followed.
//
// Allowed imports: agents/integration, agents/arguments, agents/loop, agents/policy,
// connectors, internal/apierr, internal/safetext and kin-openapi.
package webhook
