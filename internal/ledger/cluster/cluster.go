package cluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/internal/kyverno"
	"github.com/polex-dev/polex/internal/usage"
	"github.com/polex-dev/polex/pkg/exception"
)

// Stream is the content of a list of objects.
type Stream struct {
	// Unreadable has the reason for each exception that could not be read.
	Unreadable []string
	Reports    []usage.Report
	// Others are the other objects, if they are asked for: policies and resources.
	Others []map[string]any

	keepsOthers bool
	visit       func(*exception.Document) error
	read        int // objects
	exceptions  int
}

// Parse reads a list of exceptions, reports, policies and resources in YAML or JSON, the output of kubectl
// get -o yaml or -o json. It reads object by object, and calls visit for each exception.
func Parse(in io.Reader, keepsOthers bool, visit func(*exception.Document) error) (*Stream, error) {
	buffered := bufio.NewReader(in)
	first, err := firstByte(buffered)
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("it is empty, which is not a cluster without exceptions: that is a List without items")
	case err != nil:
		return nil, err
	}
	s := &Stream{keepsOthers: keepsOthers, visit: visit}
	kind, isList := "", false
	if first == '{' {
		kind, isList, err = eachOfJSON(buffered, s.add)
	} else {
		kind, isList, err = eachOfYAML(buffered, s.add)
	}
	switch {
	case err != nil:
		return nil, err
	case !isList || kind != "List" && kind != exception.Kind+"List":
		return nil, fmt.Errorf("it is a %q and not a List of exceptions", kind)
	case s.read > 0 && s.exceptions+len(s.Reports) == 0:
		return nil, errors.New("none of its objects is an exception or a report")
	}
	return s, nil
}

// firstByte returns the first byte that is not white space, and leaves it unread.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.ReadByte()
		if err != nil || !slices.Contains([]byte(" \t\r\n"), b) {
			return b, errors.Join(err, in.UnreadByte())
		}
	}
}

// eachOfJSON calls visit for each item of a list, and returns the kind of the list.
func eachOfJSON(in io.Reader, visit func([]byte) error) (kind string, isList bool, err error) {
	decoder, seen := json.NewDecoder(in), map[string]bool{}
	if _, err := decoder.Token(); err != nil {
		return "", false, err
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return "", false, err
		}
		key := fmt.Sprint(token)
		if seen[key] {
			return "", false, fmt.Errorf("the key %q occurs twice", key)
		}
		seen[key] = true
		if key != "items" {
			var value any
			if err = decoder.Decode(&value); key == "kind" {
				kind, _ = value.(string)
			}
		} else {
			isList, err = eachItem(decoder, visit)
		}
		if err != nil {
			return "", false, err
		}
	}
	if _, err = decoder.Token(); err == nil && decoder.More() {
		err = errors.New("something follows the list")
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return kind, isList, err
}

func eachItem(decoder *json.Decoder, visit func([]byte) error) (isList bool, err error) {
	token, err := decoder.Token()
	switch {
	case token == nil || err != nil: // null
		return false, err
	case token != json.Delim('['):
		return false, errors.New("its items are not a list")
	}
	for decoder.More() {
		var item json.RawMessage
		if err := decoder.Decode(&item); err != nil {
			return false, err
		}
		if err := visit(item); err != nil {
			return false, err
		}
	}
	_, err = decoder.Token()
	return true, err
}

// eachOfYAML calls visit for each item of a list as kubectl writes it: items stand in lines that begin with
// "- " or with space. A list in another form is read whole.
func eachOfYAML(in *bufio.Reader, visit func([]byte) error) (kind string, isList bool, err error) {
	var rest, item []byte
	inItems, isSplit := false, false
	flush := func() error {
		if len(item) == 0 {
			return nil
		}
		isSplit = true
		raw, err := yaml.YAMLToJSONStrict(item)
		if item = item[:0]; err != nil {
			return err
		}
		return visit(raw)
	}
	for err == nil {
		var line []byte
		line, err = in.ReadBytes('\n')
		switch {
		case inItems && bytes.HasPrefix(line, []byte("- ")):
			if failed := flush(); failed != nil {
				return "", false, failed
			}
			item = append(append(item, "  "...), line[2:]...)
		case len(item) > 0 && (len(bytes.TrimSpace(line)) == 0 || bytes.HasPrefix(line, []byte("  "))):
			item = append(item, line...)
		case bytes.HasPrefix(line, []byte("---")) && len(bytes.TrimSpace(rest)) > 0,
			bytes.HasPrefix(bytes.TrimSpace(line), []byte("...")), bytes.HasPrefix(line, []byte(" ---")):
			return "", false, errors.New("it has several documents and not one List")
		default:
			if failed := flush(); failed != nil {
				return "", false, failed
			}
			inItems = string(bytes.TrimRight(line, " \r\n")) == "items:"
			rest = append(rest, line...)
		}
	}
	if !errors.Is(err, io.EOF) {
		return "", false, err
	}
	if err := flush(); err != nil {
		return "", false, err
	}
	raw, err := yaml.YAMLToJSONStrict(rest)
	if err != nil {
		return "", false, err
	}
	kind, isList, err = eachOfJSON(bytes.NewReader(raw), visit)
	return kind, isList || isSplit, err
}

// add adds an object. An exception is parsed as strictly as a file.
func (s *Stream) add(item []byte) error {
	s.read++
	var head struct {
		APIVersion any `json:"apiVersion"`
		Kind       any `json:"kind"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(item, &head); err != nil {
		s.exceptions++ // perhaps
		s.Unreadable = append(s.Unreadable, fmt.Sprintf("object %d: %s", s.read, err))
		return nil
	}
	apiVersion, _ := head.APIVersion.(string)
	kind, _ := head.Kind.(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	switch {
	case kyverno.IsReport(exception.GroupKind{Group: group, Kind: kind}):
		var r usage.Report
		if err := json.Unmarshal(item, &r); err != nil {
			return fmt.Errorf("object %d: %w", s.read, err)
		}
		s.Reports = append(s.Reports, r)
		return nil
	case kind != "" && kind != exception.Kind && apiVersion != "":
		var other map[string]any
		if !s.keepsOthers {
			return nil
		}
		err := json.Unmarshal(item, &other)
		s.Others = append(s.Others, other)
		return err
	}
	return s.addException(item)
}

func (s *Stream) addException(item []byte) error {
	s.exceptions++
	doc, err := exception.ParseUndeployed(item, "")
	switch {
	case err != nil:
		s.Unreadable = append(s.Unreadable, fmt.Sprintf("object %d: %s", s.read, err))
		return nil
	case !doc.GroupKind().IsException():
		return fmt.Errorf("object %d is a %s and not an exception", s.read, doc.GroupKind())
	}
	return s.visit(doc)
}
