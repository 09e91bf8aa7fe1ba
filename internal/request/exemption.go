package request

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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

const (
	longestSlug = 24 // bytes per part of a name
	digestBytes = 5
)

// name returns the name of an exception: workload, policy or number of policies, and a digest of
// the exemption. The statements do not change it, so a request with a better reason has the same
// name.
func (e *exemption) name() (string, error) {
	c := e.causes[0]
	text, err := json.Marshal([]any{c.of[0].kind().Group, e.spec}) // with sorted keys
	if err != nil {
		return "", fmt.Errorf("name an exception: %w", err)
	}
	from := c.of[0].ref
	if n := len(e.policies()); n > 1 {
		from = fmt.Sprintf("%d-policies", n)
	}
	sum := sha256.Sum256(text)
	return slug(c.workload.Name) + "-" + slug(from) + "-" + hex.EncodeToString(sum[:digestBytes]), nil
}

// slug converts a name to a part of a DNS label.
func slug(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, text)
	text = strings.Trim(text[:min(len(text), longestSlug)], "-")
	if text == "" {
		return "x"
	}
	return text
}

// words describes the exemption in one sentence.
func (e *exemption) words() string {
	var whats []string
	for _, c := range e.causes {
		whats = append(whats, c.what())
	}
	return "exempts " + e.causes[0].who() + " from " + joined(whats)
}

func (c *cause) who() string {
	var who []string
	for _, t := range c.targets {
		switch {
		case t.patterns == nil:
			who = append(who, t.String())
		case t.Kind == kindPod:
			who = append(who, "its Pods")
		default:
			who = append(who, "its "+t.Kind+"s")
		}
	}
	if len(who) > 0 && c.targets[0].patterns != nil {
		who[0] = strings.Replace(who[0], "its", "the", 1) + " of " + c.workload.String()
	}
	return joined(who)
}

func (c *cause) what() string {
	part := "rules " + joined(c.rules)
	switch {
	case !c.of[0].hasRules():
		part = "the whole"
	case len(c.rules) == 1:
		part = "rule " + c.rules[0]
	}
	text := fmt.Sprintf("%s of %s %s", part, c.of[0].PolicyKind, c.of[0].Policy)
	if len(c.controls) > 0 {
		var controls []string
		for _, control := range c.controls {
			if len(control.Images) > 0 {
				controls = append(controls, fmt.Sprintf("%s (%s)", control.Name, strings.Join(control.Images, ", ")))
				continue
			}
			controls = append(controls, control.Name)
		}
		text += ", as to " + joined(controls)
	}
	return text
}

func joined(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:len(items)-1], ", ") + " and " + items[len(items)-1]
}
