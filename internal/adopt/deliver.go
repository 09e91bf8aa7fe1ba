package adopt

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// signedName is the name of a new deployer of the signed folder.
const signedName = "polex-signed"

// deliver deploys the signed folder to each cluster that had the exceptions. It redirects a
// deployer that deploys an empty folder now. If there is none, it adds a new deployer.
func (e *edits) deliver(plan *Plan, adopted []*candidate) error {
	clusters := map[string][]*deployer{}
	for _, c := range adopted {
		for _, by := range e.deployers(c) {
			of := clusters[e.clusterOf(by)]
			if !slices.ContainsFunc(of, func(d *deployer) bool { return d.source == by.source }) {
				clusters[e.clusterOf(by)] = append(of, by)
			}
		}
	}
	if len(clusters) == 0 && len(adopted) > 0 {
		plan.Notes = append(plan.Notes, fmt.Sprintf("no Flux Kustomization and no Argo CD Application of the repository deploys these exceptions: add one for %s/, as in examples/flux or examples/argocd", e.options.Signed))
	}
	var pruning []string
	for _, name := range slices.Sorted(maps.Keys(clusters)) {
		if err := e.cluster(clusters[name], e.delivered[name]); err != nil {
			return err
		}
		for _, d := range clusters[name] {
			// A deployer of the signed folder fails until the folder exists, so it prunes nothing.
			if (at(d.object, "spec", "prune") == true || at(d.object, "spec", "syncPolicy", "automated", "prune") == true) && e.text[d.source] == nil {
				name := strings.TrimPrefix(text(d.object, "metadata", "namespace")+"/"+text(d.object, "metadata", "name"), "/")
				pruning = append(pruning, fmt.Sprintf("%s %s (%s)", text(d.object, "kind"), name, e.sources[d.source].file))
			}
			for _, to := range e.deployments(d.object) {
				if !to.flat && e.folders[to.dir] == nil && within(to.dir, e.options.Unsigned) {
					plan.Notes = append(plan.Notes, fmt.Sprintf("%s %s deploys every file below %s, including the pending exceptions in %s/: narrow its path",
						text(d.object, "kind"), text(d.object, "metadata", "name"), to.dir, e.options.Unsigned))
				}
			}
		}
	}
	if pruning != nil {
		plan.Notes = append(plan.Notes, "stop these from pruning before the merge, or they delete the exceptions: "+strings.Join(pruning, ", "))
	}
	return nil
}

// deployers returns the deployers of an exception. It leaves out a deployer that cannot be rendered
// if its folder contains another one: the other one deploys the exception.
func (r *repository) deployers(c *candidate) (all []*deployer) {
	for _, f := range c.forms {
		parent := f.by != nil && f.err != nil && slices.ContainsFunc(c.forms, func(other form) bool {
			return other.by != nil && other.err == nil && slices.ContainsFunc(r.deployments(f.by.object), func(d deployment) bool { return within(d.dir, r.sources[other.by.source].file) })
		})
		if f.by != nil && !parent {
			all = append(all, f.by)
		}
	}
	return all
}

// clusterOf names the cluster of a deployer. For an Application, this is the destination. For a
// Flux Kustomization, it is the folder of the topmost deployer and the secret of its kubeConfig.
func (r *repository) clusterOf(d *deployer) string {
	if isArgo(d.object) {
		return "argocd " + text(d.object, "spec", "destination", "server") + text(d.object, "spec", "destination", "name")
	}
	return "flux " + path.Dir(r.sources[d.top].file) + " " + text(d.object, "spec", "kubeConfig", "secretRef", "name")
}

// spreads adds a note to exceptions that more clusters receive after the adoption, because each
// cluster deploys the whole signed folder.
func (r *repository) spreads(adopted []*candidate) {
	all, of := map[string]bool{}, make([]map[string]bool, len(adopted))
	for i, c := range adopted {
		of[i] = map[string]bool{}
		for _, by := range r.deployers(c) {
			of[i][r.clusterOf(by)], all[r.clusterOf(by)] = true, true
		}
	}
	for i, c := range adopted {
		if n := len(of[i]); n == 0 || n == len(all) {
			continue
		}
		names := slices.Sorted(maps.Keys(of[i]))
		for n, name := range names {
			_, name, _ = strings.Cut(name, " ")
			names[n] = strings.TrimSuffix(strings.TrimSpace(name), "/flux-system")
		}
		c.Notes = append(c.Notes, fmt.Sprintf("only the cluster of %s has it, but %s/ is deployed to all %d clusters", strings.Join(names, " and of "), r.options.Signed, len(all)))
	}
}

// cluster delivers to one cluster. done means that a deployer of the signed folder exists.
func (e *edits) cluster(deployers []*deployer, done bool) error {
	empty := map[int]bool{}
	for _, d := range deployers {
		switch {
		case !e.empty(d):
		case done:
			empty[d.source] = true // two deployers of the same objects would conflict
		default:
			done = true
			if err := e.redirect(d); err != nil {
				return err
			}
		}
	}
	if !done {
		if err := e.beside(deployers[0]); err != nil {
			return err
		}
	}
	return e.remove(empty)
}

// empty reports whether a deployer deploys only one folder and this folder is now empty.
func (e *edits) empty(d *deployer) bool {
	all := e.deployments(d.object)
	if len(all) != 1 || isArgo(d.object) && mapping(d.object, "spec", "source") == nil {
		return false
	}
	dir := all[0].dir
	if e.folders[dir] != nil {
		return e.gone[dir]
	}
	return !slices.ContainsFunc(e.names, func(name string) bool { return within(dir, name) && !e.gone[name] })
}

// signedFields returns the fields to set for a deployer of the signed folder, and their path. A nil
// value removes a field.
func (e *edits) signedFields(object map[string]any) (fields map[string]any, at []string) {
	if isArgo(object) {
		return map[string]any{"path": e.options.Signed, "kustomize": nil, "directory": map[string]any{"recurse": true}}, []string{"spec", "source"}
	}
	fields = map[string]any{"path": "./" + e.options.Signed, "prune": true}
	for _, name := range []string{"targetNamespace", "postBuild", "namePrefix", "nameSuffix", "patches", "components", "commonMetadata", "images", "healthChecks", "healthCheckExprs", "decryption"} {
		fields[name] = nil
	}
	return fields, []string{"spec"}
}

// redirect changes a deployer to deploy the signed folder.
func (e *edits) redirect(d *deployer) error {
	s := e.sources[d.source]
	if s.text == nil {
		return fmt.Errorf("%s:%d: the deployer is an item of a list: write it as a document of its own", s.file, s.line)
	}
	fields, at := e.signedFields(s.object)
	changed, err := edited(s.text, fields, at...)
	if err == nil {
		e.text[d.source] = changed
		_, err = e.rewrite(s.file)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.file, err)
	}
	e.say(s.file, fmt.Sprintf("%s deploys %s/ from now on", text(s.object, "metadata", "name"), e.options.Signed))
	return nil
}

// beside adds a deployer of the signed folder next to another one, and adds it to the
// kustomizations that list the other one.
func (e *edits) beside(d *deployer) error {
	s := e.sources[d.source]
	metadata := map[string]any{"name": signedName}
	if namespace := text(s.object, "metadata", "namespace"); namespace != "" {
		metadata["namespace"] = namespace
	}
	object := runtime.DeepCopyJSON(map[string]any{"apiVersion": s.object["apiVersion"], "kind": s.object["kind"], "metadata": metadata, "spec": s.object["spec"]})
	for _, from := range list(object, "spec", "sources") {
		if dir, local := folder(text(from, "path")); local && dir != "." && text(from, "path") != "" && e.isOwn(text(from, "repoURL")) {
			set(object, from, "spec", "source")
		}
	}
	delete(mapping(object, "spec"), "sources")
	fields, at := e.signedFields(object)
	for name, value := range fields {
		set(object, value, append(slices.Clone(at), name)...)
	}
	dropNulls(object)
	raw, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	name := path.Join(path.Dir(s.file), signedName+".yaml")
	// A parent Application may deploy only the files that match a pattern such as *-app.yaml.
	if end, ok := strings.CutPrefix(path.Base(s.file), text(s.object, "metadata", "name")+"-"); ok && path.Ext(end) == ".yaml" {
		name = path.Join(path.Dir(s.file), signedName+"-"+end)
	}
	if before, there := e.files[name]; there && string(before) != string(raw) {
		return fmt.Errorf("%s exists with different content: remove it", name)
	}
	e.changed[name] = raw
	e.say(name, fmt.Sprintf("new, deploys %s/", e.options.Signed))
	for _, dir := range slices.Sorted(maps.Keys(e.folders)) {
		k := e.folders[dir]
		for _, key := range lists {
			for _, entry := range k.entries(key) {
				if e.gone[k.file] || k.target(entry) != s.file {
					continue
				}
				content, err := addEntry(e.content(k.file), key, entry, path.Join(path.Dir(entry), path.Base(name)))
				if err != nil {
					return fmt.Errorf("%s: %w", k.file, err)
				}
				e.changed[k.file] = content
				e.say(k.file, "lists "+path.Base(name))
			}
		}
	}
	return nil
}
