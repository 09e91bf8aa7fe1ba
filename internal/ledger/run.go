package ledger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/polex-dev/polex/internal/git"
)

// attempt is the number of a repeated run in the address of a GitHub run.
var attempt = regexp.MustCompile(`/attempts/([2-9]|[1-9][0-9]+)$`)

// findOurs finds the names of this repository in certificates: those of runs of a commit of the
// history. A deleted branch can leave a signature whose commit is not in the clone.
func (r *reading) findOurs() {
	r.ours = map[string]bool{}
	for _, e := range r.ledger.Entries {
		if e.Seal == nil {
			continue
		}
		for _, s := range e.Seal.Signatures {
			if s.Authority != "" && s.Source != "" && r.known[plumbing.NewHash(s.Commit)] != nil {
				r.ours[s.Source] = true
			}
		}
	}
}

// settleRun adds findings about the run that made a signature.
func (r *reading) settleRun(e *Entry, s Signature, say func(kind Kind, message, hint string)) {
	authority := r.Verifier.Policy().Authority(s.Authority)
	if authority == nil || s.Issuer == "" {
		return
	}
	if m := attempt.FindStringSubmatch(s.Run); m != nil {
		say(Rerun, fmt.Sprintf("attempt %s of %s signed it", m[1], s.Run), "compare the attempts: somebody started the run again")
	}
	if s.Trigger != "" && s.Trigger != "push" && !authority.Requires("buildTrigger") {
		say(OddTrigger, fmt.Sprintf("the event %q started the run %s", s.Trigger, s.Run), "if that is right, list the event under claims.buildTrigger of the authority; otherwise list push alone")
	}
	commit := plumbing.NewHash(s.Commit)
	tree, err := r.repository.Tree(commit)
	known := err == nil && commit.String() == s.Commit
	switch {
	case authority.RequiresCommit() && (!known || r.known[commit] == nil):
		say(NotAtCommit, fmt.Sprintf("it was signed by a run of the commit %q, which is not in the history of the branch", s.Commit), "find out which branch or repository the run was on; requireCommit of the trust policy asks for this")
	case authority.RequiresCommit() && !r.contains(tree, e):
		say(NotAtCommit, fmt.Sprintf("it was signed by a run of the commit %s, which does not contain it", s.Commit), "look at the run; requireCommit of the trust policy asks for this")
	}
	// The refs of another repository are not known.
	if (known || r.ours[s.Source]) && s.Ref != "" && !r.refExists(s.Ref) {
		say(DeletedRef, fmt.Sprintf("it was signed on %s, which this clone does not have", s.Ref), "fetch all branches; if it is deleted, find out what was on it")
	}
}

// contains reports whether a tree has the exception of an entry under signed/, or its request.
func (r *reading) contains(tree *git.Tree, e *Entry) bool {
	has := func(file string, signed bool) bool {
		at, err := tree.At(file)
		return err == nil && slices.ContainsFunc(r.documentsOf(source{contentOf(at), signed}), func(d *found) bool {
			return d.key.identity == e.key.identity
		})
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
		if hash, err := r.repository.Reference(plumbing.ReferenceName(name)); err == nil && !hash.IsZero() {
			return true
		}
	}
	return false
}
