package request

import (
	"fmt"
	"strings"
)

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
	text := fmt.Sprintf("%s of %s %s", plural("rule", c.rules), c.of[0].PolicyKind, c.of[0].Policy)
	if !c.of[0].hasRules() {
		text = fmt.Sprintf("the whole of %s %s", c.of[0].PolicyKind, c.of[0].Policy)
	}
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

func plural(noun string, names []string) string {
	if len(names) == 1 {
		return noun + " " + names[0]
	}
	return noun + "s " + joined(names)
}

func joined(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:len(items)-1], ", ") + " and " + items[len(items)-1]
}
