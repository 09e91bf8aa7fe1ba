package exception

// Defaults returns the values that the API server would add to a PolicyException, for
// [Document.Add]. A signed document must contain them, or the live object differs from it. For
// Kyverno 1.19.1 that is "spec.reportResult: skip" of policies.kyverno.io.
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
