package promotion

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/pkg/exception"
)

// ManifestName is the manifest in a folder of signed files.
const ManifestName = "promotion.json"

const (
	manifestVersion = "polex.dev/v1alpha1"
	manifestKind    = "Promotion"
)

// manifest is the content of [ManifestName].
type manifest struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Source     string         `json:"source"`
	Files      []manifestFile `json:"files"`
}

type manifestFile struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// HandOver writes the signed documents into a new folder, under their paths in the repository, for
// [Plan.TakeOver]. The folder must not exist yet. It is created completely or not at all.
func (p *Promotion) HandOver(dir string) (err error) {
	temporary, err := makeBeside(dir)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(temporary)
		}
	}()
	m := manifest{APIVersion: manifestVersion, Kind: manifestKind, Source: p.queue.source.String(),
		Files: []manifestFile{}}
	for _, move := range p.Moves() {
		m.Files = append(m.Files, manifestFile{From: move.From, To: move.To})
		if err := writeInto(temporary, move.To, move.signed); err != nil {
			return fmt.Errorf("write signed files: %w", err)
		}
	}
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write signed files: %w", err)
	}
	err = errors.Join(writeInto(temporary, ManifestName, append(content, '\n')), os.Chmod(temporary, 0o755)) // #nosec G302 -- another job reads it
	if err == nil {
		err = os.Rename(temporary, dir)
	}
	if err != nil {
		return fmt.Errorf("write signed files: %w", err)
	}
	return nil
}

// makeBeside creates the temporary folder that is renamed to dir when it is complete.
func makeBeside(dir string) (string, error) {
	if _, err := os.Lstat(dir); err == nil {
		return "", fmt.Errorf("write signed files: %q exists already: remove it, or name another folder with "+
			"--signed-output", dir)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), ".polex-signed-*")
	if err != nil {
		return "", fmt.Errorf("write signed files: %w", err)
	}
	return temporary, nil
}

func writeInto(dir, name string, content []byte) error {
	to := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// readManifest reads the manifest of a folder. It rejects a manifest of another source commit or
// with files that are not pending there.
func (p *Plan) readManifest(content []byte) (map[string]string, exception.Refusals) {
	refuse := func(format string, args ...any) (map[string]string, exception.Refusals) {
		return nil, exception.Refusals{{Position: exception.Position{File: ManifestName}, Reason: ReasonNotTheRequest,
			Message: fmt.Sprintf(format, args...),
			Hint:    "give the file that polex-sign promote --signed-output wrote for this commit"}}
	}
	doc, err := exception.ParseUndeployed(content, ManifestName)
	if err != nil || !doc.JSON() {
		return refuse("it is not a JSON object")
	}
	var m manifest
	if err := doc.Decode(&m); err != nil || m.APIVersion != manifestVersion || m.Kind != manifestKind {
		return refuse("it does not describe a promotion")
	}
	if git.NewHash(m.Source) != p.queue.source {
		return refuse("it is for the commit %q, expected %s", m.Source, p.queue.source)
	}
	waits := map[string]string{}
	for _, f := range p.queue.files {
		waits[f.from] = f.to
	}
	files := map[string]string{}
	for _, f := range m.Files {
		if to, there := waits[f.From]; !there || to != f.To {
			return refuse("it names %q for %q, which is not pending in that commit", f.From, f.To)
		}
		if path.Clean(f.To) != f.To || files[f.To] != "" {
			return refuse("it names %q more than once", f.To)
		}
		files[f.To] = f.From
	}
	return files, nil
}
