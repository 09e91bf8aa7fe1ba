package request

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
)

// The values of --from. The content of a file does not decide its form.
const (
	fromReport  = "report"
	fromApply   = "apply"
	fromDenial  = "denial"
	fromCluster = "cluster"
)

// violations reads the violations from the source in the flags.
func (r *run) violations(ctx context.Context, paths []string) ([]request.Violation, error) {
	switch {
	case r.options.from == fromCluster:
		return r.fromCluster(ctx)
	case len(paths) == 0:
		return r.fromFlags()
	case r.options.from == fromReport:
		return r.fromReports(paths), nil
	default:
		return r.fromTexts(paths), nil
	}
}

// fromFlags returns the violation in the flags. On a terminal it asks for missing values.
func (r *run) fromFlags() ([]request.Violation, error) {
	c := &r.options.choice
	var missing []question
	if c.Policy == "" {
		missing = append(missing, question{flag: "policy", asks: "which policy is violated?", into: &c.Policy})
	}
	if c.about == "" {
		missing = append(missing, question{flag: "about", into: &c.about,
			asks: "by which resource (KIND[.GROUP]/[NAMESPACE/]NAME)?"})
	}
	if len(missing) == 0 {
		return []request.Violation{c.violation()}, nil
	}
	if c.any() || !cli.IsTerminal(r.streams.In) {
		return nil, missingPart(missing)
	}
	if err := ask(missing, r.streams); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Rule == "" && r.config.Policies == nil {
		if err := ask([]question{{flag: "rule", asks: "which rule?", into: &c.Rule}}, r.streams); err != nil {
			return nil, err
		}
	}
	return []request.Violation{c.violation()}, nil
}

func (r *run) fromReports(paths []string) []request.Violation {
	var violations []request.Violation
	visit := func(doc *exception.Document) {
		report, problem := request.FromReport(doc)
		if problem != nil {
			r.refuse(*problem)
			return
		}
		violations = append(violations, report.Violations...)
		r.foreign += report.Foreign
	}
	unread := &cli.Report{}
	for _, path := range paths {
		in := cli.Inputs{Paths: []string{path}, Report: unread, Large: true}
		if info, err := os.Stat(path); path != "-" && (err != nil || info.IsDir()) {
			in.Each(visit)
			continue
		}
		text, err := r.text(path)
		if err != nil {
			unread.Add(cli.Result{Outcome: cli.Unknown, File: path, Reason: cli.ReasonUnreadable, Message: err.Error()})
			continue
		}
		in.Stream(strings.NewReader(withoutWarnings(text)), nameOf(path), visit)
	}
	for _, result := range unread.Results() {
		if result.Reason == cli.ReasonMalformed {
			const hint = "for output of kyverno, add --from apply or --from denial"
			result.Hint = strings.TrimSuffix(hint+"; otherwise "+result.Hint, "; otherwise ")
		}
		r.add(result)
	}
	return violations
}

func nameOf(path string) string {
	if path == "-" {
		return "<stdin>"
	}
	return path
}

// withoutWarnings turns the warnings that "kyverno apply" prints before its report into comments.
// It also removes "---" lines between JSON documents, so that they can be parsed. Line numbers stay
// the same.
func withoutWarnings(text string) string {
	const warning = "Warning: "
	lines := strings.SplitAfter(text, "\n")
	warned := false
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if !strings.HasPrefix(line, warning) {
			if strings.HasPrefix(line, "{") && !warned {
				return strings.ReplaceAll(text, "\n---\n", "\n\n")
			}
			break
		}
		lines[i], warned = "# "+line, true
	}
	return strings.Join(lines, "")
}

// fromTexts reads the output of commands.
func (r *run) fromTexts(paths []string) []request.Violation {
	var violations []request.Violation
	for _, path := range paths {
		text, err := r.text(path)
		if err != nil {
			r.add(cli.Result{Outcome: cli.Unknown, File: path, Reason: cli.ReasonUnreadable, Message: err.Error()})
			continue
		}
		read := request.FromApply
		if r.options.from == fromDenial {
			read = func(text, file string) ([]request.Violation, *request.Problem) {
				return request.FromDenial(text, file, r.about())
			}
		}
		some, problem := read(text, nameOf(path))
		if problem != nil {
			r.refuse(*problem)
			continue
		}
		violations = append(violations, some...)
	}
	return violations
}

// about returns the resource of a denied request: the one in --about, or the only manifest in
// --resources.
func (r *run) about() request.Resource {
	if r.options.choice.about != "" || len(r.objects) != 1 {
		return r.options.choice.Resource
	}
	only := r.objects[0]
	id := only.Identity()
	return request.Resource{APIVersion: only.APIVersion(), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

func (r *run) text(path string) (string, error) {
	const maxText = 64 << 20 // the maximum size in bytes of a command's output
	raw, err := cli.ReadInput(path, r.streams.In, maxText)
	// The result names the path already.
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return string(raw), err
}

// missingPart is the error for a violation that the flags do not name in full.
func missingPart(missing []question) error {
	if len(missing) == 2 {
		return &cli.UsageError{Err: errors.New("no violation given"),
			Hint: "name a file with reports, or use --policy, --rule and --about"}
	}
	var flags []string
	for _, q := range missing {
		flags = append(flags, "--"+q.flag)
	}
	return &cli.UsageError{Err: fmt.Errorf("missing %s", strings.Join(flags, " and ")),
		Hint: "add it; polex-request --help has an example"}
}
