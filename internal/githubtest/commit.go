package githubtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// commit is createCommitOnBranch of the GraphQL API.
func (s *Server) commit(r *http.Request, fault string) (int, any) {
	failed := func(kind, message string) (int, any) {
		return http.StatusOK, object{"data": object{"createCommitOnBranch": nil}, "errors": []object{{"type": kind, "message": message}}}
	}
	var asked struct {
		Query     string
		Variables struct {
			Input struct {
				Branch          struct{ RepositoryNameWithOwner, BranchName string }
				ExpectedHeadOid string
				Message         struct{ Headline, Body string }
				FileChanges     struct {
					Additions []struct {
						Path     string
						Contents []byte
					}
					Deletions []struct{ Path string }
				}
			}
		}
	}
	raw, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(raw, &asked)
	}
	in := asked.Variables.Input
	if err != nil || !strings.Contains(asked.Query, "createCommitOnBranch(input: $input)") || in.Branch.RepositoryNameWithOwner != Repository {
		return failed("INVALID", "Variable $input was provided invalid value")
	}
	if tip := s.tip(r.Context(), in.Branch.BranchName); tip == "" || tip != in.ExpectedHeadOid {
		return failed("STALE_DATA", fmt.Sprintf("Expected branch to point to %q but it did not.  Pull and try again.", tip))
	}
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(s.dir, "polex-index")}
	defer os.Remove(filepath.Join(s.dir, "polex-index")) //nolint:errcheck // the next one is read anew
	_, err = s.git(r.Context(), index, nil, "read-tree", in.ExpectedHeadOid)
	var edits bytes.Buffer
	for _, deletion := range in.FileChanges.Deletions {
		fmt.Fprintf(&edits, "0 %s\t%s\x00", none, deletion.Path)
	}
	additions := in.FileChanges.Additions
	if strings.HasPrefix(fault, OtherTree) {
		additions = append(additions, struct {
			Path     string
			Contents []byte
		}{"signed/other.yaml", []byte("other: 1\n")})
	}
	for _, addition := range additions {
		if err != nil {
			break
		}
		// GitHub keeps the mode of an existing file.
		mode := "100644"
		if listed, _ := s.git(r.Context(), nil, nil, "ls-tree", in.ExpectedHeadOid, "--", addition.Path); listed != "" {
			mode, _, _ = strings.Cut(listed, " ")
		}
		var blob string
		if blob, err = s.git(r.Context(), nil, addition.Contents, "hash-object", "-w", "--stdin"); err == nil {
			fmt.Fprintf(&edits, "%s %s\t%s\x00", mode, blob, addition.Path)
		}
	}
	if err == nil {
		_, err = s.git(r.Context(), index, edits.Bytes(), "update-index", "-z", "--index-info")
	}
	if err != nil {
		return failed("UNPROCESSABLE", err.Error())
	}
	tree, err := s.git(r.Context(), index, nil, "write-tree")
	if err != nil {
		return failed("UNPROCESSABLE", err.Error())
	}
	parent, message := in.ExpectedHeadOid, in.Message.Headline+"\n\n"+in.Message.Body
	switch fault {
	case OtherParent:
		if parent, err = s.git(r.Context(), nil, nil, "rev-parse", parent+"^"); err != nil {
			return failed("UNPROCESSABLE", err.Error())
		}
	case OtherMessage:
		message += "\nPolex-Log-Index: 1"
	}
	content := fmt.Sprintf("tree %s\nparent %s\nauthor github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com> 1772360000 +0000\n"+
		"committer GitHub <noreply@github.com> 1772360000 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n of GitHub\n -----END PGP SIGNATURE-----\n\n%s", tree, parent, message)
	hash, err := s.git(r.Context(), nil, []byte(content), "hash-object", "-t", "commit", "-w", "--stdin")
	if err == nil {
		err = s.set(r.Context(), in.Branch.BranchName, hash, in.ExpectedHeadOid)
	}
	if err != nil {
		return failed("UNPROCESSABLE", err.Error())
	}
	return http.StatusOK, object{"data": object{"createCommitOnBranch": object{"commit": object{"oid": hash}}}}
}
