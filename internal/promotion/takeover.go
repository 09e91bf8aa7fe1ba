package promotion

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

// TakeOver reads a folder that [Signed.HandOver] wrote, and returns them. The folder is not
// trusted. Each document must verify, must equal the request except for the fields that signing adds, and must be
// signed after the request. The folder must not hold other files. TakeOver returns [exception.Refusals] otherwise.
// With [Options.KeepGoing], requests without a signed file leave the plan.
func (p *Plan) TakeOver(dir string, verifier *verify.Verifier, now time.Time) (*Signed, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read signed files: %w", err)
	}
	defer root.Close() //nolint:errcheck // only read
	handed, err := list(root)
	if err != nil {
		return nil, fmt.Errorf("read signed files: %w", err)
	}
	read := func(name string) ([]byte, error) { return handed.read(root, name) }
	content, err := read(ManifestName)
	if refusal := (*exception.Refusal)(nil); errors.As(err, &refusal) {
		return nil, exception.Refusals{refusal}
	}
	if err != nil {
		return nil, fmt.Errorf("read signed files: %w", err)
	}
	files, refusals := p.readManifest(content)
	if len(refusals) > 0 {
		return nil, refusals
	}
	for _, name := range slices.Sorted(maps.Keys(handed)) {
		if files[name] == "" && name != ManifestName {
			refusals = append(refusals, refuse(exception.Position{File: name}, ReasonUnexpectedFile,
				"%s does not name it", ManifestName))
		}
	}
	if p.queue.options.KeepGoing {
		p.leaveOut(p.unsigned(files))
	}
	signed, more, err := p.takeOver(verifier, now, read)
	if err != nil {
		return nil, fmt.Errorf("read signed files: %w", err)
	}
	if refusals = append(refusals, more...); len(refusals) > 0 {
		return nil, refusals
	}
	return signed, nil
}

// takeOver returns the promotion with the signed form of each pending file, which read returns.
func (p *Plan) takeOver(verifier *verify.Verifier, now time.Time,
	read func(name string) ([]byte, error)) (*Signed, exception.Refusals, error) {
	signed := p.noneSigned()
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
			docs, refusals, err = p.accept(content, m, verifier, now)
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

// unsigned returns a refusal for each file that the signing job left out.
func (p *Plan) unsigned(files map[string]string) exception.Refusals {
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

// handed are the files in a folder, and whether each is regular.
type handed map[string]bool

// list returns the files of a folder. It does not follow links.
func list(root *os.Root) (handed, error) {
	files, met := handed{}, 0
	err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if met++; err == nil && met > git.MaxEntries {
			err = fmt.Errorf("there are more than %d files and folders", git.MaxEntries)
		}
		if err == nil && !entry.IsDir() {
			files[name] = entry.Type().IsRegular()
		}
		return err
	})
	return files, err
}

// refuse refuses a file or a document.
func refuse(at exception.Position, reason, format string, args ...any) *exception.Refusal {
	return &exception.Refusal{Position: at, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// read reads a regular file of limited size. Its error can be an *[exception.Refusal].
func (h handed) read(root *os.Root, name string) ([]byte, error) {
	at := exception.Position{File: name}
	switch regular, there := h[name]; {
	case !there:
		return nil, refuse(at, ReasonNotTheRequest, "it is not among the signed files")
	case !regular:
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

// accept reads the content of a signed file. It rejects documents that do not verify or do not
// match the request.
func (p *Plan) accept(content []byte, m *Move, verifier *verify.Verifier,
	now time.Time) ([]*exception.Document, exception.Refusals, error) {
	signed, refusals, err := readDocuments(content, m.To)
	if err != nil || len(refusals) > 0 {
		return nil, refusals, err
	}
	if len(signed) != len(m.Documents) {
		return nil, exception.Refusals{refuse(exception.Position{File: m.To}, ReasonNotTheRequest,
			"it holds %d documents, and %s has %d", len(signed), m.From, len(m.Documents))}, nil
	}
	for i, doc := range signed {
		verified, err := verified(verifier, doc, now)
		var rejected *verify.Rejected
		if errors.As(err, &rejected) {
			refusals = append(refusals, refuse(doc.Position(), rejected.Reason, "it does not verify: %s",
				rejected.Detail))
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if refusal := p.answers(m, m.Documents[i], doc, verified, verifier.Policy(), now); refusal != nil {
			refusals = append(refusals, refusal)
		}
	}
	return signed, refusals, nil
}

// verified verifies a signed document. It verifies a document with a later start as of its start, as
// the signer did.
func verified(verifier *verify.Verifier, doc *exception.Document, now time.Time) (*verify.Verified, error) {
	examined := verifier.Examine(doc)
	verified, err := examined.At(now)
	var rejected *verify.Rejected
	if errors.As(err, &rejected) && rejected.Reason == verify.ReasonNotYetValid {
		return examined.At(rejected.Facts.StartsAt)
	}
	return verified, err
}

// answers rejects a signed document that does not match the request.
func (p *Plan) answers(m *Move, asked, signed *exception.Document, verified *verify.Verified, policy *trust.Policy,
	now time.Time) *exception.Refusal {
	witnessed := now
	for _, s := range verified.Signatures() {
		if refusal := p.atCommit(m, signed, s, policy); refusal != nil {
			return refusal
		}
		if s.WitnessedAt.IsZero() {
			continue
		}
		witnessed = s.WitnessedAt
		// The signer had read the source commit. An earlier signature belongs to another approval.
		if source := p.queue.committedAt; witnessed.Before(source.Add(-skew)) {
			return refuse(signed.Position(), ReasonSignedEarlier,
				"it was signed at %s, before the commit of the request of %s", witnessed.UTC().Format(time.RFC3339),
				source.UTC().Format(time.RFC3339))
		}
	}
	if problem := differs(asked, verified.Message(), witnessed, policy.Rules().Terms); problem != "" {
		return refuse(signed.Position(), ReasonNotTheRequest, "it differs from %s: %s", m.From, problem)
	}
	return nil
}

// atCommits rejects what this run has signed itself for moves, as [Plan.TakeOver] does.
func (p *Plan) atCommits(moves []*Move, signed []*exception.Document, verifier *verify.Verifier, now time.Time) error {
	if verifier == nil || !slices.ContainsFunc(verifier.Policy().Authorities(), (*trust.Authority).RequiresCommit) {
		return nil
	}
	var refusals exception.Refusals
	for _, m := range moves {
		for range m.Documents {
			verified, err := verified(verifier, signed[0], now)
			if err != nil {
				return err
			}
			for _, s := range verified.Signatures() {
				if refusal := p.atCommit(m, signed[0], s, verifier.Policy()); refusal != nil {
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
func (p *Plan) atCommit(m *Move, signed *exception.Document, s verify.Signature,
	policy *trust.Policy) *exception.Refusal {
	if a := policy.Authority(s.Authority); a == nil || !a.RequiresCommit() {
		return nil
	}
	said := s.Identity.Claims["sourceRepositoryDigest"]
	commit := git.NewHash(said)
	if known, err := p.queue.clone.Contains(p.queue.source, commit); err == nil && known && commit.String() == said {
		if tree, err := p.queue.clone.Tree(commit); err == nil {
			if at, err := tree.At(m.From); err == nil && at.IsFile() && at.Hash() == m.Blob {
				return nil
			}
		}
	}
	r := refuse(signed.Position(), ReasonNotAtCommit,
		"it was signed by a run of the commit %q, which does not have %s as it is requested", said, m.From)
	r.Hint = "sign it in a run of the commit that is promoted (requireCommit of the trust policy)"
	return r
}
