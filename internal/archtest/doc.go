// Package archtest tests the structure of the code base: which package may
// import which, how long a file may be, whether every package has a comment. It
// parses the source files of the module and imports none of its packages.
package archtest
