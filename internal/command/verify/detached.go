package verify

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/pkg/verify"
)

// detached verifies a document without a signature of its own by a bundle in another file.
type detached struct {
	bundle string // the path; "" for signed documents
}

func addBundleFlag(cmd *cobra.Command) *detached {
	d := &detached{}
	cmd.Flags().StringVar(&d.bundle, "bundle", "",
		"verify one unsigned document by the Sigstore bundle (v0.3) in a `file`")
	return d
}

func (d *detached) on() bool { return d.bundle != "" }

// check rejects arguments that --bundle does not support.
func (d *detached) check(paths []string, git *gitFlags, emit *emission) error {
	switch {
	case !d.on():
		return nil
	case git.on():
		return cli.Usagef("--bundle cannot be combined with --git")
	case emit.form == "signed":
		return &cli.UsageError{Err: errors.New(
			"--bundle cannot be combined with --emit=signed: the document has no signature"),
			Hint: "print the document itself with --emit=message"}
	}
	if len(paths) != 1 {
		return &cli.UsageError{Err: errors.New("--bundle requires exactly one PATH"),
			Hint: "verify them one by one, each with its own bundle"}
	}
	if info, err := os.Stat(paths[0]); err == nil && info.IsDir() && paths[0] != "-" {
		return cli.Usagef("--bundle requires a file, and %s is a folder", paths[0])
	}
	return nil
}

// verify verifies the document and adds the result to the report.
func (d *detached) verify(r *run, in cli.Inputs) {
	bundle, err := cli.ReadFile(d.bundle)
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		r.report.Add(cli.Result{Outcome: cli.Unknown, File: d.bundle, Reason: cli.ReasonUnreadable,
			Message: "read bundle: " + err.Error()})
		return
	}
	doc, source := in.Whole()
	if doc == nil {
		return
	}
	verified, err := r.verifier.VerifyDetached(source, bundle, r.now)
	r.special = detachedHints
	r.settle(doc, r.answer(doc, verified, err))
}

// detachedHints replace the hints for signed documents.
var detachedHints = map[string]string{
	verify.ReasonBadMessage: "verify a signed document without --bundle",
	verify.ReasonMalformedSignature: "make the bundle with polex-sign --bundle, or with cosign sign-blob --bundle " +
		"(cosign 3)",
	verify.ReasonEvidenceMismatch: "the bundle signs other bytes: restore the file that was signed, or find its " +
		"bundle; verify a signed document without --bundle",
}
