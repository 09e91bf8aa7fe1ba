package request

import (
	"encoding/json"
	"maps"
	"slices"
)

// exemption is what one exception exempts: the rules of its causes, for the resources that
// all of them are for.
type exemption struct {
	causes    []*cause
	namespace string
	spec      map[string]any
}

// policiesKeys are where a spec names policies.
var policiesKeys = []string{"exceptions", "policyRefs"}

// policies returns the entries of the policies.
func (e *exemption) policies() []any {
	for _, key := range policiesKeys {
		if list, there := e.spec[key].([]any); there {
			return list
		}
	}
	return nil
}

// mergeExemptions puts exemptions of the same resources into one, up to a number of
// policies; 0 sets no limit. An exception exempts every resource of its match from every
// rule that it names, as to its controls of Pod security: only if all of these are the same
// do several exceptions exempt together what one does.
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

// add adds the policies of another exemption, unless they are too many.
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
