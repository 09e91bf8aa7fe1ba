package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Project is the number of the project in GitLab's API.
const Project = "1001"

// gitlab adds the API of GitLab, below /api/v4. It moves no branch to another commit: git push does.
func (s *Server) gitlab(routes map[string]route) {
	const at = "/api/v4/projects/" + Project + "/repository"
	routes["POST "+at+"/branches"] = route{Create, s.createOnGitLab}
	routes["GET "+at+"/branches/{branch}"] = route{"read-branch", s.readOnGitLab}
	routes["DELETE "+at+"/branches/{branch}"] = route{Delete, s.deleteOnGitLab}
	routes["POST "+at+"/commits"] = route{Commit, s.commitOnGitLab}
}

func wrong(message string) (int, any) { return http.StatusBadRequest, object{"message": message} }

func (s *Server) createOnGitLab(r *http.Request, _ string) (int, any) {
	var asked struct{ Branch, Ref string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return wrong(err.Error())
	}
	if s.tip(r.Context(), asked.Branch) != "" {
		return wrong("Branch already exists")
	}
	if err := s.set(r.Context(), asked.Branch, asked.Ref, ""); err != nil {
		return wrong("Invalid reference name: " + asked.Ref)
	}
	return http.StatusCreated, object{"name": asked.Branch, "commit": object{"id": asked.Ref}}
}

func (s *Server) readOnGitLab(r *http.Request, _ string) (int, any) {
	at := s.tip(r.Context(), r.PathValue("branch"))
	if at == "" {
		return http.StatusNotFound, object{"message": "404 Branch Not Found"}
	}
	return http.StatusOK, object{"name": r.PathValue("branch"), "commit": object{"id": at}}
}

func (s *Server) deleteOnGitLab(r *http.Request, _ string) (int, any) {
	at := s.tip(r.Context(), r.PathValue("branch"))
	if at == "" {
		return http.StatusNotFound, object{"message": "404 Branch Not Found"}
	}
	if err := s.set(r.Context(), r.PathValue("branch"), "", at); err != nil {
		return wrong(err.Error())
	}
	return http.StatusNoContent, nil
}

func (s *Server) commitOnGitLab(r *http.Request, fault string) (int, any) {
	var asked struct {
		Branch        string
		CommitMessage string `json:"commit_message"`
		Actions       []struct {
			Action, Encoding string
			FilePath         string `json:"file_path"`
			Content          []byte
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return wrong(err.Error())
	}
	tip := s.tip(r.Context(), asked.Branch)
	if tip == "" {
		return wrong("You can only create or edit files when you are on a branch")
	}
	change := change{branch: asked.Branch, base: tip, message: asked.CommitMessage, committer: "GitLab <noreply@gitlab.com>", write: map[string][]byte{}}
	for _, action := range asked.Actions {
		listed, err := s.git(r.Context(), nil, nil, "ls-tree", tip, "--", action.FilePath)
		switch exists := listed != ""; {
		case err != nil:
			return wrong(err.Error())
		case action.Action == "create" && exists:
			return wrong("A file with this name already exists")
		case action.Action != "create" && !exists:
			return wrong("A file with this name doesn't exist")
		case action.Action == "delete":
			change.remove = append(change.remove, action.FilePath)
		case action.Encoding != "base64":
			return wrong(fmt.Sprintf("the encoding is %q", action.Encoding))
		default:
			change.write[action.FilePath] = action.Content
		}
	}
	hash, err := s.make(r.Context(), change, fault)
	if err != nil {
		return wrong(err.Error())
	}
	return http.StatusCreated, object{"id": hash}
}
