package lifetime

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/polex-dev/polex/pkg/exception"
)

// Cron returns the schedule in UTC at which Kyverno checks an expiry: its minute, rounded up. A
// schedule has no year.
func Cron(end time.Time) string {
	minute := end.UTC().Truncate(time.Minute)
	if minute.Before(end) {
		minute = minute.Add(time.Minute)
	}
	return fmt.Sprintf("%d %d %d %d *", minute.Minute(), minute.Hour(), minute.Day(), minute.Month())
}

// CleanupForm is the kind of a policy that makes Kyverno delete an exception.
type CleanupForm string

// The kinds of cleanup policies. Kyverno 1.17 deprecates the second.
const (
	DeletingPolicy       CleanupForm = "DeletingPolicy"       // policies.kyverno.io/v1
	ClusterCleanupPolicy CleanupForm = "ClusterCleanupPolicy" // kyverno.io/v2
)

// dnsName matches the names of exceptions and namespaces that the API server allows. Such a name
// has no special characters of YAML, CEL or JMESPath.
var dnsName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// CleanupPolicy returns a YAML policy that makes Kyverno delete an exception after its expiry. It
// applies to the object of that name only while the object states this expiry. Otherwise the yearly
// schedule would later delete a new object of that name.
//
// An exception without an expiry, name or namespace is an *[Error]. A past expiry is too, because
// the schedule would wait for a year.
func CleanupPolicy(d *exception.Document, form CleanupForm, terms Terms, now time.Time) ([]byte, error) {
	l, err := Of(d, terms)
	if err != nil {
		return nil, err
	}
	switch id := d.Identity(); {
	case !dnsName.MatchString(id.Name):
		return nil, &Error{Path: exception.Path{"metadata", "name"}, Message: fmt.Sprintf("%q is not the name of an exception", id.Name)}
	case !dnsName.MatchString(id.Namespace):
		return nil, &Error{Path: exception.Path{"metadata", "namespace"}, Message: fmt.Sprintf("%q is not a namespace", id.Namespace),
			Hint: "a cluster-scoped policy requires the namespace of the exception"}
	case !dnsName.MatchString(d.Version()):
		return nil, &Error{Path: exception.Path{"apiVersion"}, Message: fmt.Sprintf("%q is not a version", d.Version())}
	case l.ExpiresAt.IsZero() || len(l.End.Path) == 0:
		return nil, &Error{Path: exception.Path{"metadata"}, Message: "it has no expiry time (polex.dev/expires-at)",
			Hint: "sign it first: polex-sign makes a time of the duration"}
	case !now.Before(l.ExpiresAt):
		return nil, &Error{Path: l.End.Path, Message: fmt.Sprintf("it expired at %s", l.End.Text),
			Hint: "delete it"}
	}
	end := ending{id: d.Identity(), version: d.Version(), states: l.End, at: wholeSecond(l.ExpiresAt)}
	switch form {
	case DeletingPolicy:
		return []byte(end.deletingPolicy()), nil
	case ClusterCleanupPolicy:
		return []byte(end.clusterCleanupPolicy()), nil
	default:
		return nil, fmt.Errorf("%q is not a kind of cleanup policy", form)
	}
}

// ending is a checked exception with its expiry in whole seconds. Its texts are names and times
// without special characters of an expression.
type ending struct {
	id      exception.Identity
	version string
	states  exception.Statement
	at      time.Time
}

// name returns the name of the policy. Each exception has one name, so that the policy for a later
// expiry replaces the earlier one. No exception may exempt resources named polex-*. Kyverno allows
// 63 characters, and no part may end in a dash or a dot.
func (n ending) name() string {
	id := n.id
	sum := sha256.Sum256([]byte(id.String()))
	start := strings.TrimRight(id.Name[:min(len(id.Name), 32)], "-.")
	return "polex-cleanup-" + start + "-" + hex.EncodeToString(sum[:8])
}

func (n ending) head(apiVersion string, form CleanupForm) string {
	return fmt.Sprintf(`apiVersion: %s
kind: %s
metadata:
  name: %s
  annotations:
    polex.dev/about: %s
spec:
  # In UTC. The schedule repeats every year, and the conditions name the year.
  schedule: %s
`, apiVersion, form, n.name(), quoted(n.id.String()), quoted(Cron(n.at)))
}

func (n ending) deletingPolicy() string {
	id, field := n.id, "object"
	var has []string
	for _, step := range n.states.Path {
		key := fmt.Sprint(step)
		if !plainField.MatchString(key) {
			has = append(has, fmt.Sprintf("'%s' in %s", key, field))
			field += "['" + key + "']"
			continue
		}
		field += "." + key
		has = append(has, "has("+field+")")
	}
	states := fmt.Sprintf("%s && %s == '%s'", strings.Join(has, " && "), field, n.states.Text)
	return n.head("policies.kyverno.io/v1", DeletingPolicy) + fmt.Sprintf(`  matchConstraints:
    resourceRules:
      - apiGroups: [%s]
        apiVersions: [%s]
        resources: [policyexceptions]
        operations: ["*"]
  conditions:
    - name: this-exception
      expression: %s
    - name: states-this-end
      expression: %s
    - name: has-ended
      expression: %s
`, id.Group, n.version,
		quoted(fmt.Sprintf("object.metadata.namespace == '%s' && object.metadata.name == '%s'", id.Namespace, id.Name)),
		quoted(states), quoted(fmt.Sprintf("time.now() >= timestamp('%s')", n.at.Format(time.RFC3339))))
}

func (n ending) clusterCleanupPolicy() string {
	id, states := n.id, "target"
	for _, step := range n.states.Path {
		key := fmt.Sprint(step)
		if !plainField.MatchString(key) {
			key = strconv.Quote(key)
		}
		states += "." + key
	}
	// One expression compares both values, because outside of it Kyverno would evaluate a statement
	// of the exception as an expression. The condition is "not before", because in the same second
	// neither time is before the other.
	ended := fmt.Sprintf("{{ (%s || '') == '%s' && !time_before(time_now_utc(), '%s') }}", states, n.states.Text, n.at.Format(time.RFC3339))
	return n.head("kyverno.io/v2", ClusterCleanupPolicy) + fmt.Sprintf(`  match:
    any:
      - resources:
          kinds: [%s/%s/%s]
          namespaces: [%s]
          names: [%s]
  conditions:
    all:
      - key: %s
        operator: Equals
        value: true
`, id.Group, n.version, id.Kind, quoted(id.Namespace), quoted(id.Name), quoted(ended))
}

// plainField matches field names that CEL and JMESPath read after a dot.
var plainField = regexp.MustCompile(`^[A-Za-z]+$`)

// quoted returns an ASCII text of names, times and expressions as YAML.
func quoted(text string) string { return strconv.Quote(text) }
