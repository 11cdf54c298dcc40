// Package config reads the settings of a Magpie process: one struct, filled
// once from flags, the environment and an optional file, in this order of
// precedence. It is the only package that looks at the environment.
//
// Allowed imports: the standard library, caarlos0/env and internal/config/namedfile.
package config
