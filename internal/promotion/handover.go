package promotion

import (
	"encoding/json"
	"path"

	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/promotion/deliver"
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

// handOver writes the signed files into a new folder, under their paths in the repository, for
// [run.takeOver]. The folder must not exist yet. It is created completely or not at all.
func (r *run) handOver(signed signedFiles) (moves []*Move, err error) {
	m := manifest{APIVersion: manifestVersion, Kind: manifestKind, Source: r.result.Source.String(),
		Files: []manifestFile{}}
	files := map[string][]byte{}
	for _, f := range r.files {
		if move, known := signed[f.From]; known {
			m.Files = append(m.Files, manifestFile{From: move.From, To: move.To})
			files[move.To] = move.signed
			moves = append(moves, move)
		}
	}
	content, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		files[ManifestName] = append(content, '\n')
		err = deliver.WriteFolder(r.To.Folder, files)
	}
	return moves, err
}

// readManifest reads the manifest of a folder. It rejects a manifest of another source commit or
// with files that are not pending there.
func (r *run) readManifest(content []byte) (map[string]string, exception.Refusals) {
	refuse := func(format string, args ...any) (map[string]string, exception.Refusals) {
		refusal := refuse(exception.Position{File: ManifestName}, ReasonNotTheRequest, format, args...)
		refusal.Hint = "give the file that polex-sign promote --signed-output wrote for this commit"
		return nil, exception.Refusals{refusal}
	}
	doc, err := exception.ParseUndeployed(content, ManifestName)
	if err != nil || !doc.JSON() {
		return refuse("it is not a JSON object")
	}
	var m manifest
	if err := doc.Decode(&m); err != nil || m.APIVersion != manifestVersion || m.Kind != manifestKind {
		return refuse("it does not describe a promotion")
	}
	if git.NewHash(m.Source) != r.result.Source {
		return refuse("it is for the commit %q, expected %s", m.Source, r.result.Source)
	}
	waits := map[string]string{}
	for _, f := range r.files {
		waits[f.From] = f.To
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
