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

// HandOver writes the signed documents into a new folder, under their paths in the repository, for
// [Plan.TakeOver]. The folder must not exist yet. It is created completely or not at all.
func (p *Signed) HandOver(dir string) error {
	m := manifest{APIVersion: manifestVersion, Kind: manifestKind, Source: p.queue.source.String(),
		Files: []manifestFile{}}
	files := map[string][]byte{}
	for _, move := range p.Moves() {
		m.Files = append(m.Files, manifestFile{From: move.From, To: move.To})
		files[move.To] = move.signed
	}
	content, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		files[ManifestName] = append(content, '\n')
		err = deliver.WriteFolder(dir, files)
	}
	return err
}

// readManifest reads the manifest of a folder. It rejects a manifest of another source commit or
// with files that are not pending there.
func (p *Plan) readManifest(content []byte) (map[string]string, exception.Refusals) {
	refuse := func(format string, args ...any) (map[string]string, exception.Refusals) {
		r := refuse(exception.Position{File: ManifestName}, ReasonNotTheRequest, format, args...)
		r.Hint = "give the file that polex-sign promote --signed-output wrote for this commit"
		return nil, exception.Refusals{r}
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
