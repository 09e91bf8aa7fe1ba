package exception

import (
	"bytes"
	"slices"
	"strings"
)

// Text of errors about Helm templates. Helm templates are the files that are most often given in
// place of manifests.
const (
	helmTemplate = "not YAML: this looks like a Helm template"
	renderIt     = "render it first: helm template CHART"
)

// mistake replaces a message of the YAML library by the name of a common mistake that the line of
// the error shows. Any other error stays as it is.
func mistake(err *SyntaxError, line string) *SyntaxError {
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	switch {
	case strings.Contains(line, "{{"):
		err.Message, err.Hint = helmTemplate, renderIt
	case strings.Contains(indent, "\t"):
		err.Message, err.Hint = "not valid YAML: a tab indents this line", "indent it with spaces"
	default:
		for _, m := range yamlMistakes {
			if strings.Contains(err.Message, m.jargon) {
				err.Message, err.Hint = "not valid YAML: "+m.plain, m.hint
				break
			}
		}
	}
	return err
}

// yamlMistakes are the frequent errors of the YAML library in plain words.
var yamlMistakes = []struct{ jargon, plain, hint string }{
	{"did not find expected key", "this line, or one below it, is not indented as its neighbours are",
		"begin the keys of one level in the same column"},
	{"did not find expected '-' indicator", "a list begins here, and a line below it is not an item",
		"begin each item with a dash in the same column"},
	{"did not find expected ',' or ']'", `a list begins with "[" and has no "]"`,
		`write the "]", and put commas between the items`},
	{"did not find expected ',' or '}'", `keys begin with "{" and have no "}"`,
		`write the "}", and put commas between the keys`},
	{"found unexpected end of stream", "a quotation mark has no counterpart", "write the closing quotation mark"},
	{"mapping values are not allowed in this context", "a second colon in one line",
		"put the text in quotes, or begin a new line after the first colon"},
	{"block sequence entries are not allowed in this context", "a list begins where none is expected",
		"begin the list on the line below its key"},
	{"could not find expected ':'", "a line is not a key with a colon",
		"write it as key: value, or indent the text of the line above"},
	{"unknown anchor '", "a value begins with *, which YAML reserves", "put the value in quotes"},
	{"did not find expected node content", "a value is missing, or a bracket is open",
		"close the bracket, or put the value in quotes"},
	{"did not find expected alphabetic or numeric character", "a value begins with * or &, which YAML reserves",
		"put the value in quotes"},
	{"found character that cannot start any token", "a value begins with a reserved character",
		"put the value in quotes"},
}

// textOfLine returns a line of a text, counted from 1, or "".
func textOfLine(text []byte, number int) string {
	for ; number > 1; number-- {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(line)
}

// foreign are the beginnings of files that are often given in place of a document, in lower case.
var foreign = []struct{ begin, message, hint string }{
	{"version https://git-lfs.github.com/spec/", "this is a pointer of Git LFS, not the file",
		"fetch the file: git lfs pull"},
	{"<!doctype html", "this is an HTML page", "download the file itself, such as GitHub's Raw"},
	{"<html", "this is an HTML page", "download the file itself, such as GitHub's Raw"},
	{"\x1f\x8b", "this is compressed by gzip", "decompress it: gunzip"},
	{"\xff\xfe", "the text is UTF-16", "save the file as UTF-8"},
	{"\xfe\xff", "the text is UTF-16", "save the file as UTF-8"},
	{"```", "this is Markdown", "keep only the lines between the two lines that begin with ```"},
}

// recognized replaces an error about a chunk by the name of what the chunk is, if that is known.
func recognized(err error, chunk []byte, at Position) error {
	if before, _, found := bytes.Cut(slices.Concat([]byte("\n"), chunk), []byte("\n<<<<<<< ")); found {
		return &SyntaxError{Position: Position{at.File, at.Line + bytes.Count(before, []byte("\n")), 1},
			Message: "Git left a merge conflict here",
			Hint:    "keep one of the two sides, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>"}
	}
	for _, f := range foreign {
		begin := string(chunk[:min(len(f.begin), len(chunk))])
		if at.Line == 1 && (begin == f.begin || strings.ToLower(begin) == f.begin) {
			return &SyntaxError{Position: at, Message: f.message, Hint: f.hint}
		}
	}
	return err
}
