// Package support collects what helps to find out why an installation does not work, so
// that it can be shown to others: versions, settings, sizes, states and errors, without
// secrets, mail addresses, documents and questions.
//
// What a bundle has is chosen, not what it lacks: columns, fields, settings and labels by
// their names, and of texts that people or other systems may have a part in only phrases
// that are known.
//
// Allowed imports: ent/migrate/migrations, internal/config, internal/system/doctor.
package support
