package adopt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/seal"
)

// deployed is one form of an exception in the streams.
type deployed struct {
	object map[string]any
	stream string
	line   int
	chart  string // the template of a Helm chart, from Helm's comment
	notes  []string
}

// readStreams returns the exceptions of all streams that are not signed yet. An equal form counts
// once.
func readStreams(streams []Stream, o *Options) (map[exception.Identity][]*deployed, error) {
	all := map[exception.Identity][]*deployed{}
	for _, s := range streams {
		for _, chunk := range split(s.Content) {
			object, err := object(chunk.text)
			if err != nil {
				return nil, fmt.Errorf("%s, line %d: %w", s.Name, chunk.line, err)
			}
			objects := items(object)
			if objects == nil {
				objects = []map[string]any{object}
			}
			_, chart, _ := bytes.Cut(chunk.text, []byte("# Source: "))
			chart, _, _ = bytes.Cut(chart, []byte("\n"))
			for _, object := range objects {
				if !isException(object) || text(object, "metadata", "name") == "" ||
					text(object, "metadata", "annotations", "cosign.sigstore.dev/message") != "" {
					continue
				}
				d := &deployed{object: object, stream: s.Name, line: chunk.line, chart: string(bytes.TrimSpace(chart))}
				d.notes = clean(object, o.Shape.Allowed)
				inNamespace(object, o.Namespace)
				id := identity(object)
				same := func(other *deployed) bool { return key(other.object) == key(object) }
				if !slices.ContainsFunc(all[id], same) {
					all[id] = append(all[id], d)
				}
			}
		}
	}
	return all, nil
}

// several returns a problem if an exception has several forms.
func several(forms []*deployed) *Problem {
	if len(forms) < 2 {
		return nil
	}
	places := make([]string, len(forms))
	for i, f := range forms {
		places[i] = fmt.Sprintf("%s:%d", f.stream, f.line)
	}
	return &Problem{Reason: ReasonSeveral, Message: "it is deployed in different forms: " + strings.Join(places, ", ") +
		difference(forms[0].object, forms[1].object, "%s in the first and %s in the second"),
		Hint: "remove the other forms from the given files; a form that another cluster needs gets another name there"}
}

// difference describes the first difference of the specs of two forms. places has a verb for each.
func difference(one, other map[string]any, places string) string {
	first, err := exception.FromObject(map[string]any{"spec": one["spec"]})
	second, err2 := exception.FromObject(map[string]any{"spec": other["spec"]})
	if err != nil || err2 != nil {
		return ""
	}
	for _, d := range seal.Compare(second, first, 1) {
		return fmt.Sprintf(": %s is "+places, d.Path, d.Old(), d.New())
	}
	return ""
}

// inNamespace gives an exception without a namespace the given one.
func inNamespace(object map[string]any, namespace string) {
	if namespace != "" && text(object, "metadata", "namespace") == "" {
		exception.Path{"metadata", "namespace"}.Set(object, namespace)
	}
}

// key returns a text that is equal for equal objects.
func key(object map[string]any) string {
	raw, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	return string(raw)
}

func groupKind(object map[string]any) exception.GroupKind {
	group, _, versioned := strings.Cut(text(object, "apiVersion"), "/")
	if !versioned {
		group = ""
	}
	return exception.GroupKind{Group: group, Kind: text(object, "kind")}
}

func isException(object map[string]any) bool { return groupKind(object).IsException() }

// identity returns the identity of an exception in the API server.
func identity(object map[string]any) exception.Identity {
	return exception.Identity{GroupKind: groupKind(object),
		Namespace: text(object, "metadata", "namespace"), Name: text(object, "metadata", "name")}
}
