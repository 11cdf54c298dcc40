package code

// grammar is as much of the syntax of a language as it takes to find its declarations: comments, strings, brackets, and
// the words that begin a declaration.
type grammar struct {
	name string
	// lineComments begin a comment up to the end of the line. blockComments stand around a comment, which may contain
	// others if nestsComments is set. markers begin and end a comment of whole lines.
	lineComments  []string
	blockComments [][2]string
	nestsComments bool
	markers       [2]string
	// quotes delimit strings, longQuotes those of several lines.
	quotes     string
	longQuotes []string
	// hasEscapes is set if backslashes escape in longQuotes of one character, isMultiline if all strings may have
	// several lines, doublesQuotes if a doubled quote escapes instead of a backslash, hasCharacters if single quotes
	// enclose one character, hasRawStrings if strings may begin with r#", R"x( or @".
	hasEscapes, isMultiline, doublesQuotes, hasCharacters, hasRawStrings bool
	// hasHeredocs is set for <<MARK, hasDollarQuotes for $mark$, hasRegexps for /…/. With hasHashAttributes, #[ begins
	// no comment. With needsBlankBeforeHash, # begins a comment only after a blank.
	hasHeredocs, hasDollarQuotes, hasRegexps, hasHashAttributes, needsBlankBeforeHash bool
	// hasPreprocessor is set if lines that begin with # are directives.
	hasPreprocessor bool
	// brackets lists the brackets that nest.
	brackets string
	// isIndented is set if indentation shows the declarations, hasStatements if they end with a semicolon or a brace.
	isIndented, hasStatements bool
	// keywords lists the words that begin a declaration, each with the kind of declaration. modifiers may stand before
	// them.
	keywords, modifiers string
	// decorators begin lines that belong to the declaration below.
	decorators []string
	// continuations lists the words that begin a line which belongs to the lines above: else, end.
	continuations string
	// isLastName is set if the last of several words after a keyword is the name.
	isLastName bool
}

// Kinds of declarations.
const (
	// A typeKind has members that are declarations, such as a class. A namespaceKind has them too, but is only a frame.
	typeKind      = ":type"
	namespaceKind = ":space"
	// A plainKind is not cut. An unnamedKind has no name, such as an import.
	plainKind   = ":plain"
	unnamedKind = ":before"
)

// grammarOf returns the grammar of a language, or nil.
func grammarOf(language string) *grammar {
	slashes := []string{"//"}
	stars := [][2]string{{"/*", "*/"}}
	const all = "()[]{}"
	const access = " public private protected internal static final abstract virtual override sealed async unsafe extern const readonly partial new " +
		"default synchronized native transient volatile strictfp open data inline suspend lateinit tailrec operator infix external expect actual value inner " +
		"annotation companion crossinline noinline reified vararg export declare global pub crate mut fileprivate convenience required optional mutating " +
		"nonmutating dynamic lazy weak unowned indirect case implicit nonsealed non-sealed file ref "
	switch language {
	case "go":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, quotes: `"'`, longQuotes: []string{"`"}, brackets: all,
			keywords: " package:before import:before func:plain type:plain var:plain const:plain "}
	case "javascript", "typescript":
		return &grammar{name: "javascript", lineComments: slashes, blockComments: stars, quotes: `"'`, longQuotes: []string{"`"}, hasEscapes: true, hasRegexps: true,
			brackets: all, decorators: []string{"@"}, modifiers: access + " get set ",
			keywords: " import:before class:type interface:plain type:plain enum:plain namespace:space module:space function:plain function*:plain const:plain let:plain var:plain "}
	case "java":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, quotes: `"'`, longQuotes: []string{`"""`}, brackets: all, hasStatements: true,
			decorators: []string{"@"}, modifiers: access, keywords: " package:before import:before class:type interface:type enum:type record:type @interface:type "}
	case "kotlin":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, nestsComments: true, quotes: `"'`, longQuotes: []string{`"""`}, brackets: all,
			decorators: []string{"@"}, modifiers: access,
			keywords: " package:before import:before class:type interface:type object:type fun:plain val:plain var:plain typealias:plain enum:type constructor:plain init:plain "}
	case "csharp":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, quotes: `"'`, longQuotes: []string{`"""`}, hasRawStrings: true, brackets: all,
			hasStatements: true, hasPreprocessor: true, decorators: []string{"["}, modifiers: access,
			keywords: " using:before namespace:space class:type interface:type struct:type enum:plain record:type delegate:plain event:plain "}
	case "c", "cpp", "objective-c":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, quotes: `"'`, hasCharacters: true, hasRawStrings: true, brackets: all, hasStatements: true,
			hasPreprocessor: true, isLastName: true, decorators: []string{"[["}, modifiers: access + " explicit friend constexpr consteval typename ",
			keywords: " using:plain namespace:space class:type struct:type union:type enum:plain typedef:plain concept:plain @interface:plain @implementation:plain @protocol:plain "}
	case "rust":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, nestsComments: true, quotes: `"'`, hasCharacters: true, hasRawStrings: true, isMultiline: true,
			brackets: all, hasStatements: true, decorators: []string{"#["}, modifiers: access,
			keywords: " use:before extern:before mod:space fn:plain struct:plain enum:plain union:plain trait:type impl:type type:plain const:plain static:plain macro_rules!:plain "}
	case "swift":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, nestsComments: true, quotes: `"`, longQuotes: []string{`"""`}, hasRawStrings: true, brackets: all,
			decorators: []string{"@"}, modifiers: access,
			keywords: " import:before class:type struct:type enum:type protocol:type extension:type actor:type func:plain var:plain let:plain typealias:plain init:plain deinit:plain subscript:plain "}
	case "scala":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, nestsComments: true, quotes: `"'`, hasCharacters: true, longQuotes: []string{`"""`}, brackets: all,
			decorators: []string{"@"}, modifiers: access,
			keywords: " package:before import:before class:type object:type trait:type enum:type def:plain val:plain var:plain type:plain given:plain extension:plain "}
	case "dart", "groovy", "gradle", "sol", "thrift", "zig":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, quotes: `"'`, longQuotes: []string{`"""`, `'''`}, brackets: all,
			hasStatements: language == "dart" || language == "sol", decorators: []string{"@"}, modifiers: access,
			keywords: " package:before import:before pragma:before include:before library:before part:before class:type interface:type mixin:type extension:type enum:type " +
				"contract:type library:type struct:plain union:plain service:type trait:type def:plain function:plain fn:plain const:plain var:plain final:plain typedef:plain exception:plain event:plain modifier:plain "}
	case "php":
		return &grammar{name: language, lineComments: []string{"//", "#"}, blockComments: stars, quotes: `"'`, isMultiline: true, hasHeredocs: true, hasHashAttributes: true,
			brackets: all, hasStatements: true, decorators: []string{"#["}, modifiers: access,
			keywords: " <?php:before namespace:before use:before require:before require_once:before include:before class:type interface:type trait:type enum:type function:plain const:plain "}
	case "r":
		return &grammar{name: language, lineComments: []string{"#"}, quotes: `"'`, isMultiline: true, brackets: all, keywords: " library:before require:before source:before "}
	case "proto":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, quotes: `"'`, brackets: all, hasStatements: true,
			keywords: " syntax:before edition:before package:before import:before option:before message:type service:type enum:plain rpc:plain extend:plain oneof:plain "}
	case "graphql":
		return &grammar{name: language, lineComments: []string{"#"}, quotes: `"`, longQuotes: []string{`"""`}, brackets: all, decorators: []string{`"`}, modifiers: " extend ",
			keywords: " type:plain interface:plain input:plain enum:plain union:plain scalar:plain directive:plain schema:plain query:plain mutation:plain subscription:plain fragment:plain "}
	case "hcl", "tf":
		return &grammar{name: "hcl", lineComments: []string{"#", "//"}, blockComments: stars, quotes: `"`, hasHeredocs: true, brackets: all}
	case "jsonc", "json5":
		return &grammar{name: "json", lineComments: slashes, blockComments: stars, quotes: `"'`, brackets: all}
	}
	return indentedGrammar(language)
}

// indentedGrammar returns the grammar of a language whose indentation shows its declarations, or nil.
func indentedGrammar(language string) *grammar {
	switch language {
	case "python", "bzl":
		return &grammar{name: "python", isIndented: true, lineComments: []string{"#"}, quotes: `"'`, longQuotes: []string{`"""`, `'''`}, brackets: "()[]{}",
			decorators: []string{"@"}, modifiers: " async ", continuations: " else elif except finally ",
			keywords: " import:before from:before class:type def:plain "}
	case "ruby", "rakefile", "gemfile", "vagrantfile":
		return &grammar{name: "ruby", isIndented: true, lineComments: []string{"#"}, markers: [2]string{"=begin", "=end"}, quotes: `"'`, hasHeredocs: true, needsBlankBeforeHash: true,
			hasRegexps: true, brackets: "()[]{}", continuations: " end else elsif rescue ensure when in then ",
			keywords: " require:before require_relative:before include:before extend:before class:type module:space def:plain attr_accessor:plain attr_reader:plain "}
	case "shell":
		return &grammar{name: language, isIndented: true, lineComments: []string{"#"}, quotes: `"'`, isMultiline: true, hasHeredocs: true, needsBlankBeforeHash: true,
			continuations: " fi done esac then else elif do end ;; ", keywords: " function:plain export:plain local:plain readonly:plain declare:plain alias:plain source:before "}
	case "lua":
		return &grammar{name: language, isIndented: true, lineComments: []string{"--"}, blockComments: [][2]string{{"--[[", "]]"}, {"--[==[", "]==]"}, {"--[=[", "]=]"}},
			quotes: `"'`, brackets: "()[]{}", modifiers: " local ", continuations: " end else elseif until ", keywords: " function:plain "}
	case "perl":
		return &grammar{name: language, isIndented: true, lineComments: []string{"#"}, markers: [2]string{"=", "=cut"}, hasHeredocs: true, needsBlankBeforeHash: true,
			continuations: " else elsif continue ", keywords: " use:before require:before package:plain sub:plain "}
	case "elixir":
		return &grammar{name: language, isIndented: true, lineComments: []string{"#"}, quotes: `"`, longQuotes: []string{`"""`, `'''`}, brackets: "()[]{}",
			decorators: []string{"@"}, continuations: " end else rescue catch after ",
			keywords: " defmodule:type defprotocol:type defimpl:type def:plain defp:plain defmacro:plain defmacrop:plain defstruct:plain defdelegate:plain alias:before import:before require:before use:before describe:type test:plain "}
	case "haskell":
		return &grammar{name: language, isIndented: true, lineComments: []string{"--"}, blockComments: [][2]string{{"{-", "-}"}}, nestsComments: true, quotes: `"'`, hasCharacters: true,
			continuations: " where ", keywords: " module:before import:before data:plain newtype:plain class:type instance:type type:plain infixl:plain infixr:plain "}
	case "powershell":
		return &grammar{name: language, isIndented: true, lineComments: []string{"#"}, blockComments: [][2]string{{"<#", "#>"}}, quotes: `"'`, doublesQuotes: true, isMultiline: true,
			continuations: " else elseif catch finally ", keywords: " function:plain filter:plain class:type enum:plain using:before Import-Module:before "}
	case "julia", "jl":
		return &grammar{name: language, isIndented: true, lineComments: []string{"#"}, blockComments: [][2]string{{"#=", "=#"}}, nestsComments: true, quotes: `"`, longQuotes: []string{`"""`},
			brackets: "()[]{}", modifiers: " mutable abstract ", continuations: " end else elseif catch finally ",
			keywords: " using:before import:before module:space function:plain macro:plain struct:plain type:plain const:plain "}
	case "sql":
		return &grammar{name: language, lineComments: []string{"--"}, blockComments: [][2]string{{"/*", "*/"}}, quotes: "'\"`", doublesQuotes: true, isMultiline: true, hasDollarQuotes: true,
			brackets: "()[]", hasStatements: true}
	case "dockerfile", "containerfile":
		return &grammar{name: "dockerfile", isIndented: true, lineComments: []string{"#"}, hasHeredocs: true, needsBlankBeforeHash: true}
	case "makefile", "mk":
		return &grammar{name: "makefile", isIndented: true, lineComments: []string{"#"}, continuations: " endif else endef "}
	case "yaml":
		return &grammar{name: language, isIndented: true, lineComments: []string{"#"}, needsBlankBeforeHash: true}
	case "toml", "ini", "properties", "editorconfig":
		return &grammar{name: "ini", isIndented: true, lineComments: []string{"#", ";"}, needsBlankBeforeHash: true}
	}
	return nil
}
