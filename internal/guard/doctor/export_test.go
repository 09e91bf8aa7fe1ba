package doctor

import (
	"maps"
	"slices"
)

var PoliciesIn = policiesIn

// ProtectedGroups are the groups in policies/guard/protect/definitions.yaml.
func ProtectedGroups() []string {
	groups := (&checkup{}).groups()
	maps.DeleteFunc(groups, func(_ string, o Outcome) bool { return o != Wrong })
	return slices.Sorted(maps.Keys(groups))
}
