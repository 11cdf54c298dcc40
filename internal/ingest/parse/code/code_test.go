package code_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

// grown makes a line that ends with LONG as long as a block of code holds.
func grown(code string) string {
	return strings.ReplaceAll(code, "LONG", strings.Repeat("word ", 250))
}

func TestSourceCode(t *testing.T) {
	t.Parallel()
	long := "func f() {\n" + strings.Repeat("\tcall()\n\n", 150) + "}\n"
	doc := parsetest.Read(t, "cmd/main.go", "package main\n\nimport \"fmt\"\n\n"+long+"\n"+strings.ReplaceAll(long, "f()", "g()"))
	if doc.DocType != "code" || doc.Metadata["code_language"] != "go" || doc.Title != "main.go" {
		t.Fatalf("type %s, title %s, %v", doc.DocType, doc.Title, doc.Metadata)
	}
	var kinds []string
	for _, block := range doc.Blocks {
		kinds = append(kinds, block.Text[:min(len(block.Text), 10)])
		if block.Kind == document.Code && strings.HasPrefix(block.Text, "func") && !strings.HasSuffix(block.Text, "}") {
			t.Errorf("a declaration is cut: %q", block.Text)
		}
	}
	if diff := cmp.Diff([]string{"package ma", "f", "func f() {", "g", "func g() {"}, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if doc = parsetest.Read(t, "a.yaml", "a: 1\nb: 2\n"); doc.DocType != "config" || doc.Blocks[len(doc.Blocks)-1].Language != "yaml" {
		t.Errorf("%+v", doc)
	}
}

func TestDeclarationsOfManyLanguages(t *testing.T) {
	t.Parallel()
	for file, c := range map[string]struct {
		code string
		want []string
	}{
		"a.go": {"package a\n\n// T is one.\ntype T struct {\n\ta int // LONG\n}\n\nfunc (t *T) Get() string {\n\treturn `}{` // LONG\n}\n\nvar x = 1\n\nfunc New[K any]() *T { return nil }\n",
			[]string{"## T #L4", "## T.Get #L8", "## x, New #L12"}},
		"a.py": {"\"\"\"What it does.\"\"\"\nimport os\n\nLIMIT = 3\n\n@cache\ndef first(a,\n          b):\n    '''doc'''\n    x = [  # LONG\n]\n    return x\n\n# about\nclass Tree(Base):\n    \"\"\"Trees.\"\"\"\n\n    def grow(self):\n        pass  # LONG\n\n    async def fell(self):\n        return 1\n\nif __name__ == \"__main__\":\n    first()\n",
			[]string{"## LIMIT #L4", "## first #L7", "## Tree #L15", "### grow #L18", "### fell #L21", "## if __name__ == \"__main__\" #L24"}},
		"a.ts": {"import a from 'a';\n\nexport interface Opts { a: string }\n\n@Component({ selector: 'x' })\nexport class Tree<T> extends Base {\n  private size = 1;\n\n  constructor(private a: A) { super(); }\n\n  async grow(by: number): Promise<void> {\n    const re = /[{\"]/; // LONG\n  }\n}\n\nexport const make = async (x) => {\n  return `a ${x} {`; // LONG\n};\n\nexport default function run() {}\n",
			[]string{"## Opts #L3", "## Tree #L6", "### grow #L11", "## make #L16", "## run #L20"}},
		"a.jsx": {"const a = require('a');\n\nfunction App() {\n  return <p>Don't {name}</p>; // LONG\n}\n\nmodule.exports = {\n  one() { return 1; }, // LONG\n  two: 2,\n};\n",
			[]string{"## App #L3", "## module.exports #L7", "### one #L8", "### two #L9"}},
		"A.java": {"package a;\n\nimport b.C;\n\n/** A tree. */\n@Entity\n@Table(name = \"t\")\npublic class Tree extends Base implements Able {\n    private int size = 1;\n\n    @Override\n    public String grow(int by) throws X {\n        return \"}\"; // LONG\n    }\n\n    public record Leaf(int a) { }\n\n    static <T> T make(Class<T> c)\n    {\n        return null;\n    }\n}\n\nenum Kind { A, B }\n",
			[]string{"## Tree #L8", "### grow #L12", "### Leaf, make #L16", "## Kind #L24"}},
		"a.kt": {"package a\n\nimport b.C\n\ndata class Leaf(val a: Int)\n\nclass Tree(\n    val a: Int,\n) : Base() {\n    fun grow(): Int {\n        return 1 // LONG\n    }\n\n    companion object {\n        const val X = 1\n    }\n}\n\nfun String.shout() = uppercase()\n",
			[]string{"## Leaf #L5", "## Tree #L7", "### grow #L10", "### companion object #L14", "## String.shout #L19"}},
		"a.cs": {"using System;\n\nnamespace Trees\n{\n    /// <summary>One</summary>\n    [Serializable]\n    public sealed class Tree : Base\n    {\n        public int Size { get; set; }\n\n        public async Task<int> Grow(int by)\n        {\n            var s = @\"c:\\\"; // LONG\n        }\n    }\n\n    public enum Kind { A }\n}\n",
			[]string{"## Tree #L7", "### Grow #L11", "## Kind #L17"}},
		"a.cpp": {"#include <a>\n#define LIMIT 3\n\nnamespace trees {\n\ntemplate <typename T>\nclass EXPORT Tree final : public Base {\n public:\n  Tree() : a_(1) {}\n  int grow(int by) const override {\n    return by; // LONG\n  }\n private:\n  int a_;\n};\n\nint Tree<T>::fell() {\n#ifdef A\n  if (a) {\n#else\n  if (b) {\n#endif\n  } // LONG\n}\n\n}  // namespace trees\n\nextern \"C\" int main(int argc, char **argv)\n{\n  return 0;\n}\n",
			[]string{"## LIMIT #L2", "## Tree #L7", "### grow #L10", "### private #L13", "## Tree::fell #L17", "## main #L28"}},
		"a.c": {"#include <a.h>\n\ntypedef struct {\n  int a; /* LONG */\n} tree;\n\nstatic int\ngrow(tree *t)\n{\n  return t->a; /* LONG */\n}\n\nstatic const char *names[] = {\n  \"a\",\n};\n",
			[]string{"## tree #L3", "## grow #L7", "## names #L13"}},
		"a.rs": {"//! About it all, in one line.\n\nuse std::fmt;\n\n/// A tree.\n#[derive(Debug)]\npub struct Tree<'a> {\n    a: &'a str, // LONG\n}\n\nimpl<'a> fmt::Display for Tree<'a> {\n    fn fmt(&self) -> R {\n        let s = r#\"}\"#; // LONG\n    }\n}\n\npub(crate) async fn grow() -> char { '{' }\n\nmacro_rules! leaf { () => {} }\n",
			[]string{"## Tree #L7", "## impl fmt::Display for Tree<'a> #L11", "## grow, leaf #L17"}},
		"a.rb": {"require 'a'\n\nmodule Trees\n  # A tree.\n  class Tree < Base\n    attr_reader :a\n\n    def grow(by)\n      x = <<~SQL\nselect 1\n      SQL\n      # LONG\n    end\n\n    def self.leaf? = true\n  end\nend\n\nputs 1\n",
			[]string{"## Tree #L5", "### grow #L8", "### self.leaf? #L15", "## puts 1 #L19"}},
		"a.php": {"<?php\n\nnamespace A;\n\nuse B\\C;\n\n#[Attribute]\nfinal class Tree extends Base\n{\n    private const A = '}';\n\n    public function grow(int $by): void\n    {\n        $x = <<<EOT\n{\nEOT;\n        // LONG\n    }\n}\n\nfunction run() {}\n",
			[]string{"## Tree #L8", "### grow #L12", "## run #L21"}},
		"a.swift": {"import A\n\n@main\npublic final class Tree: Base {\n    var a = 1\n\n    init(a: Int) {\n        self.a = a // LONG\n    }\n}\n\nextension Tree: Able {\n    func grow() {} // LONG\n}\n\nfunc run() -> Int { 1 }\n",
			[]string{"## Tree #L4", "### init #L7", "## Tree #L12", "## run #L16"}},
		"a.scala": {"package a\n\nimport b.C\n\ncase class Leaf(a: Int)\n\nobject Tree extends App {\n  def grow(by: Int): Int = {\n    by // LONG\n  }\n\n  val x = 1\n}\n\ntrait Able\n",
			[]string{"## Leaf #L5", "## Tree #L7", "### grow #L8", "### x #L12", "## Able #L15"}},
		"a.sh": {"#!/bin/sh\n# Plants trees.\nset -e\n\nLIMIT=3\n\ngrow() {\n  case \"$1\" in\n    a) echo 'it' ;;\n  esac\n  cat <<EOF\n}\nnot() {\nEOF\n  # LONG\n}\n\nfunction fell {\n  echo ${#a}\n}\n\ngrow \"$@\"\n",
			[]string{"## LIMIT #L5", "## grow #L7", "## fell, grow $@ #L18"}},
		"a.sql": {"-- Trees.\nCREATE TABLE IF NOT EXISTS garden.trees (\n  id int, -- LONG\n\n  name text DEFAULT ';'\n);\n\nCREATE UNIQUE INDEX trees_name ON trees (name);\n\nCREATE OR REPLACE FUNCTION grow(by int) RETURNS int AS $body$\nBEGIN\n  RETURN 1; -- LONG\nEND;\n$body$ LANGUAGE plpgsql;\n\nCREATE PROCEDURE fell()\nBEGIN\n  DELETE FROM trees;\n  SELECT 1;\nEND;\n\nINSERT INTO trees VALUES (1, 'it''s');\n",
			[]string{"## garden.trees #L2", "## trees_name #L8", "## grow #L10", "## fell, trees #L16"}},
		"a.lua": {"local a = require('a')\n\nlocal M = {}\n\n--[[ about\nfunction no() end ]]\nfunction M.grow(by)\n  return by -- LONG\nend\n\nM.fell = function()\nend\n\nreturn M\n",
			[]string{"## a, M #L1", "## M.grow #L7", "## M.fell #L11"}},
		"a.pl": {"use strict;\n\nmy $limit = 3;\n\n=head1 NAME\n\nsub no { }\n\n=cut\n\nsub grow {\n    my $x = shift; # LONG\n}\n\nsub fell { }\n",
			[]string{"## $limit #L3", "## grow #L11", "## fell #L15"}},
		"a.r": {"library(a)\n\ngrow <- function(by = 1) {\n  by # LONG\n}\n\nfell = function() {\n}\n", []string{"## grow #L3", "## fell #L7"}},
		"a.ex": {"defmodule Trees.Tree do\n  @moduledoc \"\"\"\n  def no do\n  \"\"\"\n  use GenServer\n\n  @doc \"grows\"\n  @spec grow(integer) :: integer\n  def grow(by) when by > 0 do\n    by # LONG\n  end\n\n  defp leaf?(x), do: x\nend\n",
			[]string{"## Trees.Tree #L1", "### grow #L9", "### leaf? #L13"}},
		"a.hs": {"{-# LANGUAGE X #-}\nmodule Trees where\n\nimport A\n\ndata Tree = Leaf | Node -- LONG\n\ngrow :: Int -> Tree\ngrow 0 = Leaf\ngrow' n = Node\n  where x = 'a' -- LONG\n\ninstance Show Tree where\n  show _ = \"\"\n",
			[]string{"## Tree #L6", "## grow #L8", "## grow' #L10", "## instance Show Tree #L13"}},
		"a.proto": {"syntax = \"proto3\";\n\npackage trees;\n\n// A tree.\nmessage Tree {\n  string name = 1; // LONG\n  message Leaf { int32 a = 1; }\n}\n\nservice Trees {\n  rpc Grow(Tree) returns (Tree);\n}\n",
			[]string{"## Tree #L6", "### name #L7", "### Leaf #L8", "## Trees #L11"}},
		"a.graphql": {"\"\"\"\nA tree {\n\"\"\"\ntype Tree implements Node {\n  # LONG\n  name: String!\n}\n\nextend type Query {\n  tree(id: ID!): Tree\n}\n", []string{"## Tree #L4", "## Query #L9"}},
		"main.tf": {"terraform {\n  # LONG\n}\n\nresource \"aws_instance\" \"web\" {\n  ami = \"a\" # LONG\n  user_data = <<-EOF\n    }\n  EOF\n}\n\nvariable \"size\" { default = 1 }\n",
			[]string{"## terraform #L1", "## resource aws_instance web #L5", "## variable size #L12"}},
		"Dockerfile": {"# syntax=docker/dockerfile:1\nARG V=1\nFROM golang:${V} AS build\nRUN a && \\\n  b # LONG\n\nFROM --platform=linux/amd64 scratch\nCOPY --from=build /a /a\n", []string{"## build #L3", "## scratch #L7"}},
		"Makefile":   {"LIMIT := 3\n\n# builds it\nbuild: a b ## LONG\n\tgo build\n\ntest:\n\tgo test\nifdef X\nendif\n", []string{"## LIMIT #L1", "## build #L4", "## test #L7"}},
		"a.ps1":      {"function Get-Tree {\n  param($a) # LONG\n}\n\nfunction Set-Tree { }\n", []string{"## Get-Tree #L1", "## Set-Tree #L5"}},
		"a.dart":     {"import 'a';\n\nclass Tree extends Base {\n  int a = 1;\n\n  @override\n  void grow(int by) {\n    print('}'); // LONG\n  }\n}\n\nvoid main() {}\n", []string{"## Tree #L3", "### grow #L7", "## main #L12"}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			doc := parsetest.Read(t, file, grown(c.code))
			if diff := cmp.Diff(c.want, parsetest.Headings(doc)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, strings.ReplaceAll(doc.Markdown(), strings.Repeat("word ", 250), "LONG"))
			}
			checkLines(t, doc, grown(c.code))
		})
	}
}

// checkLines checks that every line of a file is in the text of its document, and in order.
func checkLines(t *testing.T, doc *document.Document, code string) {
	t.Helper()
	var text strings.Builder
	for _, block := range doc.Blocks {
		if block.Kind != document.Heading {
			text.WriteString(block.Text + "\n")
		}
	}
	rest := text.String()
	for line := range strings.Lines(code) {
		line = strings.Trim(line, " \t\n/*#!-\"")
		if line == "" {
			continue
		}
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Errorf("the line %q is lost or out of order", line)
			return
		}
		rest = after
	}
}

func TestTopsOfSourceFiles(t *testing.T) {
	t.Parallel()
	licence := "// Copyright 2024 The Gardeners\n//\n// Licensed under the Apache License, Version 2.0 (the \"License\");\n" + strings.Repeat("// you may not use this file except in some cases\n", 12)
	doc := parsetest.Read(t, "a.go", licence+"\n// Package trees grows them. It is good at that.\n//\n//\tgrow()\npackage trees\n\nfunc Grow() {}\n")
	want := []document.Block{
		{Kind: document.Paragraph, Text: "Package trees grows them. It is good at that."},
		{Kind: document.Code, Text: "grow()"},
		{Kind: document.Heading, Level: 2, Text: "Grow", Anchor: "L22"},
		{Kind: document.Code, Language: "go", Text: "package trees\n\nfunc Grow() {}"},
		{Kind: document.Heading, Level: 2, Text: "Licence", Anchor: "licence"},
		{Kind: document.Code, Language: "go", Text: strings.TrimSpace(licence)},
	}
	if diff := cmp.Diff(want, doc.Blocks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if doc.Metadata["license"] != "Apache-2.0" {
		t.Errorf("the licence is %v", doc.Metadata["license"])
	}
	doc = parsetest.Read(t, "a.c", "/* SPDX-License-Identifier: GPL-2.0-only */\n/*\n * Trees and how they grow, with all their leaves.\n */\n\n#include <a.h>\n")
	want = []document.Block{
		{Kind: document.Paragraph, Text: "Trees and how they grow, with all their leaves."},
		{Kind: document.Code, Language: "c", Text: "/* SPDX-License-Identifier: GPL-2.0-only */\n\n#include <a.h>"},
	}
	if diff := cmp.Diff(want, doc.Blocks); diff != "" || doc.Metadata["license"] != "GPL-2.0-only" {
		t.Errorf("%v (-want +got):\n%s", doc.Metadata, diff)
	}
	doc = parsetest.Read(t, "a.py", "# -*- coding: utf-8 -*-\n\"\"\"Trees.\n\n    They grow.\n\"\"\"\nimport os\n")
	if text := doc.Markdown(); text != "```python\n# -*- coding: utf-8 -*-\n```\n\nTrees.\n\nThey grow.\n\n```python\nimport os\n```" {
		t.Errorf("got %q", text)
	}
}

func TestConfigurationInSections(t *testing.T) {
	t.Parallel()
	for file, c := range map[string]struct {
		text string
		want []string
	}{
		"values.yaml":   {"# how many\nreplicas: 3\nimage:\n  name: a\n\nservice:\n  # LONG\n  ports:\n    - name: http\n      port: 80\n  text: |\n    key: not one\nlast:\n- a\n- b\n", []string{"## replicas, image #L2", "## service #L6", "### ports #L8", "### text #L11", "## last #L13"}},
		"play.yml":      {"- name: Plant trees\n  tasks:\n    - a # LONG\n- hosts: all\n  name: Fell them\n", []string{"## Plant trees #L1", "## Fell them #L4"}},
		"many.yaml":     {"kind: Service\nmetadata:\n  name: web\n---\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  # LONG\n  a: 1\n", []string{"## Service web #L1", "## Deployment web #L5", "### spec #L8"}},
		"broken.yaml":   {"a: [1\n b: }\n\tc\nd: *x\n", []string{"## a, d #L1"}},
		"template.yaml": {"{{- if .Values.on }}\napiVersion: v1 # LONG\nkind: Pod\n{{- end }}\n", []string{"## apiVersion #L2", "## kind #L3"}},
		"a.toml":        {"title = \"a\"\n\n[server]\n# LONG\nport = 1\n\n[server.\"tls\"]\non = true\n[[users]]\nname = \"a\"\n", []string{"## server #L3", "## server.tls, users #L7"}},
		"a.ini":         {"; about\n[one]\na=1\n[two]\nb=2 ; LONG\n", []string{"## one #L2", "## two #L4"}},
		"a.properties":  {"# about\na=1\n\nb=2\n", nil},
		"tsconfig.json": {"{\n  // LONG\n  \"a\": {\n    \"b\": 1,\n  },\n  \"c\": [1],\n}\n", []string{"## a #L3", "## c #L6"}},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			doc := parsetest.Read(t, file, grown(c.text))
			if diff := cmp.Diff(c.want, parsetest.Headings(doc)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, strings.ReplaceAll(doc.Markdown(), strings.Repeat("word ", 250), "LONG"))
			}
			checkLines(t, doc, grown(c.text))
		})
	}
}

func TestLongLinesAreCut(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "function f%d(a){return a+%d};", i, i)
	}
	doc := parsetest.Read(t, "a.min.js", b.String())
	var text strings.Builder
	for _, block := range doc.Blocks {
		if size := utf8.RuneCountInString(block.Text); size > 1000 || !strings.HasSuffix(block.Text, ";") && !strings.HasSuffix(block.Text, "}") {
			t.Fatalf("a block of %d runes that ends in %q", size, block.Text[max(0, len(block.Text)-10):])
		}
		text.WriteString(block.Text)
	}
	if text.String() != b.String() {
		t.Error("text is lost")
	}
}

func FuzzCodeOfManyLanguages(f *testing.F) {
	names := []string{"a.go", "a.py", "a.ts", "A.java", "a.cs", "a.cpp", "a.rs", "a.rb", "a.php", "a.swift", "a.sh", "a.sql", "a.lua", "a.pl", "a.ex", "a.hs", "a.yaml",
		"a.toml", "main.tf", "Dockerfile", "Makefile", "a.jsonc"}
	f.Add(byte(0), "package a\n\nfunc f() {\n`}\n\"\n'{'\n}\n")
	f.Add(byte(5), "#if A\n{\n#else\n{\n#endif\n}\n#define X \\\n 1\nR\"x(\n)x\"\n")
	f.Add(byte(7), "x = <<~A\nA\n=begin\n=end\n")
	f.Add(byte(11), "create function f() $a$ begin; end; $a$;\ncreate trigger t begin a; end;\n")
	f.Add(byte(16), "a:\n- b\n---\nopenapi: 3\npaths: {}\n")
	f.Add(byte(1), "r'''x\n@a\ndef f(\n):\n\tpass\n")
	f.Fuzz(func(t *testing.T, language byte, code string) {
		name := names[int(language)%len(names)]
		doc, err := parse.New(parse.Options{}).Parse(t.Context(), parse.Input{Name: name, Content: []byte(code)})
		if err != nil {
			return
		}
		taken := make(map[string]bool)
		for _, block := range doc.Blocks {
			if block.Kind == document.Heading && (block.Text == "" || block.Anchor == "" || taken[block.Anchor] || !utf8.ValidString(block.Text)) {
				t.Fatalf("bad heading %+v", block)
			}
			if block.Kind == document.Heading {
				taken[block.Anchor] = true
			}
		}
	})
}

func BenchmarkCode(b *testing.B) {
	code := []byte("package a\n\n" + strings.Repeat("// Grow makes a tree grow, as trees do.\nfunc Grow(by int) (string, error) {\n\tif by < 0 {\n\t\treturn \"\", fmt.Errorf(\"grow by %d\", by)\n\t}\n\treturn `tall`, nil\n}\n\n", 5000))
	parser := parse.New(parse.Options{})
	b.SetBytes(int64(len(code)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parser.Parse(b.Context(), parse.Input{Name: "a.go", Content: code}); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzCode(f *testing.F) { parsetest.Fuzz(f, "a.go", "package a\n\nfunc f() {\n\n}\n\nvar x = 1\n") }
