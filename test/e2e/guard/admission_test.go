//go:build e2e

package guard

import "testing"

// TestAdmission: what was not signed is refused with its reason, what was signed
// is admitted, through every version that is served.
func TestAdmission(t *testing.T) {
	settings{}.run(t).register(t)
	ns := namespace(t)
	for _, target := range served {
		target.Namespace = ns
		t.Run(target.Group+"-"+target.Version, func(t *testing.T) {
			text := draft{name: "a-" + target.Version, namespace: ns}.in(target)
			create(t, target, text).refusedFor(t, "unsigned")
			create(t, target, seal(t, text)[0]).want(t, 201)
		})
	}
}
