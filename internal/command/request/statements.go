package request

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/lifetime"
	"github.com/polex-dev/polex/pkg/shape"
)

// statements are the statements of the requester.
type statements struct{ request.Statements }

func (s *statements) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.Reason, "reason", "", "reason for the exception")
	flags.StringVar(&s.Ticket, "ticket", "", "ticket of the decision")
	flags.StringVar(&s.Owner, "owner", "", "owner, a person or team")
	flags.StringVar(&s.ExpiresIn, "expires-in", "", "`duration` from signing to expiry, such as 4h or 7d")
	flags.StringVar(&s.Category, "category", "", "category: waiver (the risk is accepted) or mitigated")
}

func (s *statements) check() error {
	if s.ExpiresIn != "" {
		if _, err := lifetime.ParseDuration(s.ExpiresIn); err != nil {
			return cli.Usagef("--expires-in: %w", err)
		}
	}
	if s.Category != "" && s.Category != shape.CategoryWaiver && s.Category != shape.CategoryMitigated {
		return cli.Usagef("--category %q is not %s or %s", s.Category, shape.CategoryWaiver, shape.CategoryMitigated)
	}
	return nil
}

// question asks for one statement.
type question struct {
	flag, asks string
	into       *string
	needed     bool
}

// questions returns the questions without an answer: always the duration, and the statements that
// the configuration requires.
func (s *statements) questions(required []string) []question {
	needs := func(statement string) bool { return slices.Contains(required, statement) }
	all := []question{
		{"reason", "why is it needed?", &s.Reason, needs(shape.RequireReason)},
		{"ticket", "in which ticket is it decided?", &s.Ticket, needs(shape.RequireTicket)},
		{"owner", "owner (a person or team):", &s.Owner, needs(shape.RequireOwner)},
		{"category", "waiver (the risk is accepted) or mitigated?", &s.Category, needs(shape.RequireCategory)},
		{"expires-in", "for how long, from its signing (4h, 7d, 2w)?", &s.ExpiresIn, true},
	}
	return slices.DeleteFunc(all, func(q question) bool { return *q.into != "" || !q.needed })
}

// complete asks for missing statements on a terminal. Elsewhere, a missing statement is an error.
func (s *statements) complete(questions []question, streams cli.Streams) error {
	if len(questions) == 0 {
		return nil
	}
	if !cli.IsTerminal(streams.In) {
		flags := make([]string, len(questions))
		for i, q := range questions {
			flags[i] = "--" + q.flag
		}
		if len(flags) == 1 {
			return &cli.UsageError{Err: fmt.Errorf("missing required flag: %s", flags[0]),
				Hint: "add it; on a terminal, polex-request asks for it"}
		}
		return &cli.UsageError{Err: fmt.Errorf("missing required flags: %s", strings.Join(flags, ", ")),
			Hint: "add them; on a terminal, polex-request asks for them"}
	}
	if err := ask(questions, streams); err != nil {
		return err
	}
	return s.check()
}

// ask asks the questions one after the other.
func ask(questions []question, streams cli.Streams) error {
	const longestAnswer = 4096 // the maximum size in bytes of one answer
	in := bufio.NewReaderSize(streams.In, longestAnswer)
	for _, q := range questions {
		if _, err := fmt.Fprintf(streams.Err, "%s: %s ", q.flag, q.asks); err != nil {
			return err
		}
		line, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the answer to --%s: %w", q.flag, err)
		}
		if *q.into = strings.TrimSpace(string(line)); *q.into == "" {
			return cli.Usagef("no answer to --%s", q.flag)
		}
	}
	return nil
}

// choice selects violations from a report, or describes the single one without a report.
type choice struct {
	request.Selection
	about string // the resource of the selection
}

func (c *choice) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Policy, "policy", "", "violated policy: name, or namespace/name")
	flags.StringVar(&c.Rule, "rule", "",
		"violated rule, as Kyverno runs it for the resource; none for policies.kyverno.io")
	flags.StringVar(&c.about, "about", "",
		"violating resource: KIND[.GROUP]/[NAMESPACE/]NAME, such as Deployment/team-a/web")
	flags.StringVarP(&c.Namespace, "namespace", "n", "", "namespace of the violations (default: all)")
}

func (c *choice) any() bool {
	return c.Policy != "" || c.Rule != "" || c.about != "" || c.Namespace != ""
}

// check parses --about.
func (c *choice) check() (err error) {
	if c.about == "" {
		return nil
	}
	if c.Resource, err = request.ParseResource(c.about); err != nil {
		return &cli.UsageError{Err: fmt.Errorf("--about %w", err), Hint: "write it like --about Deployment/team-a/web"}
	}
	return nil
}

// violation returns the violation that the flags describe.
func (c *choice) violation() request.Violation {
	return request.Violation{Policy: c.Policy, Rule: c.Rule, Resource: c.Resource}
}
