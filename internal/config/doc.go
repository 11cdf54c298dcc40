// Package config reads the settings of a process into one struct, from flags, the
// environment and an optional file, in this order of precedence. No other package
// reads the environment.
//
// Allowed imports: caarlos0/env and internal/config/namedfile.
package config
