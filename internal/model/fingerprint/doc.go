// Package fingerprint notices when a service gives other vectors under a model's name than it did before. Eight fixed
// sentences are embedded when the installation first uses a model, and their vectors are kept in PostgreSQL. At the start of
// a server, and once a day, they are compared with new ones. A model that gives others is reported, and used on.
//
// Allowed imports: pgx, internal/model/embed, internal/model/llm/provider.
package fingerprint
