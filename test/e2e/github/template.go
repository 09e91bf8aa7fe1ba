package github

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Owner and Name identify the repository made of the template.
const (
	Owner = "acme"
	Name  = "exceptions"
)

// Sigstore has the settings for another Sigstore than the public-good instance.
type Sigstore struct {
	IssuerURL, FulcioURL, RekorURL string
	TrustedRootPath                string
}

// Template returns the files of examples/github below root, with the replacements in its README. It
// also replaces the addresses, the issuer and the root of the public-good Sigstore.
func Template(root string, s Sigstore) (map[string]string, error) {
	files := map[string]string{}
	from := filepath.Join(root, "examples", "github")
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		files[filepath.ToSlash(relative)] = filled.Replace(string(text))
		return err
	})
	if err != nil {
		return nil, err
	}
	trusted, err := os.ReadFile(s.TrustedRootPath)
	if err != nil {
		return nil, fmt.Errorf("read the root that the repository trusts: %w", err)
	}
	files["trusted_root.json"] = string(trusted)
	files[".polex.yaml"] = strings.NewReplacer("      github:\n", "      issuer: "+s.IssuerURL+"\n      github:\n", "\ntrust:\n", "\ntrust:\n  trustedRoot: trusted_root.json\n").
		Replace(files[".polex.yaml"]) + "sigstore:\n  fulcioURL: " + s.FulcioURL + "\n  rekorURL: " + s.RekorURL + "\n"
	return files, nil
}

// filled replaces the placeholders of the template.
var filled = strings.NewReplacer(
	"0000000000000000000000000000000000000000", ActionCommit,
	"<owner>", Owner, "<repository>", Name,
	"<repository id>", "1001", "<owner id>", "2001", // the sandbox's values
	"<policy team>", "policy", "<platform team>", "platform",
)
