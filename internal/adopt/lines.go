package adopt

import (
	"bytes"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// yamlFile is a YAML document that is edited: line by line where its lists are written one
// entry a line, so that all other bytes stay, and written anew otherwise.
type yamlFile struct {
	root  yaml.Node
	lines [][]byte
}

func parseLines(content []byte) (*yamlFile, error) {
	f := &yamlFile{lines: slices.Collect(bytes.Lines(content))}
	return f, yaml.Unmarshal(content, &f.root)
}

// value returns the value of a key of a mapping, and the key.
func value(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	if mapping.Kind == yaml.DocumentNode && len(mapping.Content) > 0 {
		mapping = mapping.Content[0]
	}
	for i := 0; mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// dropEntries returns content without those entries of a top-level list that leaves says.
// A list that is empty then goes with its key.
func dropEntries(content []byte, name string, leaves func(i int) bool) ([]byte, error) {
	f, err := parseLines(content)
	if err != nil {
		return nil, err
	}
	key, list := value(&f.root, name)
	if list == nil || list.Kind != yaml.SequenceNode {
		return content, nil
	}
	var left []*yaml.Node
	gone := map[int]bool{} // lines, from 0
	for i, entry := range list.Content {
		if !leaves(i) {
			left = append(left, entry)
			continue
		}
		from, to := f.entry(entry.Line - 1)
		for n := from; n < to; n++ {
			gone[n] = true
		}
	}
	if len(left) == len(list.Content) {
		return content, nil
	}
	if list.Style&yaml.FlowStyle != 0 {
		list.Content = left
		if top := f.root.Content[0]; len(left) == 0 {
			i := slices.Index(top.Content, key)
			if top.Content = slices.Delete(top.Content, i, i+2); len(top.Content) == 0 {
				return nil, nil
			}
		}
		return encode(&f.root)
	}
	if len(left) == 0 {
		gone[key.Line-1] = true
	}
	var out []byte
	for n, line := range f.lines {
		if !gone[n] {
			out = append(out, line...)
		}
	}
	return out, nil
}

// addEntry returns content with another entry behind the one of a list that is a text.
func addEntry(content []byte, name, behind, entry string) ([]byte, error) {
	f, err := parseLines(content)
	if err != nil {
		return nil, err
	}
	_, list := value(&f.root, name)
	if list == nil {
		return content, nil
	}
	i := slices.IndexFunc(list.Content, func(n *yaml.Node) bool { return n.Value == behind })
	if i < 0 {
		return content, nil
	}
	if list.Style&yaml.FlowStyle != 0 {
		list.Content = slices.Insert(list.Content, i+1, &yaml.Node{Kind: yaml.ScalarNode, Value: entry})
		return encode(&f.root)
	}
	from, to := f.entry(list.Content[i].Line - 1)
	line := bytes.TrimRight(f.lines[from], "\r\n")
	line = append(bytes.Clone(line[:indent(line)]), "- "+quoted(entry)+"\n"...)
	if last := f.lines[to-1]; !bytes.HasSuffix(last, []byte("\n")) {
		line = append([]byte("\n"), line...)
	}
	return bytes.Join(slices.Insert(f.lines, to, line), nil), nil
}

// entry returns the lines of an entry of a block list, which begins in a line.
func (f *yamlFile) entry(from int) (start, end int) {
	end = from + 1
	for n := end; n < len(f.lines); n++ {
		line := bytes.TrimRight(f.lines[n], "\r\n")
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if indent(line) <= indent(f.lines[from]) {
			break
		}
		end = n + 1
	}
	return from, end
}

func indent(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

func encode(node *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(node); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// edited returns a document with fields set, and with those whose value is nil removed.
func edited(content []byte, fields map[string]any, path ...string) ([]byte, error) {
	marker := bytes.HasPrefix(content, []byte("---"))
	f, err := parseLines(content)
	if err != nil {
		return nil, err
	}
	mapping := &f.root
	for _, name := range path {
		if _, mapping = value(mapping, name); mapping == nil {
			return content, nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		i := 0
		for i < len(mapping.Content) && mapping.Content[i].Value != name {
			i += 2
		}
		var node yaml.Node
		if err := node.Encode(fields[name]); err != nil {
			return nil, err
		}
		switch there := i < len(mapping.Content); {
		case fields[name] == nil && there:
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
		case fields[name] == nil:
		case there:
			old := mapping.Content[i+1]
			node.HeadComment, node.LineComment, node.FootComment = old.HeadComment, old.LineComment, old.FootComment
			mapping.Content[i+1] = &node
		default:
			mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, &node)
		}
	}
	out, err := encode(&f.root)
	if marker {
		out = append([]byte("---\n"), out...)
	}
	return out, err
}
