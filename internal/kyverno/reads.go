package kyverno

import "slices"

// reads returns the coverage of a part in an unknown form: possible in each dimension that the part
// can read, unmentioned in the others. An unknown field counts as read. A word counts in any
// position, also after a dot or as a loop variable, which is only stricter.
func reads(parts []token) coverage {
	c := silent
	for i, t := range parts {
		if t.kind != word {
			continue
		}
		switch p := pathFrom(parts, i); t.text {
		case "object", "oldObject":
			c = c.and(p.ofObject())
		case "request":
			c = c.and(p.ofRequest())
		case "namespaceObject":
			c = c.and(p.ofNamespace())
		case "variables": // of the policy, computed from any field
			c = coverage{}.and(c)
		}
	}
	return c
}

// looks returns the coverage of a part that reads some dimensions.
func looks(at ...int) coverage {
	c := silent
	for _, dimension := range at {
		c[dimension] = possible
	}
	return c
}

func (p *fieldPath) ofObject() coverage {
	switch {
	case p.isNull: // distinguishes operations
		return silent
	case p.isAsked && slices.Contains([]string{"kind", "apiVersion", "metadata"}, p.step(0)): // every object has these
		return silent
	case len(p.steps) == 0:
		return coverage{}
	case p.step(0) != "metadata":
		// The presence of a field distinguishes kinds. Reading a field below it does not, because
		// that is an error if the field is missing.
		if len(p.steps) < 2 || !p.isPlain {
			return looks(exceptions)
		}
		return silent
	}
	switch p.step(1) {
	case "annotations":
		return silent
	case "labels": // the labels of a Namespace contain its name
		if p.isLabel() {
			return silent
		}
		return looks(names)
	case "name", "generateName":
		return looks(names)
	case "namespace":
		return looks(namespaces)
	}
	return coverage{}
}

func (p *fieldPath) ofRequest() coverage {
	switch p.step(0) {
	case "object", "oldObject": // their fields are checked separately
		return silent
	case "operation", "userInfo", "dryRun", "uid":
		return silent
	case "namespace":
		return looks(namespaces)
	case "name":
		return looks(names)
	case "":
		return coverage{}
	}
	return looks(exceptions)
}

func (p *fieldPath) ofNamespace() coverage {
	if p.isNull || p.step(0) == "metadata" && (p.step(1) == "annotations" || p.isLabel() ||
		p.isAsked && p.step(1) == "labels") {
		return silent
	}
	return looks(namespaces)
}
