// Package archtest checks the shape of the code base itself: which package may
// import which, how long a file may be, that every package says what it is for.
// It has tests only and reads source files, nothing of the program.
package archtest
