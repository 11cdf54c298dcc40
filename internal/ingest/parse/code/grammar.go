package code

// grammar is what of a language must be known to find its declarations: how comments and strings look, what nests, and the
// words that declarations begin with.
type grammar struct {
	name string
	// Comments to the end of the line, and between marks; nested ones may hold others. Markers begin and end a comment of
	// whole lines.
	lineComments  []string
	blockComments [][2]string
	nested        bool
	markers       [2]string
	// quotes are the characters that strings stand between; longQuotes stand around strings of several lines.
	quotes     string
	longQuotes []string
	// escapes: a backslash counts in longQuotes of one character too. multiline: every string may have several lines.
	// doubled: a quote in a string is doubled, and a backslash is nothing. characters: single quotes stand around one
	// character only. raw: some strings begin with r#", R"x( or @".
	escapes, multiline, doubled, characters, raw bool
	// heredocs: <<MARK, dollars: $mark$, regexps: /…/ are strings. attributes: #[ begins no comment. hashAfterBlank: # does
	// after a blank only.
	heredocs, dollars, regexps, attributes, hashAfterBlank bool
	// preprocessor: lines that begin with # are for it.
	preprocessor bool
	// brackets are those that nest.
	brackets string
	// layout: declarations are found by indentation. statements: they end with a semicolon or a brace.
	layout, statements bool
	// keywords are the words that declarations begin with, each with what it declares; modifiers stand before them.
	keywords, modifiers string
	// decorators begin lines that belong to the declaration below.
	decorators []string
	// goesOn are the words that lines begin with which belong to what stands above: else, end.
	goesOn string
	// lastName: of several words after a keyword the last is the name.
	lastName bool
}

// What keywords declare.
const (
	// typed is a declaration whose members are declarations: a class. Spaces have them too, but are only a frame around them.
	typed = ":type"
	space = ":space"
	// plain is a declaration that is not cut, before one without a name: an import.
	plainKind = ":plain"
	before    = ":before"
)

// grammarOf returns the grammar of a language, nil when there is none.
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
		return &grammar{name: "javascript", lineComments: slashes, blockComments: stars, quotes: `"'`, longQuotes: []string{"`"}, escapes: true, regexps: true,
			brackets: all, decorators: []string{"@"}, modifiers: access + " get set ",
			keywords: " import:before class:type interface:plain type:plain enum:plain namespace:space module:space function:plain function*:plain const:plain let:plain var:plain "}
	case "java":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, quotes: `"'`, longQuotes: []string{`"""`}, brackets: all, statements: true,
			decorators: []string{"@"}, modifiers: access, keywords: " package:before import:before class:type interface:type enum:type record:type @interface:type "}
	case "kotlin":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, nested: true, quotes: `"'`, longQuotes: []string{`"""`}, brackets: all,
			decorators: []string{"@"}, modifiers: access,
			keywords: " package:before import:before class:type interface:type object:type fun:plain val:plain var:plain typealias:plain enum:type constructor:plain init:plain "}
	case "csharp":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, quotes: `"'`, longQuotes: []string{`"""`}, raw: true, brackets: all,
			statements: true, preprocessor: true, decorators: []string{"["}, modifiers: access,
			keywords: " using:before namespace:space class:type interface:type struct:type enum:plain record:type delegate:plain event:plain "}
	case "c", "cpp", "objective-c":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, quotes: `"'`, characters: true, raw: true, brackets: all, statements: true,
			preprocessor: true, lastName: true, decorators: []string{"[["}, modifiers: access + " explicit friend constexpr consteval typename ",
			keywords: " using:plain namespace:space class:type struct:type union:type enum:plain typedef:plain concept:plain @interface:plain @implementation:plain @protocol:plain "}
	case "rust":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, nested: true, quotes: `"'`, characters: true, raw: true, multiline: true,
			brackets: all, statements: true, decorators: []string{"#["}, modifiers: access,
			keywords: " use:before extern:before mod:space fn:plain struct:plain enum:plain union:plain trait:type impl:type type:plain const:plain static:plain macro_rules!:plain "}
	case "swift":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, nested: true, quotes: `"`, longQuotes: []string{`"""`}, raw: true, brackets: all,
			decorators: []string{"@"}, modifiers: access,
			keywords: " import:before class:type struct:type enum:type protocol:type extension:type actor:type func:plain var:plain let:plain typealias:plain init:plain deinit:plain subscript:plain "}
	case "scala":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, nested: true, quotes: `"'`, characters: true, longQuotes: []string{`"""`}, brackets: all,
			decorators: []string{"@"}, modifiers: access,
			keywords: " package:before import:before class:type object:type trait:type enum:type def:plain val:plain var:plain type:plain given:plain extension:plain "}
	case "dart", "groovy", "gradle", "sol", "thrift", "zig":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, quotes: `"'`, longQuotes: []string{`"""`, `'''`}, brackets: all,
			statements: language == "dart" || language == "sol", decorators: []string{"@"}, modifiers: access,
			keywords: " package:before import:before pragma:before include:before library:before part:before class:type interface:type mixin:type extension:type enum:type " +
				"contract:type library:type struct:plain union:plain service:type trait:type def:plain function:plain fn:plain const:plain var:plain final:plain typedef:plain exception:plain event:plain modifier:plain "}
	case "php":
		return &grammar{name: language, lineComments: []string{"//", "#"}, blockComments: stars, quotes: `"'`, multiline: true, heredocs: true, attributes: true,
			brackets: all, statements: true, decorators: []string{"#["}, modifiers: access,
			keywords: " <?php:before namespace:before use:before require:before require_once:before include:before class:type interface:type trait:type enum:type function:plain const:plain "}
	case "r":
		return &grammar{name: language, lineComments: []string{"#"}, quotes: `"'`, multiline: true, brackets: all, keywords: " library:before require:before source:before "}
	case "proto":
		return &grammar{name: language, lineComments: slashes, blockComments: stars, quotes: `"'`, brackets: all, statements: true,
			keywords: " syntax:before edition:before package:before import:before option:before message:type service:type enum:plain rpc:plain extend:plain oneof:plain "}
	case "graphql":
		return &grammar{name: language, lineComments: []string{"#"}, quotes: `"`, longQuotes: []string{`"""`}, brackets: all, decorators: []string{`"`}, modifiers: " extend ",
			keywords: " type:plain interface:plain input:plain enum:plain union:plain scalar:plain directive:plain schema:plain query:plain mutation:plain subscription:plain fragment:plain "}
	case "hcl", "tf":
		return &grammar{name: "hcl", lineComments: []string{"#", "//"}, blockComments: stars, quotes: `"`, heredocs: true, brackets: all}
	case "jsonc", "json5":
		return &grammar{name: "json", lineComments: slashes, blockComments: stars, quotes: `"'`, brackets: all}
	}
	return layoutGrammar(language)
}

// layoutGrammar returns the grammar of a language whose declarations show in how it is indented.
func layoutGrammar(language string) *grammar {
	switch language {
	case "python", "bzl":
		return &grammar{name: "python", layout: true, lineComments: []string{"#"}, quotes: `"'`, longQuotes: []string{`"""`, `'''`}, brackets: "()[]{}",
			decorators: []string{"@"}, modifiers: " async ", goesOn: " else elif except finally ",
			keywords: " import:before from:before class:type def:plain "}
	case "ruby", "rakefile", "gemfile", "vagrantfile":
		return &grammar{name: "ruby", layout: true, lineComments: []string{"#"}, markers: [2]string{"=begin", "=end"}, quotes: `"'`, heredocs: true, hashAfterBlank: true,
			regexps: true, brackets: "()[]{}", goesOn: " end else elsif rescue ensure when in then ",
			keywords: " require:before require_relative:before include:before extend:before class:type module:space def:plain attr_accessor:plain attr_reader:plain "}
	case "shell":
		return &grammar{name: language, layout: true, lineComments: []string{"#"}, quotes: `"'`, multiline: true, heredocs: true, hashAfterBlank: true,
			goesOn: " fi done esac then else elif do end ;; ", keywords: " function:plain export:plain local:plain readonly:plain declare:plain alias:plain source:before "}
	case "lua":
		return &grammar{name: language, layout: true, lineComments: []string{"--"}, blockComments: [][2]string{{"--[[", "]]"}, {"--[==[", "]==]"}, {"--[=[", "]=]"}},
			quotes: `"'`, brackets: "()[]{}", modifiers: " local ", goesOn: " end else elseif until ", keywords: " function:plain "}
	case "perl":
		return &grammar{name: language, layout: true, lineComments: []string{"#"}, markers: [2]string{"=", "=cut"}, heredocs: true, hashAfterBlank: true,
			goesOn: " else elsif continue ", keywords: " use:before require:before package:plain sub:plain "}
	case "elixir":
		return &grammar{name: language, layout: true, lineComments: []string{"#"}, quotes: `"`, longQuotes: []string{`"""`, `'''`}, brackets: "()[]{}",
			decorators: []string{"@"}, goesOn: " end else rescue catch after ",
			keywords: " defmodule:type defprotocol:type defimpl:type def:plain defp:plain defmacro:plain defmacrop:plain defstruct:plain defdelegate:plain alias:before import:before require:before use:before describe:type test:plain "}
	case "haskell":
		return &grammar{name: language, layout: true, lineComments: []string{"--"}, blockComments: [][2]string{{"{-", "-}"}}, nested: true, quotes: `"'`, characters: true,
			goesOn: " where ", keywords: " module:before import:before data:plain newtype:plain class:type instance:type type:plain infixl:plain infixr:plain "}
	case "powershell":
		return &grammar{name: language, layout: true, lineComments: []string{"#"}, blockComments: [][2]string{{"<#", "#>"}}, quotes: `"'`, doubled: true, multiline: true,
			goesOn: " else elseif catch finally ", keywords: " function:plain filter:plain class:type enum:plain using:before Import-Module:before "}
	case "julia", "jl":
		return &grammar{name: language, layout: true, lineComments: []string{"#"}, blockComments: [][2]string{{"#=", "=#"}}, nested: true, quotes: `"`, longQuotes: []string{`"""`},
			brackets: "()[]{}", modifiers: " mutable abstract ", goesOn: " end else elseif catch finally ",
			keywords: " using:before import:before module:space function:plain macro:plain struct:plain type:plain const:plain "}
	case "sql":
		return &grammar{name: language, lineComments: []string{"--"}, blockComments: [][2]string{{"/*", "*/"}}, quotes: "'\"`", doubled: true, multiline: true, dollars: true,
			brackets: "()[]", statements: true}
	case "dockerfile", "containerfile":
		return &grammar{name: "dockerfile", layout: true, lineComments: []string{"#"}, heredocs: true, hashAfterBlank: true}
	case "makefile", "mk":
		return &grammar{name: "makefile", layout: true, lineComments: []string{"#"}, goesOn: " endif else endef "}
	case "yaml":
		return &grammar{name: language, layout: true, lineComments: []string{"#"}, hashAfterBlank: true}
	case "toml", "ini", "properties", "editorconfig":
		return &grammar{name: "ini", layout: true, lineComments: []string{"#", ";"}, hashAfterBlank: true}
	}
	return nil
}
