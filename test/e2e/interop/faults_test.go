//go:build e2e

package interop

import (
	"strings"
	"testing"
)

// TestFaults runs the fault tests of pkg/sign (Fulcio, both logs, the timestamp authority and the
// token endpoint) with the real Sigstore behind the faults.
func TestFaults(t *testing.T) {
	before := treeSize(t)
	passed := goTest(t, variables(t), "^Test(Certificate|Log|LogV2|Token)Faults(Pass)?$/./^named$|"+
		"^Test(SomebodyElsesEntry|LogNeverAnswers)$/./^named$|"+
		"^Test(TokenEndsHalfWay|CertificateOfAStranger|LoggedAndNotThereYet)$/^named$", "./pkg/sign")
	named := 0
	for _, test := range passed {
		if strings.HasSuffix(test, "/named") {
			named++
		}
	}
	if t.Logf("%d faults", named); named < 90 {
		t.Errorf("only %d passed: %q", named, passed)
	}
	if grown := treeSize(t) - before; grown < 20 {
		t.Errorf("the real log has %d entries more, so it was hardly asked", grown)
	}
}
