package kyverno

// fieldPath is a variable with the fields behind it, object.metadata.?labels['a'], and
// how it stands among other tokens.
type fieldPath struct {
	steps   []string
	key     string // a literal index behind it, or a literal that is looked for in it
	isPlain bool   // it is read, and no step of it asks whether there is something
	isAsked bool   // has(object.metadata)
	isNull  bool   // object == null, object != null
}

// maxSteps is how many fields are read of a path, more than anybody asks about.
const maxSteps = 4

func (p *fieldPath) step(i int) string {
	if i < len(p.steps) {
		return p.steps[i]
	}
	return ""
}

// isLabel reports whether it is one label, and not the one that says the name of a
// namespace.
func (p *fieldPath) isLabel() bool {
	return p.step(0) == "metadata" && p.step(1) == "labels" && (len(p.steps) > 2 || p.key != "" && p.key != nameOfNamespace)
}

// pathFrom reads the fields behind the word at an index. A method is none.
func pathFrom(parts []token, i int) *fieldPath {
	at := func(j int) token {
		if j >= 0 && j < len(parts) {
			return parts[j]
		}
		return token{}
	}
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
	p.isNull = len(p.steps) == 0 && (at(i).is("==") || at(i).is("!=")) && at(i+1) == token{word, "null"} && !at(start-1).is(".")
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
