package request

import (
	"encoding/json"
	"maps"
	"slices"
)

// exemption is the content of one exception: the rules of its causes, for resources that all causes
// share.
type exemption struct {
	causes    []*cause
	namespace string
	spec      map[string]any
}

// policiesKeys are the keys of a spec that list policies.
var policiesKeys = []string{"exceptions", "policyRefs"}

// policies returns the list entries of the policies.
func (e *exemption) policies() []any {
	for _, key := range policiesKeys {
		if list, exists := e.spec[key].([]any); exists {
			return list
		}
	}
	return nil
}

// mergeExemptions merges exemptions of the same resources, up to a number of policies; 0 means no
// limit. An exception exempts all its resources from all its rules, for all its Pod security
// controls. Exceptions can therefore only be merged if resources and controls are equal.
func mergeExemptions(all []*exemption, most int) []*exemption {
	last := map[string]*exemption{}
	var merged []*exemption
	for _, e := range all {
		rest := maps.Clone(e.spec)
		for _, key := range policiesKeys {
			delete(rest, key)
		}
		scope, err := json.Marshal([]any{e.causes[0].of[0].kind(), e.namespace, rest})
		into := last[string(scope)]
		if err != nil || into == nil || !into.add(e, most) {
			merged = append(merged, e)
			last[string(scope)] = e
		}
	}
	return merged
}

// add adds the policies of another exemption, unless there would be too many.
func (e *exemption) add(other *exemption, most int) bool {
	entries := slices.Concat(e.policies(), other.policies())
	if most > 0 && len(entries) > most {
		return false
	}
	for _, key := range policiesKeys {
		if e.spec[key] != nil {
			e.spec[key] = entries
		}
	}
	e.causes = append(e.causes, other.causes...)
	return true
}
