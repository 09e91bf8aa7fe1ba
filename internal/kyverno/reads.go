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

// fieldPath is a variable with its fields, such as object.metadata.?labels['a'], and its context in the expression.
type fieldPath struct {
	steps   []string
	key     string // a literal index after it, or a literal before "in"
	isPlain bool   // it is read, and no step tests whether a field exists
	isAsked bool   // has(object.metadata)
	isNull  bool   // object == null, object != null
}

// maxSteps is the number of fields that are read, more than any known field has.
const maxSteps = 4

//go:noinline
func (p *fieldPath) step(i int) string {
	if i < len(p.steps) {
		return p.steps[i]
	}
	return ""
}

// isLabel reports whether it is one label, but not the label with the name of a namespace.
func (p *fieldPath) isLabel() bool {
	return p.step(0) == "metadata" && p.step(1) == "labels" &&
		(len(p.steps) > 2 || p.key != "" && p.key != nameOfNamespace)
}

// pathFrom reads the fields after the word at an index. It ignores methods.
func pathFrom(parts []token, i int) *fieldPath {
	at := func(j int) token { return tokenAt(parts, j) }
	has := at(i-2) == token{word, "has"} && at(i-1).is("(")
	p := &fieldPath{isPlain: !has && !at(i-1).is(".")}
	start := i
	for i++; at(i).is(".") && len(p.steps) < maxSteps; i += 2 {
		if at(i + 1).is("?") {
			p.isPlain = false
			i++
		}
		if name := at(i + 1); name.kind != word || at(i+2).is("(") {
			return p
		}
		p.steps = append(p.steps, at(i+1).text)
	}
	p.isAsked = has && at(i).is(")")
	p.isNull = len(p.steps) == 0 && (at(i).is("==") || at(i).is("!=")) && at(i+1) == token{word, "null"} &&
		!at(start-1).is(".")
	switch {
	case at(i).is("["):
		if at(i + 1).is("?") {
			i++
		}
		if at(i+1).kind == literal && at(i+2).is("]") {
			p.key = at(i + 1).text
		}
	case at(start-1) == token{word, "in"} && at(start-2).kind == literal && !at(i).is("."):
		p.key = at(start - 2).text
	}
	return p
}

//go:noinline
func tokenAt(parts []token, i int) token {
	if i >= 0 && i < len(parts) {
		return parts[i]
	}
	return token{}
}
