package rules_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// attacks are the numbers of the attacks that the threat model must answer.
var attacks = []string{"88", "89", "90", "91", "92", "93", "94", "96", "97",
	"99", "100", "101", "102", "103", "105", "106", "107", "108", "109", "110", "111", "112", "113", "114", "115", "116",
	"117", "118", "119", "120", "121", "122", "123", "124", "125"}

// TestThreatModel: each attack has an answer, and the tests that it names exist.
func TestThreatModel(t *testing.T) {
	all := files(t)
	var met []string
	for line := range strings.SplitSeq(string(read(t, "docs/explanation/threat-model.md")), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		number := strings.TrimSpace(cells[0])
		last := strings.TrimSpace(cells[len(cells)-1])
		if len(cells) < 3 || last == "shown by" || last == "---" {
			continue
		}
		if regexp.MustCompile(`^\d+$`).MatchString(number) {
			met = append(met, number)
		}
		shown := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(last, -1)
		if len(shown) == 0 {
			t.Errorf("nothing shows the answer to %s", number)
		}
		for _, test := range shown {
			if !exists(t, all, test[1]) {
				t.Errorf("%s: there is no test %q", number, test[1])
			}
		}
	}
	if !slices.Equal(met, attacks) {
		t.Errorf("the threat model answers %q, not %q", met, attacks)
	}
}

// exists reports whether there is a script with this path, or a test written as "folder TestName".
func exists(t *testing.T, all []string, test string) bool {
	t.Helper()
	folder, name, isFunction := strings.Cut(test, " ")
	if !isFunction {
		return strings.HasSuffix(test, ".txtar") && slices.Contains(all, test)
	}
	return slices.ContainsFunc(all, func(file string) bool {
		rest, inside := strings.CutPrefix(file, folder+"/")
		return inside && !strings.Contains(rest, "/") && strings.HasSuffix(rest, "_test.go") && strings.Contains(string(read(t, file)), "\nfunc "+name+"(t *testing.T) {")
	})
}
