package kyverno

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
)

// The forms of parts, as [Parts] writes them.
var (
	branches  = regexp.MustCompile(`\|\||[^.\[] \? `) // the part has cases
	asked     = regexp.MustCompile(`^! ?has \(.*\)$|^has \([^()]*\)$`)
	wholeName = regexp.MustCompile(
		`^(?:object \. metadata \. name (?:== "|in \[ ")|"[^"]*" == object \. metadata \. name$)`)
	placed = regexp.MustCompile(`^(?:object \. metadata|request) \. (?:namespace|kind) |^object \. kind `)
	// testsKey is a part that is an error without labels or annotations.
	testsKey = regexp.MustCompile(`^(?:has \( object \. metadata \. (labels|annotations) \. \w+ \)|` +
		`"[^"]*" in object \. metadata \. (labels|annotations))$`)
	ofKey = regexp.MustCompile(`\bobject \. metadata \. (labels|annotations)` +
		`(?: \. (\w+)(?: [^(]|$)| \[ ("[^"]*") \])`)
	ofMeta = regexp.MustCompile(`\bobject \. metadata \. (\w+)(?: [^(]|$)`)
	ofSpec = regexp.MustCompile(`(\bhas \( )?\bobject \. (spec|status)((?: \. \w+)+)( \()?`)
	// ofContainer is the securityContext of a container. The API server writes only that of a Pod.
	ofContainer = regexp.MustCompile(`(?:(?:^|[^.] )\w+|\]) \. securityContext \. \w`)
)

// alwaysInSpec are the fields of spec that Pods or their controllers always have.
var alwaysInSpec = []string{"containers", "template", "replicas", "selector", "strategy", "schedule", "jobTemplate"}

// alwaysInMetadata are the fields of metadata that are no error: every object has them, or they are judged otherwise.
var alwaysInMetadata = []string{"name", "namespace", "uid", "creationTimestamp", "resourceVersion", "labels",
	"annotations"}

// MayFail returns a reason why the match conditions are an error for other objects than those that
// they exempt, and a hint; or "". Kyverno 1.19 then denies these objects, even if they obey the
// policy. && hides an error if another part is false. targets are those of the policies, if known.
func (e *Exception) MayFail(targets []Target) (message, hint string) {
	deletes, namespaced := false, len(targets) > 0
	for _, t := range targets {
		kinds := t.kinds()
		deletes = deletes || t.deletes && !strings.HasSuffix(t.Policy.Kind, "DeletingPolicy") // that has no requests
		namespaced = namespaced && len(kinds) > 0 && !slices.ContainsFunc(kinds,
			func(kind string) bool { // it has no namespace, or is not known
				return manifest.IsClusterScoped("*", kind) || !slices.Contains(manifest.Kinds(), kind)
			})
	}
	parts := flat(e.parts(e.Conditions))
	has := func(part string) bool { return slices.Contains(parts, part) }
	anyPart := func(form func(string) bool) bool { return slices.ContainsFunc(parts, form) }
	asks := e.Operations()
	while := func(operation string) bool { // the parts are evaluated in this operation
		return (asks == nil || slices.Contains(asks, operation)) && !has(`request . operation != "`+operation+`"`)
	}
	if deletes && while("DELETE") && !has("object != null") && anyPart(func(part string) bool {
		return !branches.MatchString(part) && !asked.MatchString(part) && strings.Contains(" "+part, " object . ")
	}) {
		return "the policy is about deletions too, which have no object: that makes the condition an error",
			"add request.operation != 'DELETE' && before it"
	}
	if anyPart(wholeName.MatchString) || anyPart(func(part string) bool { return strings.Contains(part, "hasValue") }) {
		return "", ""
	}
	tested := func(field string) bool { return has("has ( object . " + strings.ReplaceAll(field, ".", " . ") + " )") }
	without := func(what, field string) (string, string) {
		return "an object without " + what + " makes the condition an error",
			"add has(object." + field + ") && before it"
	}
	for _, part := range parts {
		if found := testsKey.FindStringSubmatch(part); found != nil && !tested("metadata."+found[1]+found[2]) {
			return without(found[1]+found[2], "metadata."+found[1]+found[2])
		}
		if branches.MatchString(part) {
			continue
		}
		if field := untested(part, tested); field != "" {
			return without(field, field)
		}
		if asked.MatchString(part) {
			continue
		}
		reads := func(variable string) bool { return strings.Contains(" "+part, " "+variable+" . ") }
		switch meta, key := ofMeta.FindStringSubmatch(part), ofKey.FindStringSubmatch(part); {
		case meta != nil && !slices.Contains(alwaysInMetadata, meta[1]) && !tested("metadata."+meta[1]):
			return without("metadata."+meta[1], "metadata."+meta[1])
		case key != nil && !tested("metadata."+key[1]+"."+key[2]) &&
			!has(cmp.Or(key[3], strconv.Quote(key[2]))+" in object . metadata . "+key[1]):
			name := cmp.Or(key[3], strconv.Quote(key[2]))
			return fmt.Sprintf("an object without the key %s in its %s makes the condition an error", name, key[1]),
				fmt.Sprintf("write object.metadata.?%s[?'%s'].orValue('')", key[1], strings.Trim(name, `"`))
		case ofContainer.MatchString(part) && !strings.Contains(part, ". securityContext )"):
			return "a container without securityContext makes the condition an error",
				"add has(c.securityContext) && before it"
		case reads("oldObject") && while("CREATE"):
			return "a new object has no oldObject, which makes the condition an error",
				"add request.operation == 'UPDATE' && before it"
		case reads("namespaceObject") && !namespaced && !has("namespaceObject != null") && !anyPart(placed.MatchString):
			return "an object in no namespace has no namespaceObject, which makes the condition an error",
				"add namespaceObject != null && before it"
		}
	}
	return "", ""
}

// untested returns a field that a part reads, or for which it tests a field below, and that other parts do not test; or
// "".
func untested(part string, tested func(string) bool) string {
	for _, found := range ofSpec.FindAllStringSubmatch(part, -1) {
		steps := strings.Split(found[3], " . ")[1:]
		asked := found[1] != ""
		if asked || found[4] != "" { // the last step is a test, or a method
			steps = steps[:len(steps)-1]
		}
		if len(steps) == 0 || slices.Contains(alwaysInSpec, steps[0]) ||
			asked && (found[2] == "status" || steps[0] == "securityContext") {
			continue // the API server writes an empty status, and the securityContext of a Pod
		}
		if field := found[2] + "." + steps[0]; !tested(field) {
			return field
		}
	}
	return ""
}

// flat returns the parts with those of nested brackets.
func flat(parts []string) (all []string) {
	for _, part := range parts {
		if inner := Parts([]string{part}); len(inner) > 1 {
			all = append(all, flat(inner)...)
			continue
		}
		all = append(all, part)
	}
	return all
}

// plainKeys matches the key of a label or annotation in an expression that fails without it.
var plainKeys = regexp.MustCompile(`\bobject\.metadata\.(labels|annotations)` +
	`(?:\.(\w+)\b|\[(?:'([^']*)'|"([^"]*)")\])( == | in )`)

// keyIs matches a part that compares the key with texts, none of them empty.
var keyIs = regexp.MustCompile(`^object \. metadata \. (?:labels|annotations)(?: \. \w+| \[ "[^"]*" \]) ` +
	`(?:== "[^"]+"|in \[ "[^"]+"(?: , "[^"]+")* \])$`)

// WithOptionalKeys returns an expression in which labels and annotations that do not exist are empty
// and no error. It changes only comparisons that && joins, which are false then.
func WithOptionalKeys(expression string) string {
	for _, part := range Parts([]string{expression}) {
		if ofKey.MatchString(part) && !keyIs.MatchString(part) {
			return expression
		}
	}
	return plainKeys.ReplaceAllString(expression, "object.metadata.?$1[?'$2$3$4'].orValue('')$5")
}
