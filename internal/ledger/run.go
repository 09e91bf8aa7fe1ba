package ledger

import (
	"regexp"
	"slices"
	"strings"

	"github.com/polex-dev/polex/internal/git"
)

// attempt is the number of a repeated run in the address of a GitHub run.
var attempt = regexp.MustCompile(`/attempts/([2-9]|[1-9][0-9]+)$`)

// findOurs finds the names of this repository in certificates: those of runs of a commit of the
// history. A deleted branch can leave a signature whose commit is not in the clone.
func (r *reading) findOurs() {
	r.ours = map[string]bool{}
	for _, e := range r.ledger.Entries {
		for _, s := range e.Signatures() {
			if s.Authority != "" && s.Source != "" && r.known[git.NewHash(s.Commit)] != nil {
				r.ours[s.Source] = true
			}
		}
	}
}

// checkRun adds findings about the run that made a signature.
func (r *reading) checkRun(e *Entry, s Signature) {
	authority := r.Verifier.Policy().Authority(s.Authority)
	if authority == nil || s.Issuer == "" {
		return
	}
	if m := attempt.FindStringSubmatch(s.Run); m != nil {
		r.findOf(e, Rerun, "compare the attempts: somebody started the run again",
			"attempt %s of %s signed it", m[1], s.Run)
	}
	if s.Trigger != "" && s.Trigger != "push" && !authority.Requires("buildTrigger") {
		r.findOf(e, OddTrigger,
			"if that is right, list the event under claims.buildTrigger of the authority; otherwise list push alone",
			"the event %q started the run %s", s.Trigger, s.Run)
	}
	commit := git.NewHash(s.Commit)
	tree, err := r.repository.Tree(commit)
	known := err == nil && commit.String() == s.Commit
	switch {
	case authority.RequiresCommit() && (!known || r.known[commit] == nil):
		r.findOf(e, NotAtCommit,
			"find out which branch or repository the run was on; requireCommit of the trust policy asks for this",
			"it was signed by a run of the commit %q, which is not in the history of the branch", s.Commit)
	case authority.RequiresCommit() && !r.contains(tree, e):
		r.findOf(e, NotAtCommit, "look at the run; requireCommit of the trust policy asks for this",
			"it was signed by a run of the commit %s, which does not contain it", s.Commit)
	}
	// The refs of another repository are not known.
	if (known || r.ours[s.Source]) && s.Ref != "" && !r.refExists(s.Ref) {
		r.findOf(e, DeletedRef, "fetch all branches; if it is deleted, find out what was on it",
			"it was signed on %s, which this clone does not have", s.Ref)
	}
}

// contains reports whether a tree has the exception of an entry under signed/, or its request.
func (r *reading) contains(tree *git.Tree, e *Entry) bool {
	has := func(file string, signed bool) bool {
		at, err := tree.At(file)
		return err == nil && r.has(contentOf(at, signed), e.key.identity)
	}
	return has(e.File, true) || e.Request != nil && (has(e.Request.File, false) ||
		slices.ContainsFunc(e.Request.Moves, func(m Move) bool { return has(m.From, false) }))
}

// refExists reports whether the clone has a branch or tag, itself or from its remotes.
func (r *reading) refExists(ref string) bool {
	names := []string{ref}
	if branch, is := strings.CutPrefix(ref, "refs/heads/"); is {
		names = append(names, "refs/remotes/origin/"+branch)
	}
	for _, name := range names {
		if hash, err := r.repository.Reference(git.ReferenceName(name)); err == nil && !hash.IsZero() {
			return true
		}
	}
	return false
}
