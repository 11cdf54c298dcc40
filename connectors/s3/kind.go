package s3

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	optionBucket   = "bucket"
	optionRegion   = "region"
	optionPrefix   = "prefix"
	optionEndpoint = "endpoint"

	credentialID     = "accessKeyId"
	credentialSecret = "secretAccessKey"
)

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	return connectors.Kind{
		Name:          "s3",
		Title:         "S3 bucket",
		Description:   "Objects in a bucket of Amazon S3 or of a compatible service.",
		Category:      connectors.CategoryStorage,
		Documentation: "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html",
		Enumerates:    true,
		Options: []connectors.Option{
			{
				Name: optionBucket, Title: "Bucket", Type: connectors.TypeString, Required: true, Example: "company-docs",
				Help: "The bucket's name alone.", Check: connectors.CheckString(checkBucket),
			},
			{
				Name: optionRegion, Title: "Region", Type: connectors.TypeString, Example: "eu-west-1",
				Help: "Without it, the service is asked.", Check: connectors.CheckString(checkRegion),
			},
			{
				Name: optionPrefix, Title: "Prefix", Type: connectors.TypeString, Example: "handbook/",
				Help: "Only keys that begin with it are synced. A leading slash is ignored.", Check: connectors.CheckString(checkPrefix),
			},
			{
				Name: optionEndpoint, Title: "Endpoint", Type: connectors.TypeString, Example: "https://minio.example.com:9000",
				Format: connectors.FormatURL, Advanced: true, Destination: true,
				Help: "Address of another service than Amazon's. Without http:// it is https.", Check: connectors.CheckString(checkEndpoint),
			},
		},
		Credentials: []connectors.Option{
			{
				Name: credentialID, Title: "Access key id", Type: connectors.TypeString, Example: "magpie-reader",
				Help: "Leave both out for a public bucket.",
			},
			{
				Name: credentialSecret, Title: "Secret access key", Type: connectors.TypeString, Sensitive: true,
				Help: "The key needs s3:ListBucket on the bucket and s3:GetObject on its objects.",
			},
		},
		CheckSettings: checkSettings,
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			return newSource(s, dial)
		},
	}
}

func checkSettings(s connectors.Settings) error {
	id, secret := s.Credentials[credentialID], s.Credentials[credentialSecret]
	switch {
	case id != "" && secret == "":
		return &connectors.OptionError{Field: "credentials." + credentialSecret, Message: "required with " + credentialID}
	case id == "" && secret != "":
		return &connectors.OptionError{Field: "credentials." + credentialID, Message: "required with " + credentialSecret}
	default:
		return nil
	}
}

func checkBucket(name string) error {
	switch {
	case strings.ContainsAny(name, "/:"):
		return errors.New("write the bucket's name alone, without s3:// and without a path; the path goes to config.prefix")
	case !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$`).MatchString(name) || strings.Contains(name, ".."):
		return errors.New("is no bucket name: 3 to 63 letters, digits, dots and hyphens")
	default:
		return nil
	}
}

func checkRegion(name string) error {
	if !regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`).MatchString(name) {
		return errors.New("is no region name; write it as eu-west-1")
	}
	return nil
}

func checkPrefix(prefix string) error {
	if len(prefix) > connectors.MaxIDBytes {
		return fmt.Errorf("is longer than a key can be, %d bytes", connectors.MaxIDBytes)
	}
	return nil
}

func checkEndpoint(text string) error {
	_, err := parseEndpoint(text)
	return err
}

// parseEndpoint parses an endpoint. Without http:// or https://, it is https.
func parseEndpoint(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	endpoint, err := restapi.ParseBaseURL(text, "https://host:port")
	if err != nil {
		return nil, err
	}
	if strings.Trim(endpoint.Path, "/") != "" {
		return nil, errors.New("must be a host and port alone; the bucket goes to config.bucket, a path in it to config.prefix")
	}
	return &url.URL{Scheme: endpoint.Scheme, Host: endpoint.Host}, nil
}
