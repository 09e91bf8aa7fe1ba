package shape

// assumptions collects what was taken as given for want of a file that says it.
type assumptions struct {
	asks                        asked
	namespaces, namespaceLabels bool
}

// of looks at a resource that matches.
func (a *assumptions) of(r *resource) {
	_, inNamespace := r.inNamespace()
	a.namespaces = a.namespaces || !inNamespace && (a.asks.namespaces || a.asks.namespaceLabels)
	a.namespaceLabels = a.namespaceLabels || a.asks.namespaceLabels && r.home != nil && !r.home.written
}

// texts says it for people, as the end of "assuming …".
func (a *assumptions) texts() []string {
	var said []string
	add := func(is bool, text string) {
		if is {
			said = append(said, text)
		}
	}
	add(a.asks.users, "that the request comes from the subjects and roles of the match")
	add(a.asks.conditions, "that the conditions hold")
	add(a.namespaces, "that objects whose files do not say a namespace are in one that matches")
	add(a.namespaceLabels, "that namespaces which are in no file have the labels")
	add(a.asks.made, "that no controller makes more of these objects, such as the Pods of a Deployment")
	return said
}
