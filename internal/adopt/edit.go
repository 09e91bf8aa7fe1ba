package adopt

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/comments"
	"sigs.k8s.io/kustomize/kyaml/order"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/pkg/exception"
)

// edits are the changes to the files of the repository.
type edits struct {
	*repository
	plan    *Plan
	cut     map[*source]bool // documents to remove
	adopted map[*source]int  // number of adopted exceptions that a document gives
}

// move removes the documents of adopted exceptions. A document that must stay becomes a note.
func (r *repository) move(plan *Plan, adopted []*candidate) {
	e := &edits{repository: r, plan: plan, cut: map[*source]bool{}, adopted: map[*source]int{}}
	for _, c := range adopted {
		for _, s := range c.sources {
			e.adopted[s]++
		}
	}
	for _, c := range adopted {
		for _, s := range c.sources {
			if why := e.stays(c, s); why != "" {
				e.note(s.file, fmt.Sprintf("remove %s from it by hand: %s", c.Identity, why))
			} else {
				e.cut[s] = true
			}
		}
		if c.chart != "" {
			e.note(c.chart, "it is adopted from this Helm template: remove it there by hand")
		}
	}
	for _, name := range r.names {
		e.rewrite(name)
	}
}

// stays returns the reason why the document of an adopted exception must be removed by hand, or "".
func (e *edits) stays(c *candidate, s *source) string {
	switch why := e.held(s.file); {
	case len(c.sources) > 1:
		return fmt.Sprintf("%d files have it", len(c.sources))
	case e.adopted[s] < s.used:
		return "another exception that it gives is not adopted"
	case s.listed:
		return "it is an item of a list"
	case e.chart(s.file) != "":
		return "it belongs to a Helm chart"
	default:
		return why
	}
}

func (e *edits) note(file, task string) {
	if note := file + ": " + task; !slices.Contains(e.plan.Notes, note) {
		e.plan.Notes = append(e.plan.Notes, note)
	}
}

// rewrite writes a file without its removed documents. It removes an empty file, and its line in a
// kustomization.
func (e *edits) rewrite(name string) {
	gone, holds := map[int]bool{}, false
	for s := range e.cut {
		if s.file == name {
			gone[s.chunk] = true
		}
	}
	if len(gone) == 0 {
		return
	}
	var out []byte
	for i, chunk := range e.chunks[name] {
		if gone[i] {
			continue
		}
		object, err := object(chunk.text)
		holds = holds || err != nil || object != nil
		out = append(out, chunk.text...)
	}
	if holds {
		e.plan.Write[name] = out
		e.plan.Edits = append(e.plan.Edits, fmt.Sprintf("%s: %s removed", name, count(len(gone), "document")))
		return
	}
	for _, k := range e.above[name] {
		content := e.plan.Write[k.file]
		if content == nil {
			content = e.files[k.file]
		}
		left := k.unlist(content, name)
		if left == "" {
			e.note(name, fmt.Sprintf("it has nothing else: remove it and its entry in %s by hand", k.file))
			return
		}
		e.plan.Write[k.file] = []byte(left)
		e.plan.Edits = append(e.plan.Edits, fmt.Sprintf("%s: the entry of %s removed", k.file, name))
		if strings.HasSuffix(left, nothing) {
			e.note(k.file, "it lists nothing any more: remove it when its deployer deploys "+e.options.Signed+"/")
		}
	}
	e.plan.Remove = append(e.plan.Remove, name)
	e.plan.Edits = append(e.plan.Edits, name+": removed")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// write writes an exception with the comments and field order of its source, if it has one.
func write(source []byte, object map[string]any) ([]byte, error) {
	content, err := manifest.Readable(object)
	if err != nil {
		content, err = exception.Canonical(object)
	}
	if err != nil {
		return nil, fmt.Errorf("write it: %w", err)
	}
	if commented, err := like(source, content); err == nil {
		if doc, err := exception.Parse(commented, ""); err == nil && reflect.DeepEqual(doc.Object(), object) {
			return commented, nil
		}
	}
	return content, nil
}

// like returns content with the comments and field order of a source.
func like(source, content []byte) ([]byte, error) {
	from, err := yaml.Parse(string(source))
	if err != nil {
		return nil, err
	}
	to, err := yaml.Parse(string(content))
	if err != nil {
		return nil, err
	}
	if err := order.SyncOrder(from, to); err != nil {
		return nil, err
	}
	if err := comments.CopyComments(from, to); err != nil {
		return nil, err
	}
	block(to.YNode())
	return yaml.MarshalWithOptions(to.Document(), &yaml.EncoderOptions{SeqIndent: yaml.WideSequenceStyle})
}

// block writes a list with comments with one entry a line, and reports whether the node has one.
func block(node *yaml.Node) (commented bool) {
	for _, in := range node.Content {
		commented = block(in) || commented
	}
	if commented {
		node.Style &^= yaml.FlowStyle
	}
	return commented || node.HeadComment+node.LineComment+node.FootComment != ""
}
