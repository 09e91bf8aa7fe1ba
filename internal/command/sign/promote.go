package sign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/command/commitflags"
	"github.com/polex-dev/polex/internal/config"
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/git/commit"
	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/promote"
	"github.com/polex-dev/polex/pkg/exception"
)

// promotion is one run of polex-sign --promote.
type promotion struct {
	*run
	clone   *commit.Clone
	author  commit.Author
	push    commit.Push
	skipped map[string]bool // files that were said to be
	refused map[string]bool // files that are left out, with --keep-going
}

// promote seals the repository's queue.
func (r *run) promote(ctx context.Context) error {
	clone, err := commitflags.Open(r.streams.Err)
	if err != nil {
		return err
	}
	defer clone.Close() //nolint:errcheck // the kernel would do it
	p := &promotion{run: r, clone: clone}
	if r.options.commits() {
		if p.author, err = r.options.By(clone, r.now); err != nil {
			return err
		}
	}
	if err := p.findRemote(); err != nil {
		return err
	}
	err = p.carryOut(ctx)
	var refused exception.Refusals
	if errors.As(err, &refused) {
		r.refuse(refused)
		r.report.Documents = max(r.report.Documents, len(refused))
		return cli.Finish(r.format, r.streams.Out, r.report)
	}
	var revision *git.RevisionError
	switch {
	case errors.As(err, &revision) && revision.Malformed:
		return &cli.UsageError{Err: err, Hint: revision.Hint()}
	case errors.As(err, &revision):
		return cli.Hint(err, revision.Hint())
	}
	return err
}

// carryOut plans, seals and does what was asked for.
func (p *promotion) carryOut(ctx context.Context) error {
	queue, on, err := p.open(ctx)
	if err != nil {
		return err
	}
	plan, record, err := p.plan(ctx, queue, on)
	if err != nil {
		return pushHint(err)
	}
	p.skip(plan.Skipped)
	if len(plan.Moves) == 0 {
		p.leaveOut(plan.Refused)
		p.follow(on)
		return p.nothing()
	}
	asked := len(plan.Documents())
	p.report.Documents += asked
	if err := p.refuseOverlaps(plan); err != nil {
		return err
	}
	if p.options.dryRun {
		return p.foresee(plan, record)
	}
	if p.options.pullRequest {
		if p.push.As = p.options.pullRequestName; p.push.As == "" {
			p.push.As = queue.PullRequestBranch()
		}
		if commit, there, err := p.proposed(ctx, plan); err != nil || there {
			return p.onBranch(commit, err)
		}
	}
	sealed, err := p.sealed(ctx, plan, record)
	if err != nil {
		return err
	}
	p.leaveOut(plan.Refused)
	if p.options.sealedOutput != "" {
		return p.handOver(plan, sealed)
	}
	promotion, err := plan.Seal(sealed)
	if err != nil {
		return err
	}
	var done *promote.Done
	switch {
	case p.options.pushes():
		done, err = promotion.Push(ctx, p.author, p.push)
	case p.options.Commit:
		done, err = promotion.Commit(ctx, p.author)
	default:
		done, err = promotion.Apply()
	}
	if err != nil {
		return pushHint(err)
	}
	p.report.Documents -= asked // they are counted as they are done
	return p.done(done)
}

// open reads the queue, and finds the commit that it is planned on: what the target branch
// has now, once the remote has everything of this clone that is to be pushed.
func (p *promotion) open(ctx context.Context) (*promote.Queue, plumbing.Hash, error) {
	rules, err := p.rulesInRepository()
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	options := promote.Options{Unsigned: p.options.unsigned, Signed: p.options.signed, Source: p.options.source, Replace: p.options.replace, KeepGoing: p.options.keepGoing,
		Rules: rules}
	if p.options.Push && !p.options.pullRequest && !p.options.dryRun {
		landed, err := promote.Land(ctx, p.clone, options, p.push, p.author.Sign)
		if err != nil {
			return nil, plumbing.ZeroHash, pushHint(err)
		}
		if landed > 0 {
			_, _ = fmt.Fprintf(p.streams.Err, "%d earlier promotions were not on %s yet, and are now\n", landed, p.push.To)
		}
	}
	queue, err := promote.Open(p.clone, options)
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	on, err := p.target(ctx)
	return queue, on, err
}

// rulesInRepository are the configuration and the policies, as far as the repository has
// them: what this run signs by.
func (p *promotion) rulesInRepository() ([]string, error) {
	root, err := config.RepositoryRoot(".")
	if err != nil {
		return nil, err
	}
	at := p.options.config
	if at == "" {
		at = filepath.Join(root, config.Name)
	}
	paths := []string{at}
	if d := p.config.Directories; d.Policies != "" {
		paths = append(paths, filepath.Join(p.config.Dir, filepath.FromSlash(d.Policies)))
	}
	var rules []string
	for _, path := range paths {
		if name, inside := config.PathIn(root, path); inside && name != "." {
			rules = append(rules, name)
		}
	}
	return rules, nil
}

// sealed signs the documents, or takes them from the job that did.
func (p *promotion) sealed(ctx context.Context, plan *promote.Plan, record recording) ([]*exception.Document, error) {
	docs := plan.Documents()
	if p.options.sealedInput == "" {
		return p.seal(ctx, docs, record, p.streams.Out)
	}
	if err := p.pass(docs, p.streams.Out); err != nil {
		return nil, err
	}
	verifier, err := p.trusted.Verifier(p.config)
	if err != nil {
		return nil, err
	}
	return plan.TakeOver(p.options.sealedInput, verifier, p.now)
}

// follow completes a run before this one that pushed, and was kept from bringing the
// clone to where the remote is. There is nothing else that this run would do.
func (p *promotion) follow(tip plumbing.Hash) {
	if !p.options.Push || p.options.pullRequest || p.options.dryRun {
		return
	}
	if err := p.clone.Follow(p.author, p.push, tip); err != nil {
		_, _ = fmt.Fprintln(p.streams.Err, plain.Line(fmt.Sprintf("the local branch and the work tree are not at %s: %v", p.push.To, err)))
	}
}

// nothing ends a run that had nothing to sign.
func (p *promotion) nothing() error {
	p.report.Idle = "nothing waits to be signed"
	return cli.Finish(p.format, p.streams.Out, p.report)
}

// skip puts on the report what is not this run's to sign, as soon as that is
// known: it may be while it is pushed.
func (p *promotion) skip(skipped []promote.Skip) {
	if p.skipped == nil {
		p.skipped = map[string]bool{}
	}
	for _, s := range skipped {
		if p.skipped[s.File] {
			continue
		}
		p.skipped[s.File] = true
		p.report.Documents++
		p.report.Add(cli.Result{Outcome: cli.Warn, File: s.File, Reason: s.Reason, Message: s.Message})
	}
}
