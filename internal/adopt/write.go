package adopt

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/comments"
	"sigs.k8s.io/kustomize/kyaml/order"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/polex-dev/polex/internal/kyverno/manifest"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// judged writes the documents, and refuses those that must not be signed. If adopt writes the
// configuration, the reasons that it can change become warnings there.
func (a *adoption) judged(all []*candidate) (adopted []*candidate, err error) {
	config, set := a.Shape, shape.Set{Terms: a.Shape.Rules.Terms}
	if !a.Configured {
		config.Rules.Longest = a.longest(all)
	}
	checker, err := shape.New(config)
	if err != nil {
		return nil, err
	}
	eased := map[string]int{} // number of adopted exceptions that a reason would reject
	for _, c := range all {
		doc, problem := a.write(c)
		if problem != nil {
			a.plan.refuse(c, *problem)
			continue
		}
		findings := slices.Concat(checker.Check(doc, a.Now), checker.Weigh(set.Add(doc)))
		findings = slices.DeleteFunc(findings, func(f shape.Finding) bool { return f.Severity != shape.Error })
		if problem := a.judge(findings); problem != nil {
			problem.Message = strings.Join(append([]string{problem.Message}, c.Notes...), "; ") // it is about this form
			a.plan.refuse(c, *problem)
			continue
		}
		adopted, a.plan.Adopted = append(adopted, c), append(a.plan.Adopted, c.Adopted)
		a.plan.Write[c.To] = doc.Source()
		for i, f := range findings {
			if !slices.ContainsFunc(findings[:i], func(other shape.Finding) bool { return other.Reason == f.Reason }) {
				eased[f.Reason]++
			}
		}
	}
	if !a.Configured && len(adopted) > 0 {
		a.plan.Write[configName] = a.config(adopted, eased)
	}
	return adopted, nil
}

// write writes the pending file of an exception. The file name contains the API group if both groups have
// an exception of that name. It also does if the file would otherwise have the name of a kustomization.
func (a *adoption) write(c *candidate) (*exception.Document, *Problem) {
	name := path.Join(c.id.Namespace, c.id.Name)
	if c.To = path.Join(a.Unsigned, name+".yaml"); a.plan.Write[c.To] != nil || isKustomization.MatchString(c.To) {
		name += "." + c.id.Group
	}
	c.To = path.Join(a.Unsigned, name+".yaml")
	for _, other := range []string{c.To, path.Join(a.Signed, name+".yaml")} {
		if a.files[other] != nil {
			return nil, &Problem{Reason: ReasonExists, Message: other + " exists with another content",
				Hint: "remove one of the two"}
		}
	}
	var source []byte
	if len(c.sources) > 0 && !c.sources[0].listed {
		source = c.sources[0].text
	}
	doc, err := readable(source, c.object, c.To)
	if err != nil {
		return nil, &Problem{Reason: ReasonUnreadable, Message: err.Error()}
	}
	return doc, nil
}

// readable writes an object with the comments and field order of its source, if it has one.
func readable(source []byte, object map[string]any, file string) (*exception.Document, error) {
	content, err := manifest.Readable(object)
	if err != nil {
		content, err = exception.Canonical(object)
	}
	if err != nil {
		return nil, fmt.Errorf("write it: %w", err)
	}
	if commented, err := like(source, content); err == nil {
		if doc, err := exception.Parse(commented, file); err == nil && reflect.DeepEqual(doc.Object(), object) {
			return doc, nil
		}
	}
	return exception.Parse(content, file)
}

// like returns content with the comments and field order of a source.
func like(source, content []byte) ([]byte, error) {
	from, err := yaml.Parse(string(source))
	to, otherErr := yaml.Parse(string(content))
	if err := cmp.Or(err, otherErr); err != nil {
		return nil, err
	}
	if err := errors.Join(order.SyncOrder(from, to), comments.CopyComments(from, to)); err != nil {
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

// neverEased are reasons that a configuration can change, and adopt does not: a warning would hide
// deceptive text from the reviewer, and an exception from nothing is of no use.
var neverEased = []string{"hidden-character", "look-alike", "unknown-annotation", shape.ReasonNamesNothing}

// judge returns the problem of an exception with these errors, unless the new configuration makes them warnings.
func (a *adoption) judge(findings []shape.Finding) *Problem {
	i := slices.IndexFunc(findings, func(f shape.Finding) bool {
		return slices.Contains(neverEased, f.Reason) || slices.ContainsFunc(shape.Reasons(),
			func(r shape.Reason) bool { return r.Name == f.Reason && r.Fixed })
	})
	if i < 0 && (!a.Configured || len(findings) == 0) {
		return nil
	}
	f := findings[max(i, 0)]
	switch {
	case f.Reason == "lifetime-too-long":
		f.Hint = "polex adopt does not change the configuration; raise trust.maxLifetime there, or lower --last-expiry"
	case i < 0:
		f.Hint = fmt.Sprintf("polex adopt does not change the configuration; to adopt the exception, set "+
			"shape.checks.%s: warning there", f.Reason)
	}
	return &Problem{Reason: f.Reason, Message: f.Message, Hint: f.Hint}
}

// move removes the documents of adopted exceptions. A document that must stay becomes a note.
func (a *adoption) move(adopted []*candidate) {
	cut := map[string][]int{} // parts to remove, by file
	for _, c := range adopted {
		for _, s := range c.sources {
			if why := a.stays(c, s); why != "" {
				a.plan.note(s.file, fmt.Sprintf("remove %s from it by hand: %s", c.Identity, why))
			} else {
				cut[s.file] = append(cut[s.file], s.part)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cut)) {
		a.cut(name, cut[name])
	}
}

// stays returns the reason why the document of an adopted exception must be removed by hand, or "".
func (a *adoption) stays(c *candidate, s *document) string {
	switch why := a.mustStay(s.file); {
	case len(c.sources) > 1:
		return fmt.Sprintf("%d files have it", len(c.sources))
	case s.used > 1:
		return fmt.Sprintf("it gives %d exceptions", s.used)
	case s.listed:
		return "it is an item of a list"
	case a.inChart(s.file):
		return "it belongs to a Helm chart"
	default:
		return why
	}
}

// cut writes a file without its removed documents. It removes an empty file, and its line in a
// kustomization.
func (a *adoption) cut(name string, gone []int) {
	var left []byte
	others := false
	for part, text := range split(a.files[name]) {
		if !slices.Contains(gone, part) {
			doc, err := parse(text)
			others = others || err != nil || len(doc.Object()) > 0
			left = append(left, text...)
		}
	}
	if others {
		a.plan.Write[name] = left
		a.plan.Edits = append(a.plan.Edits, name+": "+plain.Count(len(gone), "document", "documents")+" removed")
		return
	}
	for _, k := range a.above[name] {
		content := a.plan.Write[k.file]
		if content == nil {
			content = a.files[k.file]
		}
		left := k.unlist(content, name)
		if left == nil {
			a.plan.note(name, fmt.Sprintf("it has nothing else: remove it and its entry in %s by hand", k.file))
			return
		}
		a.plan.Write[k.file] = left
		a.plan.Edits = append(a.plan.Edits, fmt.Sprintf("%s: the entry of %s removed", k.file, name))
		if bytes.HasSuffix(left, []byte(nothing)) {
			a.plan.note(k.file, "it lists nothing any more: remove it when its deployer deploys "+a.Signed+"/")
		}
	}
	a.plan.Remove = append(a.plan.Remove, name)
	a.plan.Edits = append(a.plan.Edits, name+": removed")
}
