package kyverno

import "slices"

// reads returns the coverage of a part in a form that is not recognised: possible where
// it can look at what it may then select, unmentioned where it cannot. What is not known
// here is looked at. A name counts wherever it stands, behind a dot or as the variable
// of a loop: that only makes more of it.
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
		case "variables": // the policy's, made of any of them
			c = coverage{}.and(c)
		}
	}
	return c
}

// looks is the coverage of what looks at some dimensions.
func looks(at ...int) coverage {
	c := silent
	for _, dimension := range at {
		c[dimension] = possible
	}
	return c
}

func (p *fieldPath) ofObject() coverage {
	switch {
	case p.isNull: // tells operations apart
		return silent
	case p.isAsked && slices.Contains([]string{"kind", "apiVersion", "metadata"}, p.step(0)): // every object has them
		return silent
	case len(p.steps) == 0:
		return coverage{}
	case p.step(0) != "metadata":
		// Whether a field is there tells kinds apart. Reading what is below it does not
		// ask: it is an error where the field is not.
		if len(p.steps) < 2 || !p.isPlain {
			return looks(exceptions)
		}
		return silent
	}
	switch p.step(1) {
	case "annotations":
		return silent
	case "labels": // those of a Namespace have its name
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
	case "object", "oldObject": // looked at for themselves
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
	if p.isNull || p.step(0) == "metadata" && (p.step(1) == "annotations" || p.isLabel() || p.isAsked && p.step(1) == "labels") {
		return silent
	}
	return looks(namespaces)
}
