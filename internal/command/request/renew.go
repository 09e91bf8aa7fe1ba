package request

import (
	"errors"
	"fmt"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/request"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// renew drafts the renewal of a signed exception. Its statements can be changed with flags.
func (r *run) renew() error {
	signed, err := r.signed(r.options.renew)
	if err != nil {
		return err
	}
	say := &r.options.say
	if err := say.complete(say.questions(nil), r.streams); err != nil {
		return err
	}
	result := cli.ResultFor(signed)
	result.Outcome, result.Reason = cli.Refuse, request.ReasonNotRenewable
	draft, problem := request.Renew(signed, say.Statements, &r.config)
	if problem != nil {
		result.Message, result.Hint = problem.Message, problem.Hint
		r.add(result)
		return r.end()
	}
	verified, err := r.verify(signed)
	var rejected *verify.Rejected
	switch {
	case errors.As(err, &rejected):
		result.Reason, result.Message = rejected.Reason, rejected.Detail
		r.add(result)
		return r.end()
	case err != nil:
		return err
	case !verified:
		draft.Notes = append(draft.Notes,
			"the signature of the renewed exception was not verified: the configuration has no trust policy")
	}
	return r.put([]request.Draft{*draft})
}

// signed returns the signed exception of a name. It must be the only one.
func (r *run) signed(name string) (*exception.Document, error) {
	folder := r.inRepository(r.folders.Signed)
	var all []*exception.Document
	for doc := range cli.Documents([]string{folder}, r.report, cli.Warn) {
		if id := doc.Identity(); id.Name == name || id.Namespace+"/"+id.Name == name {
			all = append(all, doc)
		}
	}
	switch {
	case len(all) == 0:
		return nil, cli.Hint(fmt.Errorf("%s has no exception %q", folder, name),
			"a revoked or removed exception cannot be renewed; request a new one")
	case len(all) > 1:
		return nil, cli.Usagef("%q is at %s and at %s: name it as namespace/name",
			name, all[0].Position(), all[1].Position())
	}
	return all[0], nil
}

// verify verifies an exception if the configuration has a trust policy. An expired exception can
// still be renewed.
func (r *run) verify(signed *exception.Document) (verified bool, err error) {
	const sectionTrust = "trust" // the section with the trust policy
	if _, exists := r.cfg.Document().Lookup(sectionTrust); !exists {
		return false, nil
	}
	c, err := trust.Read(r.cfg.Document(), r.cfg.Dir)
	var policy *trust.Policy
	if err == nil {
		policy, err = trust.Load(c)
	}
	if err != nil {
		return false, &cli.UsageError{Err: err}
	}
	verifier, err := verify.New(policy)
	if err != nil {
		return false, err
	}
	_, err = verifier.Predecessor(signed, r.now)
	return err == nil, err
}
