// Package resident keeps collections' search indexes in memory.
package resident
