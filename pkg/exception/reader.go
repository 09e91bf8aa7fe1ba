package exception

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"unicode"
	"unicode/utf8"
)

// HoldsDocuments reports whether a file in a folder holds documents, by its name: .yaml, .yml or
// .json.
func HoldsDocuments(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// Reader splits a stream of YAML or JSON into documents. A stream that begins with "{" or "[" is
// JSON (one value after another); any other is YAML.
type Reader struct {
	in   *bufio.Reader
	file string
	json bool

	most    int // the maximum size of a document in bytes
	nodes   int // the maximum of a document
	aliases bool

	undeployed bool // kustomize never reads the stream

	room    int // expected maximum size of a document in bytes
	started bool
	blank   []byte // before the first document
	line    int    // of the next unread byte
	column  int    // of the next unread byte of JSON
	read    int    // bytes of the stream so far
	index   int    // of the next document
	chunks  int    // documents so far, the empty ones included
	err     error

	preface   []byte // comments before the first document marker
	prefaceAt Position
}

// NewReader reads documents from r; file is the name of the source in positions.
func NewReader(r io.Reader, file string) *Reader {
	return &Reader{in: bufio.NewReader(r), file: file, most: MaxDocument, nodes: MaxNodes, line: 1, column: 1}
}

// Large makes the reader accept documents of 1 MiB and 25 times [MaxNodes], and returns it. Use it for
// definitions and for a team's own policies and resources, not for documents to validate or verify.
func (r *Reader) Large() *Reader {
	r.most, r.nodes, r.undeployed = maxLarge, maxLargeNodes, true
	return r
}

// Aliases makes the reader accept anchors, aliases and merge keys, and returns it. Use it for
// trusted files that are never signed: a reviewer of an alias does not see its value there. With
// aliases written out, a document has at most the reader's number of values, and 8 MiB of text.
func (r *Reader) Aliases() *Reader {
	r.aliases, r.undeployed = true, true
	return r
}

// All returns the results of [Reader.Next] in order: documents and errors about one document
// (*[SyntaxError]). The last result can be the reader's own error.
func (r *Reader) All() iter.Seq2[*Document, error] {
	return func(yield func(*Document, error) bool) {
		for {
			doc, err := r.Next()
			var syntax *SyntaxError
			if errors.Is(err, io.EOF) || !yield(doc, err) || err != nil && !errors.As(err, &syntax) {
				return
			}
		}
	}
}

// Next returns the next document, or [io.EOF] if there is none. A *[SyntaxError] is about one
// document. The next call continues behind that document, or returns io.EOF if its end cannot be
// found. Any other error is the reader's own and final.
func (r *Reader) Next() (*Document, error) {
	for {
		if r.err != nil {
			return nil, r.err
		}
		chunk, at, err := r.chunk()
		if r.chunks++; err == nil && r.chunks > MaxDocuments {
			err = &SyntaxError{Position: at, Message: fmt.Sprintf("the input has more than %d documents", MaxDocuments),
				Hint: "split it into several files"}
		}
		if err != nil {
			r.err = err
			var syntax *SyntaxError
			if errors.As(err, &syntax) {
				r.err = io.EOF // the end of the document is unknown
			}
			return nil, err
		}
		as := layout{json: r.json, lead: r.lead(chunk, at), nodes: r.nodes, aliases: r.aliases,
			undeployed: r.undeployed}
		if r.json {
			as.before, as.behind = r.blank, r.blankAhead()
		}
		doc, err := parse(chunk, at, as)
		if err != nil {
			r.index++
			return nil, recognized(err, chunk, at)
		}
		if doc == nil {
			// Comments above the first "---" belong to the document below it.
			r.preface, r.prefaceAt = nil, at
			if !bytes.HasPrefix(chunk, []byte("---")) {
				r.preface = chunk
			}
			continue
		}
		if r.preface != nil {
			doc.source, doc.at = append(r.preface, doc.source...), r.prefaceAt
			r.preface = nil
		}
		doc.Index = r.index
		r.index++
		return doc, nil
	}
}

// blankAhead returns the white space that follows, as far as it is in memory. kustomize reads no tab there.
func (r *Reader) blankAhead() []byte {
	ahead, _ := r.in.Peek(r.in.Size())
	return bytes.Clone(ahead[:len(ahead)-len(bytes.TrimLeft(ahead, " \t\r\n"))])
}

// lead returns the length of the marker line at the start of a chunk that is not the first.
// apimachinery's splitter removes this line.
func (r *Reader) lead(chunk []byte, at Position) int {
	if r.json || at.Line == 1 || !bytes.HasPrefix(chunk, []byte("---")) {
		return 0
	}
	if end := bytes.IndexByte(chunk, '\n'); end >= 0 {
		return end + 1
	}
	return len(chunk)
}

func (r *Reader) chunk() ([]byte, Position, error) {
	if !r.started {
		r.started = true
		first, err := r.peekText()
		if err != nil {
			return nil, Position{}, err
		}
		if first == '{' || first == '[' {
			r.json = true
		}
	}
	if !r.json {
		return r.yamlChunk()
	}
	chunk, at, err := r.jsonChunk()
	if err == nil && r.index > 0 && !r.undeployed {
		err = &SyntaxError{Position: at, Message: "a second document begins here, and kustomize (kubectl apply -k, " +
			"Flux, Argo CD) reads only the first of a JSON file",
			Hint: `write each document into a file of its own, or as YAML with "---" between them`}
	}
	return chunk, at, err
}

// maxBlank is the maximum white space at the start of a stream, in bytes. Tools look for a brace in
// the first 2 KiB (Flux) or 4 KiB (kubectl) to distinguish JSON from YAML.
const maxBlank = 1 << 10

// peekText returns the first character that is not white space, without reading it. Other tools
// read JSON if a brace follows any Unicode white space.
func (r *Reader) peekText() (byte, error) {
	ahead, err := r.in.Peek(r.in.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("read %s: %w", r.file, err)
	}
	text := bytes.TrimLeft(ahead, " \t\r\n")
	at := Position{File: r.file, Line: 1, Column: 1}
	if blank := len(ahead) - len(text); blank > maxBlank && len(bytes.TrimLeftFunc(text, unicode.IsSpace)) > 0 {
		return 0, &SyntaxError{Position: at,
			Message: fmt.Sprintf("the input begins with %d bytes of white space, and %d are allowed", blank, maxBlank),
			Hint:    "remove the blank lines above the first document"}
	}
	if first, _ := utf8.DecodeRune(text); first > unicode.MaxASCII && unicode.IsSpace(first) {
		return 0, &SyntaxError{Position: at, Message: fmt.Sprintf("the input begins with the white space character %U",
			first), Hint: "remove it: kubectl reads the rest as JSON"}
	}
	if len(text) == 0 {
		return 0, nil
	}
	r.blank = bytes.Clone(ahead[:len(ahead)-len(text)])
	return text[0], nil
}

// yamlChunk reads the lines up to the next document marker. A "---" in the first column ends a
// document even inside a block scalar (YAML 1.2.2, 9.1.2), so splitting by lines agrees with
// parsing.
func (r *Reader) yamlChunk() ([]byte, Position, error) {
	at := Position{File: r.file, Line: r.line, Column: 1}
	chunk := make([]byte, 0, r.room)
	for {
		if len(chunk) > 0 && r.atMarker() {
			return chunk, at, nil
		}
		long := false
		for {
			part, err := r.in.ReadSlice('\n')
			chunk = append(chunk, part...)
			r.read += len(part)
			if tooLong := r.tooLong(len(chunk), at); tooLong != nil {
				return nil, at, tooLong
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				long = true
				continue
			}
			if errors.Is(err, io.EOF) {
				if len(chunk) == 0 {
					return nil, at, io.EOF
				}
				return chunk, at, nil
			}
			if err != nil {
				return nil, at, fmt.Errorf("read %s: %w", r.file, err)
			}
			break
		}
		r.line++
		if !long && bytes.HasPrefix(chunk, []byte("%")) {
			return nil, at, &SyntaxError{Position: at, Message: "a YAML directive is not allowed",
				Hint: "remove the line that begins with %"}
		}
	}
}

func (r *Reader) atMarker() bool {
	ahead, _ := r.in.Peek(4)
	if !bytes.HasPrefix(ahead, []byte("---")) {
		return false
	}
	return len(ahead) == 3 || ahead[3] == '\n' || ahead[3] == ' ' || ahead[3] == '\t' || ahead[3] == '\r'
}

// jsonChunk reads one JSON value. It counts brackets outside of strings.
func (r *Reader) jsonChunk() ([]byte, Position, error) {
	at, err := r.skipBlank()
	if err != nil {
		return nil, at, err
	}
	if begin, _ := r.in.Peek(2); string(begin) == "{{" { // not JSON, where a key is text
		return nil, at, &SyntaxError{Position: at, Message: helmTemplate, Hint: renderIt}
	}
	chunk := make([]byte, 0, r.room)
	depth, inString, escaped := 0, false, false
	for {
		ahead, err := r.ahead()
		if errors.Is(err, io.EOF) {
			return nil, at, &SyntaxError{Position: at, Message: "not valid JSON: the document is incomplete"}
		}
		if err != nil {
			return nil, at, err
		}
		taken, whole := 0, false
		for taken < len(ahead) && !whole {
			c := ahead[taken]
			taken++
			switch {
			case escaped:
				escaped = false
			case inString:
				inString, escaped = c != '"', c == '\\'
			case c == '"':
				inString = true
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				depth--
				whole = depth == 0
			}
		}
		chunk = append(chunk, ahead[:taken]...)
		r.take(ahead[:taken])
		if err := r.tooLong(len(chunk), at); err != nil || whole {
			return chunk, at, err
		}
	}
}

// skipBlank skips the white space before a JSON value, and returns the position of the value.
func (r *Reader) skipBlank() (Position, error) {
	for {
		at := Position{File: r.file, Line: r.line, Column: r.column}
		ahead, err := r.ahead()
		if err != nil {
			return at, err
		}
		text := bytes.TrimLeft(ahead, " \t\r\n")
		r.take(ahead[:len(ahead)-len(text)])
		at.Line, at.Column = r.line, r.column
		if err := r.tooLong(0, at); err != nil {
			return at, err
		}
		if len(text) == 0 {
			continue
		}
		if text[0] != '{' && text[0] != '[' {
			return at, &SyntaxError{Position: at,
				Message: fmt.Sprintf("not valid JSON: %q where a document should begin", text[0])}
		}
		return at, nil
	}
}

// ahead returns the next bytes, at least one, without reading them.
func (r *Reader) ahead() ([]byte, error) {
	ahead, err := r.in.Peek(max(r.in.Buffered(), 1))
	if len(ahead) > 0 || errors.Is(err, io.EOF) {
		return ahead, err
	}
	return nil, fmt.Errorf("read %s: %w", r.file, err)
}

// take marks bytes as read.
func (r *Reader) take(part []byte) {
	_, _ = r.in.Discard(len(part)) // the buffer holds them
	r.read += len(part)
	if end := bytes.LastIndexByte(part, '\n'); end >= 0 {
		r.line, r.column = r.line+bytes.Count(part, []byte("\n")), 1
		part = part[end+1:]
	}
	for _, c := range part {
		if c&0xc0 != 0x80 { // columns count characters
			r.column++
		}
	}
}

func (r *Reader) tooLong(chunk int, at Position) error {
	switch {
	case chunk > r.most:
		return &SyntaxError{Position: at, Message: fmt.Sprintf("the document is larger than %d KiB", r.most>>10),
			Hint: "an exception has a few KiB; is this the right file?"}
	case r.read > MaxStream:
		return &SyntaxError{Position: at, Message: fmt.Sprintf("the input is larger than %d MiB", MaxStream>>20)}
	default:
		return nil
	}
}
