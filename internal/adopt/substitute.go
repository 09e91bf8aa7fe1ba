package adopt

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"sigs.k8s.io/yaml"

	"github.com/polex-dev/polex/pkg/exception"
)

// variables are the variables that a Flux Kustomization substitutes.
type variables struct {
	values map[string]string
	given  map[string]string // by --substitute; overrides all others
	hidden map[string]string // the source of each variable without a known value
	// unknown is a source of values outside the repository. A variable that no later source sets
	// may have any value.
	unknown string
}

// variables reads postBuild in Flux's order: the entries of substituteFrom, then substitute.
func (r *repository) variables(flux map[string]any) variables {
	v := variables{values: map[string]string{}, given: r.options.Substitute, hidden: map[string]string{}}
	for _, from := range list(flux, "spec", "postBuild", "substituteFrom") {
		kind, name := text(from, "kind"), text(from, "name")
		data, differs := r.data(kind, name, text(flux, "metadata", "namespace"))
		if data == nil {
			v.unknown = kind + " " + name
			// The unknown source may replace earlier values.
			clear(v.values)
		}
		for key, value := range data {
			switch delete(v.values, key); {
			case kind == "Secret":
				v.hidden[key] = "Secret " + name
				continue
			case differs[key]:
				v.hidden[key] = fmt.Sprintf("%s %s, which has several values in the repository", kind, name)
				continue
			}
			delete(v.hidden, key)
			v.values[key] = fmt.Sprint(value)
		}
	}
	for key, value := range mapping(flux, "spec", "postBuild", "substitute") {
		v.values[key] = fmt.Sprint(value)
	}
	return v
}

// data returns the data of the ConfigMaps or Secrets with a name, or nil if there are none. Each
// cluster may have its own. differs contains the keys whose values differ between them. SOPS
// encrypts the values of a Secret, but not its keys.
func (r *repository) data(kind, name, namespace string) (data map[string]any, differs map[string]bool) {
	differs = map[string]bool{}
	for _, object := range r.values {
		own := text(object, "metadata", "namespace")
		if text(object, "kind") != kind || text(object, "metadata", "name") != name || own != "" && namespace != "" && own != namespace {
			continue
		}
		next := map[string]any{}
		maps.Copy(next, mapping(object, "data"))
		maps.Copy(next, mapping(object, "stringData"))
		if data == nil {
			data = next
			continue
		}
		for key, value := range next {
			before, there := data[key]
			differs[key] = differs[key] || !there || fmt.Sprint(before) != fmt.Sprint(value)
			data[key] = value
		}
		for key := range data {
			_, there := next[key]
			differs[key] = differs[key] || !there
		}
	}
	return data, differs
}

// substituteKey is the label or annotation that disables Flux's substitution for an object.
const substituteKey = fluxGroup + "/substitute"

// UnknownVariableError lists variables without a known value.
type UnknownVariableError struct {
	Names []string
	From  string
}

// Error returns the names of the variables and their source.
func (e *UnknownVariableError) Error() string {
	return fmt.Sprintf("the value of %s is not known: it is from %s", strings.Join(e.Names, ", "), e.From)
}

// replaces finds Flux's ${name/old/new}, which can create a text of any length.
var replaces = regexp.MustCompile(`\$\{[\pL\pN_]*/`)

// apply substitutes variables in the text of an object as Flux does, unless the object disables it.
func (v variables) apply(in map[string]any) (map[string]any, error) {
	text, err := yaml.Marshal(in)
	if err != nil || len(v.values)+len(v.given)+len(v.hidden) == 0 && v.unknown == "" || !strings.Contains(string(text), "${") ||
		at(in, "metadata", "labels", substituteKey) == "disabled" || at(in, "metadata", "annotations", substituteKey) == "disabled" {
		return in, err
	}
	missing, from, length := map[string]bool{}, "", len(text)
	if replaces.Match(text) {
		return nil, errors.New("polex adopt does not substitute ${NAME/OLD/NEW}")
	}
	result, err := envsubst.Eval(string(text), func(name string) (string, bool) {
		value, ok := v.given[name]
		if !ok {
			value, ok = v.values[name]
		}
		if secret, isHidden := v.hidden[name]; !ok && (isHidden || v.unknown != "") {
			missing[name], from = true, cmp.Or(secret, v.unknown)
		}
		if length += len(value); length > exception.MaxDocument {
			return "", true
		}
		return strings.ReplaceAll(value, "\n", ""), true // Flux replaces an unknown variable with an empty text
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("substitute variables: %w", err)
	case length > exception.MaxDocument:
		return nil, fmt.Errorf("after substitution, it is larger than %d KiB", exception.MaxDocument>>10)
	case len(missing) > 0:
		return nil, &UnknownVariableError{Names: slices.Sorted(maps.Keys(missing)), From: from}
	}
	out, err := object([]byte(result))
	if err != nil {
		return nil, fmt.Errorf("after substitution: %w", err)
	}
	return out, nil
}
