package promotion

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion/pending"
	"github.com/polex-dev/polex/pkg/exception"
	"github.com/polex-dev/polex/pkg/trust"
	"github.com/polex-dev/polex/pkg/verify"
)

// skew is the allowed difference between the clocks of a Git server, a signer and a log.
const skew = 5 * time.Minute

// takeOver reads a folder that [run.handOver] wrote, and returns the files. The folder is not
// trusted. Each document must verify, must equal the request except for the fields that signing adds, and must be
// signed after the request. The folder must not hold other files. takeOver returns [exception.Refusals] otherwise.
// With [Options.KeepGoing], requests without a signed file are left out.
func (r *run) takeOver(plan *Plan) (signed signedFiles, err error) {
	defer func() {
		if err != nil && exception.RefusalsIn(err) == nil {
			err = fmt.Errorf("read signed files: %w", err)
		}
	}()
	root, err := os.OpenRoot(r.SignedInput)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // only read
	read := func(name string) ([]byte, error) { return readHanded(root, name) }
	content, err := read(ManifestName)
	if refusal := (*exception.Refusal)(nil); errors.As(err, &refusal) {
		return nil, exception.Refusals{refusal}
	}
	if err != nil {
		return nil, err
	}
	files, refusals := r.readManifest(content)
	if len(refusals) > 0 {
		return nil, refusals
	}
	if refusals, err = unexpected(root, files); err != nil {
		return nil, err
	}
	if r.KeepGoing {
		r.reject(Refused(plan.unsignedIn(files)))
		plan.Moves = slices.DeleteFunc(plan.Moves, func(m *Move) bool { return r.left[m.From] })
	}
	signed, more, err := plan.accept(read)
	if refusals = append(refusals, more...); err == nil && len(refusals) > 0 {
		err = refusals
	}
	return signed, err
}

// accept returns the signed form of each pending file, which read returns.
func (p *Plan) accept(read func(name string) ([]byte, error)) (signedFiles, exception.Refusals, error) {
	signed := signedFiles{}
	var all exception.Refusals
	for _, m := range p.Moves {
		content, err := read(m.To)
		if refusal := (*exception.Refusal)(nil); errors.As(err, &refusal) {
			all = append(all, refusal)
			continue
		}
		var docs []*exception.Document
		var refusals exception.Refusals
		if err == nil {
			docs, refusals, err = p.run.acceptFile(content, m)
		}
		if err == nil && len(refusals) == 0 {
			err = signed.add([]*Move{m}, docs)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w", m.To, err)
		}
		all = append(all, refusals...)
	}
	return signed, all, nil
}

// unsignedIn returns a refusal for each file that the signing job left out.
func (p *Plan) unsignedIn(files map[string]string) exception.Refusals {
	var refusals exception.Refusals
	for _, m := range p.Moves {
		if _, handed := files[m.To]; !handed {
			r := refuse(exception.Position{File: m.From}, ReasonNotSigned,
				"it is not among the signed files: the job that signs left it out")
			r.Hint = "the results of that job say why"
			refusals = append(refusals, r)
		}
	}
	return refusals
}

// unexpected returns a refusal for each file of a folder that its manifest does not name. It does not
// follow links.
func unexpected(root *os.Root, files map[string]string) (refusals exception.Refusals, err error) {
	met := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if met++; err == nil && met > git.MaxEntries {
			err = fmt.Errorf("there are more than %d files and folders", git.MaxEntries)
		}
		if err == nil && !entry.IsDir() && files[name] == "" && name != ManifestName {
			refusals = append(refusals, refuse(exception.Position{File: name}, ReasonUnexpectedFile,
				"%s does not name it", ManifestName))
		}
		return err
	})
	return refusals, err
}

// refuse refuses a file or a document.
func refuse(at exception.Position, reason, format string, args ...any) *exception.Refusal {
	return &exception.Refusal{Position: at, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// readHanded reads a regular file of limited size. Its error can be an *[exception.Refusal].
func readHanded(root *os.Root, name string) ([]byte, error) {
	at := exception.Position{File: name}
	switch info, err := root.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse(at, ReasonNotTheRequest, "it is not among the signed files")
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, refuse(at, pending.ReasonNotRegular,
			"it is not a regular file, and only regular files are accepted")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	content, err := io.ReadAll(io.LimitReader(f, git.MaxFile+1))
	if len(content) > git.MaxFile {
		return nil, refuse(at, pending.ReasonTooLarge, "it has more than %d bytes", git.MaxFile)
	}
	return content, err
}

// acceptFile reads the content of a signed file. It rejects documents that do not verify or do not
// match the request.
func (r *run) acceptFile(content []byte, m *Move) ([]*exception.Document, exception.Refusals, error) {
	signed, refusals, err := readDocuments(content, m.To)
	if err != nil || len(refusals) > 0 {
		return nil, refusals, err
	}
	if len(signed) != len(m.Documents) {
		return nil, exception.Refusals{refuse(exception.Position{File: m.To}, ReasonNotTheRequest,
			"it holds %d documents, and %s has %d", len(signed), m.From, len(m.Documents))}, nil
	}
	for i, doc := range signed {
		verified, err := r.verified(doc)
		var rejected *verify.Rejected
		if errors.As(err, &rejected) {
			refusals = append(refusals, refuse(doc.Position(), rejected.Reason, "it does not verify: %s",
				rejected.Detail))
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if refusal := r.answers(m, m.Documents[i], doc, verified); refusal != nil {
			refusals = append(refusals, refusal)
		}
	}
	return signed, refusals, nil
}

// verified verifies a signed document. It verifies a document with a later start as of its start, as
// the signer did.
func (r *run) verified(doc *exception.Document) (*verify.Verified, error) {
	examined := r.Verifier.Examine(doc)
	verified, err := examined.At(r.Now)
	var rejected *verify.Rejected
	if errors.As(err, &rejected) && rejected.Reason == verify.ReasonNotYetValid {
		return examined.At(rejected.Facts.StartsAt)
	}
	return verified, err
}

// answers rejects a signed document that does not match the request.
func (r *run) answers(m *Move, asked, signed *exception.Document, verified *verify.Verified) *exception.Refusal {
	witnessed := r.Now
	for _, s := range verified.Signatures() {
		if refusal := r.atCommit(m, signed, s); refusal != nil {
			return refusal
		}
		if s.WitnessedAt.IsZero() {
			continue
		}
		witnessed = s.WitnessedAt
		// The signer had read the source commit. An earlier signature belongs to another approval.
		if source := r.committedAt; witnessed.Before(source.Add(-skew)) {
			return refuse(signed.Position(), ReasonSignedEarlier,
				"it was signed at %s, before the commit of the request of %s", witnessed.UTC().Format(time.RFC3339),
				source.UTC().Format(time.RFC3339))
		}
	}
	if problem := differs(asked, verified.Message(), witnessed, r.Verifier.Policy().Rules().Terms); problem != "" {
		return refuse(signed.Position(), ReasonNotTheRequest, "it differs from %s: %s", m.From, problem)
	}
	return nil
}

// atCommits rejects what this run has signed itself, as [run.takeOver] does.
func (p *Plan) atCommits(signed []*exception.Document) error {
	r := p.run
	if r.Verifier == nil || !slices.ContainsFunc(r.Verifier.Policy().Authorities(), (*trust.Authority).RequiresCommit) {
		return nil
	}
	var refusals exception.Refusals
	for _, m := range p.Moves {
		for range m.Documents {
			verified, err := r.verified(signed[0])
			if err != nil {
				return err
			}
			for _, s := range verified.Signatures() {
				if refusal := r.atCommit(m, signed[0], s); refusal != nil {
					refusals = append(refusals, refusal)
				}
			}
			signed = signed[1:]
		}
	}
	if len(refusals) > 0 {
		return refusals
	}
	return nil
}

// atCommit rejects a signature whose authority requires the request in the commit of the run, if
// that commit is not in the history of the source or has another file there.
func (r *run) atCommit(m *Move, signed *exception.Document, s verify.Signature) *exception.Refusal {
	if a := r.Verifier.Policy().Authority(s.Authority); a == nil || !a.RequiresCommit() {
		return nil
	}
	said := s.Identity.Claims["sourceRepositoryDigest"]
	commit := git.NewHash(said)
	if known, err := r.Clone.Contains(r.result.Source, commit); err == nil && known && commit.String() == said {
		if tree, err := r.Clone.Tree(commit); err == nil {
			if at, err := tree.At(m.From); err == nil && at.IsFile() && at.Hash() == m.Blob {
				return nil
			}
		}
	}
	refusal := refuse(signed.Position(), ReasonNotAtCommit,
		"it was signed by a run of the commit %q, which does not have %s as it is requested", said, m.From)
	refusal.Hint = "sign it in a run of the commit that is promoted (requireCommit of the trust policy)"
	return refusal
}
