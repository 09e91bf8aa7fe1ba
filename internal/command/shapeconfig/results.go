package shapeconfig

import (
	"fmt"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/shape"
)

// Docs says in a line what each reason means, a configuration's own rules
// included.
func Docs(config shape.Config) map[string]string {
	docs := map[string]string{}
	for _, r := range config.Rules {
		docs[r.Name] = r.Message
	}
	for _, r := range shape.Reasons() {
		docs[r.Name] = r.Doc
	}
	return docs
}

// Levels says how much each reason weighs by a configuration: "error", "warning" or "off".
func Levels(config shape.Config) map[string]string {
	levels := map[string]string{}
	for _, r := range config.Rules {
		levels[r.Name] = r.Severity.String()
	}
	for _, r := range shape.Reasons() {
		levels[r.Name] = r.Severity.String()
	}
	for name, level := range config.Levels {
		levels[name] = string(level)
	}
	return levels
}

// Results turns what was found in a document into results.
func Results(doc *exception.Document, found []shape.Finding) []cli.Result {
	results := make([]cli.Result, 0, len(found))
	for _, f := range found {
		r := cli.ResultFor(doc)
		r.Outcome = cli.Refuse
		if f.Severity == shape.Warning {
			r.Outcome = cli.Warn
		}
		r.Line, r.Column = f.Position.Line, f.Position.Column
		r.Reason, r.Message, r.Hint = f.Reason, f.Message, f.Hint
		if len(f.Path) > 0 {
			r.Path = f.Path.String()
		}
		results = append(results, r)
	}
	return results
}

// Exempted names the first of what an exception exempts, and how many there are.
func Exempted(e shape.Exemption) string {
	const most = 5
	all := Names(e.Resources)
	text := strings.Join(all[:min(most, len(all))], ", ")
	switch more := e.Count - min(most, len(all)); {
	case e.Cut && len(all) == 0:
		text = "resources that are too many, or too costly to try, to be told"
	case e.Cut:
		text += fmt.Sprintf(" and more than %d others", more)
	case more > 0:
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Names are the identities as texts.
func Names(ids []exception.Identity) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = id.String()
	}
	return all
}
