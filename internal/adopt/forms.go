package adopt

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// form is a form in which an exception is deployed, and by whom. A form that cannot be
// told has an error instead.
type form struct {
	object map[string]any
	by     *deployer // nil for what no deployer reaches
	err    error
}

// deployer is a Flux Kustomization or an Argo CD Application as it is applied.
type deployer struct {
	source int
	object map[string]any
	top    int // the source of the deployer that everything begins with
}

// maxDeployers bounds what deployers that render each other can become.
const maxDeployers = 50_000

// forms returns the forms of each exception, by its source.
func (r *repository) forms() (map[int][]form, error) {
	forms := map[int][]form{}
	below := map[int]bool{}
	var all []int
	for i, s := range r.sources {
		if s.isException() {
			continue
		}
		all = append(all, i)
		out, err := r.render(s.object)
		if err != nil {
			continue // it is rendered again, and reported then
		}
		for _, o := range out {
			if o.source != i && !r.sources[o.source].isException() {
				below[o.source] = true
			}
		}
	}
	visited := map[int]bool{}
	for _, i := range all {
		if !below[i] {
			r.deploy(i, forms, visited)
		}
	}
	for _, i := range all {
		if !visited[i] { // they deploy each other
			r.deploy(i, forms, visited)
		}
	}
	if r.deployed > maxDeployers {
		return nil, fmt.Errorf("the deployers of the repository deploy each other in more than %d forms", maxDeployers)
	}
	r.undeployed(forms)
	return forms, nil
}

// deploy renders a deployer and all that it deploys.
func (r *repository) deploy(top int, forms map[int][]form, visited map[int]bool) {
	queue := []*deployer{{source: top, object: r.sources[top].object, top: top}}
	seen := map[string]bool{}
	for n := 0; n < len(queue) && r.deployed <= maxDeployers; n++ {
		d := queue[n]
		r.deployed++
		visited[d.source] = true
		out, err := r.render(d.object)
		if err != nil {
			said := fmt.Errorf("%s %s cannot be rendered: %w", text(d.object, "kind"), text(d.object, "metadata", "name"), err)
			for _, to := range r.deployments(d.object) {
				r.mark(to.dir, func(i int) { forms[i] = append(forms[i], form{by: d, err: said}) })
			}
		}
		for _, o := range out {
			if r.sources[o.source].isException() {
				forms[o.source] = append(forms[o.source], form{object: o.object, by: d, err: o.err})
				continue
			}
			if key := fmt.Sprint(o.source, " ", key(o.object)); o.source != d.source && o.err == nil && !seen[key] {
				seen[key] = true
				queue = append(queue, &deployer{source: o.source, object: o.object, top: top})
			}
		}
	}
}

// undeployed gives what no deployer reaches the form that the topmost kustomizations give
// it, or that of its file.
func (r *repository) undeployed(forms map[int][]form) {
	listed := map[string]bool{}
	for _, k := range r.folders {
		for _, target := range k.targets() {
			listed[target] = true
		}
	}
	found := map[int][]form{}
	for _, dir := range slices.Sorted(maps.Keys(r.folders)) {
		if listed[dir] || !r.reaches(dir) {
			continue
		}
		out, err := r.build(dir, nil, false)
		if err != nil {
			r.mark(dir, func(i int) {
				found[i] = append(found[i], form{err: fmt.Errorf("kustomize cannot build %s: %w", dir, err)})
			})
		}
		for _, b := range out {
			found[b.source] = append(found[b.source], form{object: b.object})
		}
	}
	for i, s := range r.sources {
		if !s.isException() || forms[i] != nil {
			continue
		}
		if forms[i] = found[i]; forms[i] == nil {
			forms[i] = []form{{object: copied(s.object)}}
			if r.removed[i] {
				forms[i][0].err = errors.New("a patch of the repository removes it, and nothing deploys it")
			}
		}
		for n, f := range forms[i] {
			forms[i][n] = r.outside(f)
		}
	}
}

// outside substitutes in a form that no deployer of the repository reaches, where somebody
// else's deployer may.
func (r *repository) outside(f form) form {
	if f.err != nil || !r.substitute && len(r.options.Substitute) == 0 || !strings.Contains(key(f.object), "${") {
		return f
	}
	text, err := yaml.Marshal(f.object)
	if err == nil {
		f.object, err = r.apply(variables{given: r.options.Substitute, unknown: "a deployer"}, built{object: f.object, yaml: text})
	}
	f.err = err
	return f
}

// mark calls visit for each exception that a folder reaches, or that lies below one
// without a kustomization.
func (r *repository) mark(dir string, visit func(int)) {
	if r.folders[dir] == nil {
		for _, name := range r.names {
			if within(dir, name) {
				r.each(name, visit)
			}
		}
		return
	}
	visited := map[string]bool{}
	var walk func(string)
	walk = func(target string) {
		if visited[target] {
			return
		}
		visited[target] = true
		r.each(target, visit)
		if k := r.folders[target]; k != nil {
			for _, below := range k.targets() {
				walk(below)
			}
		}
	}
	walk(dir)
}

// each calls visit for each exception of a file.
func (r *repository) each(file string, visit func(int)) {
	for _, i := range r.byFile[file] {
		if r.sources[i].isException() {
			visit(i)
		}
	}
}

// key stands for an object: two with the same key are the same.
func key(object map[string]any) string {
	raw, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	return string(raw)
}
