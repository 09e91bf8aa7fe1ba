package adopt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// edits are the changes to the files of the repository.
type edits struct {
	*repository
	changed map[string][]byte
	cut     map[int]bool        // sources to remove
	text    map[int][]byte      // changed text, by source
	gone    map[string]bool     // removed files, and folders whose kustomization builds nothing any more
	said    map[string][]string // sentences for the plan, by file
}

func (e *edits) content(name string) []byte {
	if content, there := e.changed[name]; there {
		return content
	}
	return e.files[name]
}

// remove removes sources from their files, and then empty files from the kustomizations that list
// them.
func (e *edits) remove(sources map[int]bool) error {
	files := map[string]int{}
	for i := range sources {
		e.cut[i] = true
		files[e.sources[i].file]++
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
	for again := true; again; {
		again = false
		for _, dir := range slices.Sorted(maps.Keys(e.folders)) {
			changed, err := e.unlist(e.folders[dir])
			if err != nil {
				return fmt.Errorf("%s: %w", e.folders[dir].file, err)
			}
			again = again || changed
		}
	}
	return nil
}

// rewrite writes a file without its removed documents and items, and with its changed deployers. It
// reports whether the file still contains a document.
func (e *edits) rewrite(name string) (holds bool, err error) {
	var out []byte
	for n, chunk := range e.chunks[name] {
		text, whole, items := chunk.text, false, map[int]bool{}
		for _, i := range e.byFile[name] {
			switch s := e.sources[i]; {
			case s.chunk != n:
			case e.cut[i]:
				whole = whole || s.item < 0
				items[s.item] = true
			case e.text[i] != nil:
				text = e.text[i]
			}
		}
		if whole {
			continue
		}
		if len(items) > 0 {
			if text, err = dropEntries(text, "items", func(i int) bool { return items[i] }); err != nil {
				return false, err
			}
		}
		object, err := object(text)
		if len(items) > 0 && object["items"] == nil {
			continue // the list is empty
		}
		holds = holds || err != nil || object != nil
		out = append(out, text...)
	}
	e.changed[name] = out
	return holds, nil
}

// say records a change of a file.
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

// unlist removes the entries of removed files from a kustomization.
func (e *edits) unlist(k *kustomization) (changed bool, err error) {
	if e.gone[k.file] {
		return false, nil
	}
	before := e.content(k.file)
	content := before
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
		// Without a kustomization, Flux would deploy every file below the folder.
		content = append(content, "resources: []\nbuildMetadata: [originAnnotations]\n"...)
	}
	e.changed[k.file] = content
	e.say(k.file, "entries of removed files dropped")
	return true, nil
}

// builds reports whether a kustomization builds any objects. A component may only change objects
// that other kustomizations list.
func (r *repository) builds(k *kustomization, seen map[string]bool) bool {
	if k == nil || seen[k.dir] {
		return false
	}
	seen[k.dir] = true
	return slices.ContainsFunc([]string{"resources", "bases", "generators", "configMapGenerator", "secretGenerator", "helmCharts", "helmChartInflationGenerator"},
		func(key string) bool { list, _ := k.object[key].([]any); return len(list) > 0 }) ||
		slices.ContainsFunc(k.entries("components"), func(entry string) bool {
			return r.folders[k.target(entry)] == nil || r.builds(r.folders[k.target(entry)], seen)
		})
}

// alone reports whether no other file remains below the folder of a kustomization.
func (e *edits) alone(k *kustomization) bool {
	return !slices.ContainsFunc(e.names, func(name string) bool { return name != k.file && within(k.dir, name) && !e.gone[name] })
}

// dropPatches removes patches that change only adopted exceptions: kustomize rejects a patch
// without its target.
func (e *edits) dropPatches(k *kustomization, content []byte) ([]byte, error) {
	leaves := map[string]map[int]bool{"patches": {}, "patchesJson6902": {}, "patchesStrategicMerge": {}}
	for _, p := range k.patches() {
		_, docs, _, _ := e.concerns(k, p)
		if p.target || len(docs) == 0 || slices.ContainsFunc(docs, e.stays) {
			continue
		}
		leaves[p.key][p.index] = true
		if name := k.target(p.file); p.file != "" && !e.gone[name] {
			if e.patches[name]--; e.patches[name] == 0 {
				e.leave(name)
			}
		}
	}
	for key, indexes := range leaves {
		var err error
		if content, err = dropEntries(content, key, func(i int) bool { return indexes[i] }); err != nil {
			return nil, err
		}
	}
	return content, nil
}

// stays reports whether a patch may change an object that is not adopted.
func (e *edits) stays(patch map[string]any) bool {
	leaves := false
	for i, s := range e.sources {
		if s.isException() && text(s.object, "metadata", "name") == text(patch, "metadata", "name") {
			if !e.cut[i] {
				return true
			}
			leaves = true
		}
	}
	return !leaves || !isException(patch)
}

// move plans the edits for adopted exceptions.
func (r *repository) move(plan *Plan, adopted []*candidate, rendered []*given, others map[string]int) error {
	e := &edits{repository: r, changed: map[string][]byte{}, cut: map[int]bool{}, text: map[int][]byte{}, said: map[string][]string{}, gone: map[string]bool{}}
	leave := map[int]bool{}
	for _, c := range adopted {
		for _, i := range c.sources {
			leave[i] = true
		}
	}
	if err := e.remove(leave); err != nil {
		return err
	}
	e.templates(plan, rendered, others)
	if err := e.deliver(plan, adopted); err != nil {
		return err
	}
	maps.Copy(plan.Write, e.changed)
	for name := range e.gone {
		if _, isFile := r.files[name]; isFile {
			plan.Remove = append(plan.Remove, name)
		}
	}
	slices.Sort(plan.Remove)
	for _, name := range slices.Sorted(maps.Keys(e.said)) {
		plan.Edits = append(plan.Edits, name+": "+strings.Join(e.said[name], "; "))
	}
	return nil
}

// templates removes the templates of a chart if all objects that they render are adopted. The plan
// notes the other templates for people to edit: their rendered exceptions are adopted already.
func (e *edits) templates(plan *Plan, rendered []*given, others map[string]int) {
	for _, p := range e.problems {
		from, n, left := e.template(p.File), 0, 0
		for _, g := range rendered {
			if g.chart == from {
				n++
				if !slices.ContainsFunc(plan.Adopted, func(a Adopted) bool { return a.Identity == identity(g.object).String() }) {
					left++
				}
			}
		}
		switch {
		case p.Reason != ReasonTemplate || from == "" || n == 0:
			plan.Problems = append(plan.Problems, p)
		case left+others[from] == 0:
			e.leave(p.File)
			e.say(p.File, fmt.Sprintf("everything that it renders is adopted (%s)", count(n, "exception")))
		case left < n:
			note := fmt.Sprintf("%s: exceptions adopted: %d of %d; it renders other objects too, so remove the adopted exceptions from it", p.File, n-left, n)
			if !slices.Contains(plan.Notes, note) {
				plan.Notes = append(plan.Notes, note)
			}
		}
	}
}
