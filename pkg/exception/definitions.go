package exception

import (
	"fmt"
	"slices"
)

// Definitions are the custom resource definitions of PolicyException in a cluster. They replace
// those of Kyverno 1.19.1. They do not change after [ReadDefinitions].
type Definitions struct {
	served map[string]map[string]*schema // by group and version
}

// ReadDefinitions reads the CustomResourceDefinitions of PolicyException, of both groups, from
// documents, and ignores all others. It returns an error if there is none, if one has another
// version than apiextensions.k8s.io/v1, or if one has a constraint that polex does not know: polex
// could accept a document that the cluster rejects.
func ReadDefinitions(docs []*Document) (*Definitions, error) {
	d := &Definitions{served: map[string]map[string]*schema{}}
	for _, doc := range docs {
		group := doc.Text("spec", "group")
		if doc.GroupKind().Kind != "CustomResourceDefinition" || !(GroupKind{group, doc.Text("spec", "names", "kind")}).IsException() {
			continue
		}
		if doc.APIVersion() != "apiextensions.k8s.io/v1" {
			return nil, fmt.Errorf("%s: a definition of %q, expected apiextensions.k8s.io/v1", doc.Position(), doc.APIVersion())
		}
		if d.served[group] == nil {
			d.served[group] = map[string]*schema{}
		}
		versions, _ := doc.Lookup("spec", "versions")
		list, _ := versions.([]any)
		for i, item := range list {
			version, _ := item.(map[string]any)
			name, _ := version["name"].(string)
			if served, _ := version["served"].(bool); !served {
				continue
			}
			wrapper, _ := version["schema"].(map[string]any)
			openAPI, _ := wrapper["openAPIV3Schema"].(map[string]any)
			path := Path{"spec", "versions", i, "schema", "openAPIV3Schema"}
			s, err := fromOpenAPI(openAPI, path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", doc.PositionOf(path), err)
			}
			d.served[group][name] = s.ofException()
		}
	}
	if len(d.served) == 0 {
		return nil, fmt.Errorf("found no CustomResourceDefinition of %s", Kind)
	}
	return d, nil
}

// ofException returns the schema of a whole document. A definition leaves the metadata to the API
// server.
func (s *schema) ofException() *schema {
	for _, known := range []field{must("apiVersion", text()), must("kind", text()), must("metadata", metadata())} {
		if i := slices.IndexFunc(s.fields, func(f field) bool { return f.name == known.name }); i >= 0 {
			s.fields[i] = known
		} else {
			s.fields = append(s.fields, known)
		}
	}
	return s
}

// of returns the schema of an API version. For an unknown version it returns the schema of a served
// one, so that the rest of a document is checked; nil if the cluster has no version of the group.
func (d *Definitions) of(group, version string) (s *schema, known bool) {
	if s, known = d.served[group][version]; known {
		return s, true
	}
	for _, name := range d.versions(group) {
		s = d.served[group][name]
	}
	return s, false
}

func (d *Definitions) versions(group string) []string {
	var names []string
	for name := range d.served[group] {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
