package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

type pull struct {
	Number int    `json:"number"`
	State  string `json:"state"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	URL    string `json:"html_url"`
	Head   branch `json:"head"`
	Base   branch `json:"base"`
}

type branch struct {
	Ref  string            `json:"ref"`
	Repo map[string]string `json:"repo"`
}

// Pulls returns the pull requests, each as "state head: title".
func (s *Server) Pulls() (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pulls {
		lines = append(lines, fmt.Sprintf("%s %s: %s", p.State, p.Head.Ref, p.Title))
	}
	return lines
}

func (s *Server) listPulls(r *http.Request, _ string) (int, any) {
	found := []*pull{}
	head := r.URL.Query().Get("head")
	for _, p := range s.pulls {
		if base := r.URL.Query().Get("base"); p.State == "open" && (base == "" || base == p.Base.Ref) && (head == "" || head == "acme:"+p.Head.Ref) {
			found = append(found, p)
		}
	}
	return http.StatusOK, found
}

// AddPull adds an open pull request of a branch of a repository.
func (s *Server) AddPull(repository, head, base string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(&pull{Title: "by others"}, repository, head, base)
}

func (s *Server) add(p *pull, repository, head, base string) {
	p.Number, p.State = len(s.pulls)+1, "open"
	p.URL = fmt.Sprintf("https://github.com/%s/pull/%d", Repository, p.Number)
	p.Head, p.Base = branch{head, map[string]string{"full_name": repository}}, branch{base, map[string]string{"full_name": Repository}}
	s.pulls = append(s.pulls, p)
}

func (s *Server) propose(r *http.Request, fault string) (int, any) {
	var asked struct{ Title, Body, Head, Base string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || s.tip(r.Context(), asked.Head) == "" {
		return refuse("Validation Failed: head")
	}
	for _, p := range s.pulls {
		if p.State == "open" && p.Head.Ref == asked.Head && p.Base.Ref == asked.Base && p.Head.Repo["full_name"] == Repository {
			return refuse("A pull request already exists for acme:" + asked.Head)
		}
	}
	made := &pull{Title: asked.Title, Body: asked.Body}
	s.add(made, Repository, asked.Head, asked.Base)
	if fault == Escapes {
		made.URL += "\x1b[2J\n::add-mask::1"
	}
	return http.StatusCreated, made
}

func (s *Server) changePull(r *http.Request, _ string) (int, any) {
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || number < 1 || number > len(s.pulls) {
		return http.StatusNotFound, object{"message": "Not Found"}
	}
	if err := json.NewDecoder(r.Body).Decode(s.pulls[number-1]); err != nil {
		return refuse(err.Error())
	}
	return http.StatusOK, s.pulls[number-1]
}
