// Package command is Magpie's command line: what each command takes, does and
// prints. Commands that operate Magpie run GraphQL operations inside their own
// process, on the schema that serves everybody else.
//
// Allowed imports: kong and every package of Magpie.
package command
