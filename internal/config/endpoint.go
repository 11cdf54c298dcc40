package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The providers of models.
const (
	ProviderOpenAI    = "openai"
	ProviderAnthropic = "anthropic"
	ProviderAzure     = "azure"
	ProviderOllama    = "ollama"
	ProviderVoyage    = "voyage"
	ProviderCohere    = "cohere"
	ProviderTEI       = "tei"
	ProviderBedrock   = "bedrock"
	ProviderVertex    = "vertex"
)

// azureVersion is the default version of Azure OpenAI's interface.
const azureVersion = "2024-10-21"

// An Endpoint is a model at a provider.
type Endpoint struct {
	// Provider is one of the constants.
	Provider string
	// BaseURL is empty for the address of the provider.
	BaseURL string
	Key     Secret
	// Model is the name of the model at the provider.
	Model string
	// Deployment and APIVersion are those of Azure; the deployment is that of the model's name when empty.
	Deployment, APIVersion string
	// Region is that of Bedrock.
	Region string
	// Project and Location are those of Vertex AI.
	Project, Location string
}

// A providerFields lists the fields that describe an endpoint of a provider, besides provider and model.
type providerFields struct {
	required, optional []string
}

// embeddingProviders and chatProviders return the providers of models. A base URL that is not required has a default.
func embeddingProviders() map[string]providerFields {
	return map[string]providerFields{
		ProviderOpenAI: {required: []string{"base_url"}, optional: []string{"api_key"}},
		ProviderAzure:  {required: []string{"base_url", "api_key"}, optional: []string{"deployment", "api_version"}},
		ProviderOllama: {optional: []string{"base_url", "api_key"}},
		ProviderVoyage: {required: []string{"api_key"}, optional: []string{"base_url"}},
		ProviderCohere: {required: []string{"api_key"}, optional: []string{"base_url"}},
		ProviderTEI:    {required: []string{"base_url"}, optional: []string{"api_key"}},
		// Keys of clouds are theirs to find.
		ProviderBedrock: {required: []string{"region"}, optional: []string{"base_url"}},
		ProviderVertex:  {required: []string{"project", "location"}, optional: []string{"base_url"}},
	}
}

func chatProviders() map[string]providerFields {
	return map[string]providerFields{
		ProviderOpenAI:    {required: []string{"base_url"}, optional: []string{"api_key"}},
		ProviderAnthropic: {required: []string{"api_key"}, optional: []string{"base_url"}},
		ProviderAzure:     {required: []string{"base_url", "api_key"}, optional: []string{"deployment", "api_version"}},
		ProviderOllama:    {optional: []string{"base_url", "api_key"}},
		ProviderCohere:    {required: []string{"api_key"}, optional: []string{"base_url"}},
		ProviderBedrock:   {required: []string{"region"}, optional: []string{"base_url"}},
		ProviderVertex:    {required: []string{"project", "location"}, optional: []string{"base_url"}},
	}
}

// decode decodes the fields of an entry of a file: those of the endpoint, and further ones.
func (e *Endpoint) decode(further map[string]any, fields map[string]json.RawMessage, providers func() map[string]providerFields, environment map[string]string) error {
	var key, keyVariable string
	known := map[string]any{"provider": &e.Provider, "model": &e.Model, "api_key": &key, "api_key_env": &keyVariable}
	own := e.fields()
	for _, p := range providers() {
		for _, name := range slices.Concat(p.required, p.optional) {
			if target, ok := own[name]; ok {
				known[name] = target
			}
		}
	}
	maps.Copy(known, further)
	if err := decodeFields(known, fields); err != nil {
		return err
	}
	var err error
	e.Key, err = keyOf(key, keyVariable, environment)
	return err
}

// fields returns the texts that describe an endpoint, without its key.
func (e *Endpoint) fields() map[string]*string {
	return map[string]*string{
		"base_url": &e.BaseURL, "deployment": &e.Deployment, "api_version": &e.APIVersion, "region": &e.Region, "project": &e.Project, "location": &e.Location,
	}
}

// check checks that the endpoint has the fields of its provider, and no others, and sets defaults.
func (e *Endpoint) check(all func() map[string]providerFields) error {
	providers := all()
	if err := firstOf([]fieldError{
		{"provider", checkSet(e.Provider)},
		{"provider", checkOneOf(e.Provider, slices.Sorted(maps.Keys(providers))...)},
	}); err != nil {
		return err
	}
	p, own := providers[e.Provider], e.fields()
	values := map[string]string{"api_key": e.Key.Reveal()}
	for name, value := range own {
		values[name] = *value
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch value := strings.TrimSpace(values[name]); {
		case slices.Contains(p.required, name) && value == "" && name == "api_key":
			return fmt.Errorf("api_key: or api_key_env must be set for %s", e.Provider)
		case slices.Contains(p.required, name) && value == "":
			return fmt.Errorf("%s: is not set", name)
		case value != "" && !slices.Contains(p.required, name) && !slices.Contains(p.optional, name):
			return fmt.Errorf("%s: %s has no such field", name, e.Provider)
		}
	}
	if err := checkWebURL(e.BaseURL); err != nil {
		return fmt.Errorf("base_url: %w", err)
	}
	if err := firstOf([]fieldError{{"region", checkRegion(e.Region)}, {"location", checkRegion(e.Location)}}); err != nil {
		return err
	}
	e.setDefaults()
	return nil
}

// checkRegion checks the name of a region or location, which becomes part of an address.
func checkRegion(name string) error {
	if name != "" && !regionForm.MatchString(name) {
		return errors.New("must be a name such as eu-central-1")
	}
	return nil
}

// The providers of rerankers alone.
const (
	ProviderJina = "jina"
	ProviderVLLM = "vllm"
)

// checkReranker checks that RERANK_PROVIDER has the settings that it needs.
func (c *Config) checkReranker() error {
	if c.RerankProvider == "" {
		return nil
	}
	if err := checkOneOf(c.RerankProvider, ProviderBedrock, ProviderCohere, ProviderJina, ProviderTEI, ProviderVertex, ProviderVLLM, ProviderVoyage); err != nil {
		return err
	}
	needs := map[string]string{"RERANK_MODEL": c.RerankModel}
	switch c.RerankProvider {
	case ProviderTEI:
		needs = map[string]string{"RERANK_BASE_URL": c.RerankBaseURL}
	case ProviderVLLM:
		needs["RERANK_BASE_URL"] = c.RerankBaseURL
	case ProviderBedrock:
		needs["RERANK_REGION"] = c.RerankRegion
	case ProviderVertex:
		needs["RERANK_PROJECT"] = c.RerankProject
	default:
		needs["RERANK_API_KEY"] = c.RerankAPIKey.Reveal()
	}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		if needs[name] == "" {
			return fmt.Errorf("%s needs %s", c.RerankProvider, name)
		}
	}
	return nil
}

// regionForm is the form of the names of regions and locations.
var regionForm = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

func (e *Endpoint) setDefaults() {
	switch e.Provider {
	case ProviderAnthropic:
		e.BaseURL = orDefault(e.BaseURL, "https://api.anthropic.com")
	case ProviderAzure:
		e.APIVersion, e.Deployment = orDefault(e.APIVersion, azureVersion), orDefault(e.Deployment, e.Model)
	}
}

func orDefault(value, standard string) string {
	if value == "" {
		return standard
	}
	return value
}

// A fieldError is the error of a field; its name is empty if the error has it.
type fieldError struct {
	name string
	err  error
}

// firstOf returns the first error, with the name of its field.
func firstOf(all []fieldError) error {
	for _, field := range all {
		switch {
		case field.err == nil:
		case field.name == "":
			return field.err
		default:
			return fmt.Errorf("%s: %w", field.name, field.err)
		}
	}
	return nil
}

// errTwice is the error of a name that two models have.
var errTwice = errors.New("there are two models of this name")
