// Package gitserver serves the newest commit of a repository by git's smart HTTP
// protocol, for the stand-ins of platforms. A repository is a map of files.
package gitserver
