package adopt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
)

// variables are what a Flux Kustomization substitutes.
type variables struct {
	values map[string]string
	given  map[string]string // by --substitute, before all others
	// unknown names a source of values that is not in the repository: a variable that no
	// other source has may have any value.
	unknown string
}

// variables reads postBuild as Flux does: substituteFrom in its order, then substitute.
func (r *repository) variables(flux map[string]any) variables {
	v := variables{values: map[string]string{}, given: r.options.Substitute}
	for _, from := range list(flux, "spec", "postBuild", "substituteFrom") {
		kind, name := text(from, "kind"), text(from, "name")
		data, known := r.configMap(name, text(flux, "metadata", "namespace"))
		if kind != "ConfigMap" || !known {
			v.unknown = fmt.Sprintf("%s %s", kind, name)
			// It may replace what was read before.
			clear(v.values)
			continue
		}
		for key, value := range data {
			v.values[key] = fmt.Sprint(value)
		}
	}
	for key, value := range mapping(flux, "spec", "postBuild", "substitute") {
		v.values[key] = fmt.Sprint(value)
	}
	return v
}

// configMap returns the data of the one ConfigMap of a name, or false where there is none or
// where several differ.
func (r *repository) configMap(name, namespace string) (map[string]any, bool) {
	var data map[string]any
	found := false
	for _, c := range r.configMaps {
		own := text(c, "metadata", "namespace")
		if text(c, "metadata", "name") != name || own != "" && namespace != "" && own != namespace {
			continue
		}
		next := mapping(c, "data")
		if found && !maps.EqualFunc(data, next, func(a, b any) bool { return a == b }) {
			return nil, false
		}
		data, found = next, true
	}
	return data, found
}

// substituteKey is the label or annotation that keeps Flux from substituting in an object.
const substituteKey = fluxGroup + "/substitute"

// UnknownVariableError names the variables whose values the repository does not have.
type UnknownVariableError struct {
	Names []string
	From  string
}

// Error names them.
func (e *UnknownVariableError) Error() string {
	names := strings.Join(e.Names, ", ")
	if e.From == "" {
		return "the value of " + names + " is not known"
	}
	return fmt.Sprintf("the value of %s is in %s, which is not in the repository", names, e.From)
}

// apply substitutes in an object as Flux does: in its text, unless it says otherwise.
func (v variables) apply(b built) (map[string]any, error) {
	if len(v.values)+len(v.given) == 0 && v.unknown == "" ||
		text(b.object, "metadata", "labels", substituteKey) == "disabled" || text(b.object, "metadata", "annotations", substituteKey) == "disabled" {
		return b.object, nil
	}
	missing := map[string]bool{}
	result, err := envsubst.Eval(string(b.yaml), func(name string) (string, bool) {
		value, ok := v.given[name]
		if !ok {
			value, ok = v.values[name]
		}
		if !ok && v.unknown != "" {
			missing[name] = true
		}
		return strings.ReplaceAll(value, "\n", ""), true // an unknown one is empty to Flux
	})
	if err != nil {
		return nil, fmt.Errorf("substitute variables: %w", err)
	}
	if len(missing) > 0 {
		return nil, &UnknownVariableError{Names: slices.Sorted(maps.Keys(missing)), From: v.unknown}
	}
	out, err := object([]byte(result))
	if err != nil {
		return nil, fmt.Errorf("after substitution: %w", err)
	}
	untag(out)
	return out, nil
}
