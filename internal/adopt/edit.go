package adopt

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/polex-dev/polex/pkg/exception"
)

// edits are what becomes of the files of the repository.
type edits struct {
	*repository
	changed map[string][]byte
	cut     map[string]map[int]map[int]bool // items by chunk by file; -1 is the chunk itself
	text    map[*source][]byte              // of deployers that are changed
	gone    map[string]bool                 // files, and folders whose kustomization is gone
	said    map[string][]string             // by file
	adopted map[string]bool                 // names of exceptions that leave
	left    map[string]bool                 // and of those that stay
}

func (e *edits) content(name string) []byte {
	if content, there := e.changed[name]; there {
		return content
	}
	return e.files[name]
}

// remove takes sources out of their files, and those files that are empty then out of the
// kustomizations that list them.
func (e *edits) remove(sources map[int]bool) error {
	files := map[string]int{}
	for i := range sources {
		s := e.sources[i]
		files[s.file]++
		if e.cut[s.file] == nil {
			e.cut[s.file] = map[int]map[int]bool{}
		}
		if e.cut[s.file][s.chunk] == nil {
			e.cut[s.file][s.chunk] = map[int]bool{}
		}
		e.cut[s.file][s.chunk][s.item] = true
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		holds, err := e.rewrite(name)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case holds:
			e.say(name, count(files[name], "document")+" removed")
		default:
			e.leave(name)
		}
	}
	return e.unlist()
}

// rewrite writes a file without the documents and items that are cut, and with the
// deployers that are changed. It reports whether the file still holds a document.
func (e *edits) rewrite(name string) (holds bool, err error) {
	var left []byte
	for i, chunk := range e.chunks[name] {
		text, cut := chunk.text, e.cut[name][i]
		for s, changed := range e.text {
			if s.file == name && s.chunk == i {
				text = changed
			}
		}
		if cut[-1] {
			continue
		}
		if len(cut) > 0 {
			object, err := object(text)
			if err != nil {
				return false, err
			}
			if len(items(object)) == len(cut) {
				continue
			}
			if text, err = dropEntries(text, "items", func(i int) bool { return cut[i] }); err != nil {
				return false, err
			}
		}
		object, err := object(text)
		holds = holds || err != nil || object != nil
		left = append(left, text...)
	}
	e.changed[name] = left
	return holds, nil
}

// say notes what becomes of a file.
func (e *edits) say(name, what string) {
	if !slices.Contains(e.said[name], what) {
		e.said[name] = append(e.said[name], what)
	}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// leave removes a file.
func (e *edits) leave(name string) {
	e.gone[name] = true
	delete(e.changed, name)
	e.said[name] = []string{"removed"}
}

// unlist takes what is gone out of kustomizations, upward.
func (e *edits) unlist() error {
	for again := true; again; {
		again = false
		for _, dir := range slices.Sorted(maps.Keys(e.folders)) {
			k := e.folders[dir]
			if e.gone[k.file] {
				continue
			}
			changed, err := e.unlistIn(k)
			if err != nil {
				return fmt.Errorf("%s: %w", k.file, err)
			}
			again = again || changed
		}
	}
	return nil
}

func (e *edits) unlistIn(k *kustomization) (bool, error) {
	before := e.content(k.file)
	content := before
	var err error
	for _, key := range lists {
		entries := k.entries(key)
		if content, err = dropEntries(content, key, func(i int) bool { return i < len(entries) && e.gone[k.target(entries[i])] }); err != nil {
			return false, err
		}
	}
	if content, err = e.dropPatches(k, content); err != nil || string(content) == string(before) {
		return false, err
	}
	object, err := object(content)
	if err != nil {
		return false, err
	}
	k.object = object
	if !e.builds(k, map[string]bool{}) {
		e.gone[k.dir] = true
		if e.alone(k) {
			e.leave(k.file)
			return true, nil
		}
		// Without it, Flux would take every file below the folder.
		content = append(content, "resources: []\nbuildMetadata: [originAnnotations]\n"...)
	}
	e.changed[k.file] = content
	e.say(k.file, "entries of removed files dropped")
	return true, nil
}

// builds reports whether a kustomization has anything to build: a component may only change
// what others list. seen are the components that were looked at.
func (r *repository) builds(k *kustomization, seen map[string]bool) bool {
	for _, key := range []string{"resources", "bases", "generators", "configMapGenerator", "secretGenerator", "helmCharts", "helmChartInflationGenerator"} {
		if entries, _ := k.object[key].([]any); len(entries) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(k.entries("components"), func(entry string) bool {
		component := r.folders[k.target(entry)]
		if component == nil || seen[component.file] {
			return component == nil
		}
		seen[component.file] = true
		return r.builds(component, seen)
	})
}

// alone reports whether no other file that stays lies below a kustomization's folder.
func (e *edits) alone(k *kustomization) bool {
	return !slices.ContainsFunc(e.names, func(name string) bool { return name != k.file && within(k.dir, name) && !e.gone[name] })
}

// dropPatches removes patches that are about adopted exceptions alone: kustomize refuses one
// without its target.
func (e *edits) dropPatches(k *kustomization, content []byte) ([]byte, error) {
	leaves := map[string]map[int]bool{}
	for _, p := range k.patches() {
		_, docs, _, _ := e.concerns(k, p)
		useless := len(docs) > 0 && !p.target
		for _, doc := range docs {
			name := text(doc, "metadata", "name")
			useless = useless && isException(doc) && e.adopted[name] && !e.left[name]
		}
		if !useless {
			continue
		}
		if leaves[p.key] == nil {
			leaves[p.key] = map[int]bool{}
		}
		leaves[p.key][p.index] = true
		if name := k.target(p.file); p.file != "" && !e.gone[name] && !e.uses(name, k) {
			e.leave(name)
		}
	}
	var err error
	for key, indexes := range leaves {
		if content, err = dropEntries(content, key, func(i int) bool { return indexes[i] }); err != nil {
			return nil, err
		}
	}
	return content, nil
}

// uses reports whether another kustomization uses a patch.
func (e *edits) uses(name string, but *kustomization) bool {
	for _, k := range e.folders {
		if k != but && !e.gone[k.file] && slices.ContainsFunc(k.patches(), func(p patch) bool { return p.file != "" && k.target(p.file) == name }) {
			return true
		}
	}
	return false
}

// move plans the edits of the repository for exceptions that are adopted.
func (r *repository) move(plan *Plan, adopted []*candidate) error {
	e := &edits{repository: r, changed: map[string][]byte{}, cut: map[string]map[int]map[int]bool{}, text: map[*source][]byte{}, said: map[string][]string{}, gone: map[string]bool{}, adopted: map[string]bool{}, left: map[string]bool{}}
	leave := map[int]bool{}
	for _, c := range adopted {
		if c.source >= 0 {
			leave[c.source] = true
		}
	}
	for i, s := range r.sources {
		if s.isException() {
			map[bool]map[string]bool{true: e.adopted, false: e.left}[leave[i]][text(s.object, "metadata", "name")] = true
		}
	}
	if err := e.remove(leave); err != nil {
		return err
	}
	if err := e.deliver(plan, adopted); err != nil {
		return err
	}
	for name, content := range e.changed {
		plan.Write[name] = content
	}
	for name := range e.gone {
		if _, isFile := r.files[name]; isFile {
			plan.Remove = append(plan.Remove, name)
		}
	}
	slices.Sort(plan.Remove)
	for _, name := range slices.Sorted(maps.Keys(e.said)) {
		plan.Edits = append(plan.Edits, name+": "+strings.Join(e.said[name], "; "))
	}
	return e.check()
}

// check holds that what was edited can be read.
func (e *edits) check() error {
	for name, content := range e.changed {
		for _, chunk := range split(content) {
			var node yaml.Node
			if err := yaml.Unmarshal(chunk.text, &node); err != nil && !strings.Contains(string(chunk.text), "{{") {
				return fmt.Errorf("%s cannot be read after the change: %w", name, err)
			}
		}
	}
	return nil
}

// templates removes the templates of a chart of which all that they render is adopted. The
// others are left for people.
func (r *repository) templates(plan *Plan, rendered []*given, others map[string]int) {
	for _, p := range r.problems {
		from := r.chartPath(p.File)
		whole := p.Reason == ReasonTemplate && from != ""
		n := 0
		for _, g := range rendered {
			if g.chart == from {
				n++
				whole = whole && plan.holds(identity(g.object))
			}
		}
		switch {
		case !whole || n == 0:
			plan.Problems = append(plan.Problems, p)
		case others[from] > 0:
			plan.Notes = append(plan.Notes, fmt.Sprintf("%s: its exceptions are adopted, and it renders other objects too: remove the exceptions from it", p.File))
		default:
			plan.Remove = append(plan.Remove, p.File)
			plan.Edits = append(plan.Edits, fmt.Sprintf("%s: removed, all that it renders is adopted (%s)", p.File, count(n, "exception")))
		}
	}
}

func (p *Plan) holds(id exception.Identity) bool {
	return slices.ContainsFunc(p.Adopted, func(a Adopted) bool { return a.Identity == id.String() })
}

// chartPath is how Helm names a template: by the name of its chart.
func (r *repository) chartPath(name string) string {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if chart, there := r.files[path.Join(dir, "Chart.yaml")]; there {
			object, err := object(chart)
			if err != nil {
				return ""
			}
			return path.Join(text(object, "name"), strings.TrimPrefix(name, dir+"/"))
		}
		if dir == "." {
			return ""
		}
	}
}
