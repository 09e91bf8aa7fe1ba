package exception

// Defaults returns what the API server would write into a PolicyException that
// does not say it: a signed document must say it, or the live object differs
// from it. As of Kyverno 1.19.1 that is "spec.reportResult: skip" of
// policies.kyverno.io. [Document.Add] takes them.
func Defaults(d *Document) []Addition {
	gk := d.GroupKind()
	if !gk.IsException() {
		return nil
	}
	s, known := schemaOf(gk.Group, d.Version())
	if !known {
		return nil
	}
	return defaults(nil, d.root, s, nil)
}

func defaults(found []Addition, n *node, s *schema, path Path) []Addition {
	if n.kind != mappingNode {
		return found
	}
	for _, f := range s.fields {
		switch e := n.entry(f.name); {
		case e == nil && f.schema.preset != "":
			found = append(found, Addition{Path: path.With(f.name), Value: f.schema.preset})
		case e != nil:
			found = defaults(found, e.value, f.schema, path.With(f.name))
		}
	}
	return found
}
