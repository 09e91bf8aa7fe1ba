package githubtest

import (
	"bytes"
	"context"
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
	change := change{branch: in.Branch.BranchName, base: in.ExpectedHeadOid, message: in.Message.Headline + "\n\n" + in.Message.Body, committer: "GitHub <noreply@github.com>", write: map[string][]byte{}}
	for _, addition := range in.FileChanges.Additions {
		change.write[addition.Path] = addition.Contents
	}
	for _, deletion := range in.FileChanges.Deletions {
		change.remove = append(change.remove, deletion.Path)
	}
	hash, err := s.make(r.Context(), change, fault)
	if err != nil {
		return failed("UNPROCESSABLE", err.Error())
	}
	return http.StatusOK, object{"data": object{"createCommitOnBranch": object{"commit": object{"oid": hash}}}}
}

// change is a commit to make.
type change struct {
	branch, base, message, committer string

	write  map[string][]byte
	remove []string
}

// make commits a change with a signature, or with a fault.
func (s *Server) make(ctx context.Context, c change, fault string) (string, error) {
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(s.dir, "polex-index")}
	defer os.Remove(filepath.Join(s.dir, "polex-index")) //nolint:errcheck // the next one is read anew
	if _, err := s.git(ctx, index, nil, "read-tree", c.base); err != nil {
		return "", err
	}
	var edits bytes.Buffer
	for _, path := range c.remove {
		fmt.Fprintf(&edits, "0 %s\t%s\x00", none, path)
	}
	if strings.HasPrefix(fault, OtherTree) {
		c.write["signed/other.yaml"] = []byte("other: 1\n")
	}
	for path, content := range c.write {
		// The server keeps the mode of an existing file.
		mode := "100644"
		if listed, _ := s.git(ctx, nil, nil, "ls-tree", c.base, "--", path); listed != "" {
			mode, _, _ = strings.Cut(listed, " ")
		}
		blob, err := s.git(ctx, nil, content, "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&edits, "%s %s\t%s\x00", mode, blob, path)
	}
	if _, err := s.git(ctx, index, edits.Bytes(), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	tree, err := s.git(ctx, index, nil, "write-tree")
	if err != nil {
		return "", err
	}
	parent := c.base
	switch fault {
	case OtherParent:
		if parent, err = s.git(ctx, nil, nil, "rev-parse", parent+"^"); err != nil {
			return "", err
		}
	case OtherMessage:
		c.message += "\nPolex-Log-Index: 1"
	}
	content := fmt.Sprintf("tree %s\nparent %s\nauthor bot <bot@example.com> 1772360000 +0000\ncommitter %s 1772360000 +0000\n"+
		"gpgsig -----BEGIN PGP SIGNATURE-----\n \n of the server\n -----END PGP SIGNATURE-----\n\n%s", tree, parent, c.committer, c.message)
	hash, err := s.git(ctx, nil, []byte(content), "hash-object", "-t", "commit", "-w", "--stdin")
	if err != nil {
		return "", err
	}
	return hash, s.set(ctx, c.branch, hash, c.base)
}
