package adopt

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// form is a deployed form of a source and its deployer. A form that cannot be determined has an
// error instead.
type form struct {
	source int
	object map[string]any
	by     *deployer // nil if no deployer reaches the source
	err    error
}

// deployer is a Flux Kustomization or an Argo CD Application in its applied form.
type deployer struct {
	source int
	object map[string]any
	top    int // the source of the topmost deployer
}

// maxDeployers limits the number of forms of deployers that deploy each other.
const maxDeployers = 50_000

// forms returns the forms of each exception, by source.
func (r *repository) forms() (map[int][]form, error) {
	forms := map[int][]form{}
	below, visited := map[int]bool{}, map[int]bool{}
	for i, s := range r.sources {
		if s.isException() {
			continue
		}
		out, _ := r.render(s.object) // deploy renders it again and reports the error
		for _, f := range out {
			below[f.source] = below[f.source] || f.source != i
		}
	}
	for _, parents := range []bool{true, false} { // parents first, then deployers that deploy each other
		for i, s := range r.sources {
			if !s.isException() && !visited[i] && (!parents || !below[i]) {
				r.deploy(i, forms, visited)
			}
		}
	}
	if r.deployed > maxDeployers {
		return nil, fmt.Errorf("the deployers of the repository deploy each other in more than %d forms", maxDeployers)
	}
	r.undeployed(forms)
	return forms, nil
}

// deploy renders a deployer and all deployers below it.
func (r *repository) deploy(top int, forms map[int][]form, visited map[int]bool) {
	queue := []*deployer{{source: top, object: r.sources[top].object, top: top}}
	seen := map[string]bool{}
	for n := 0; n < len(queue) && r.deployed <= maxDeployers; n++ {
		d := queue[n]
		r.deployed++
		visited[d.source] = true
		if slices.ContainsFunc(r.deployments(d.object), func(to deployment) bool { return to.dir == r.options.Signed }) {
			r.delivered[r.clusterOf(d)] = true
		}
		out, err := r.render(d.object)
		if err != nil {
			err = fmt.Errorf("%s %s cannot be rendered: %w", text(d.object, "kind"), text(d.object, "metadata", "name"), err)
			for _, to := range r.deployments(d.object) {
				for _, i := range r.below(to.dir) {
					forms[i] = append(forms[i], form{by: d, err: err})
				}
			}
		}
		for _, f := range out {
			if r.sources[f.source].isException() {
				f.by = d
				forms[f.source] = append(forms[f.source], f)
			} else if key := fmt.Sprint(f.source, " ", key(f.object)); f.source != d.source && f.err == nil && !seen[key] {
				seen[key] = true
				queue = append(queue, &deployer{source: f.source, object: f.object, top: top})
			}
		}
	}
}

// undeployed gives exceptions that no deployer reaches the form of the topmost kustomizations, or
// of their file. It substitutes Flux's variables if a deployer of another repository may do so.
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
		out, err := r.build(deployment{dir: dir})
		if err != nil {
			err = fmt.Errorf("kustomize cannot build %s: %w", dir, err)
			for _, i := range r.below(dir) {
				found[i] = append(found[i], form{err: err})
			}
		}
		for _, f := range out {
			found[f.source] = append(found[f.source], f)
		}
	}
	var outside variables
	if r.substitute || len(r.options.Substitute) > 0 {
		outside = variables{given: r.options.Substitute, unknown: "a deployer"}
	}
	for i, s := range r.sources {
		if !s.isException() || forms[i] != nil {
			continue
		}
		if forms[i] = found[i]; forms[i] == nil {
			forms[i] = []form{{object: runtime.DeepCopyJSON(s.object)}}
			if r.removed[i] {
				forms[i][0].err = errors.New("a patch of the repository removes it, and nothing deploys it")
			}
		}
		for n, f := range forms[i] {
			if f.err == nil {
				forms[i][n].object, forms[i][n].err = outside.apply(f.object)
			}
		}
	}
}

// key returns a text that is equal for equal objects.
func key(object map[string]any) string {
	raw, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	return string(raw)
}
