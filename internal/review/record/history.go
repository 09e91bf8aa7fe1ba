package record

import (
	"github.com/polex-dev/polex/internal/git"
	"github.com/polex-dev/polex/internal/review"
)

// History returns the history of a repository. It reads Git objects only, and not the work tree.
func History(repository *git.Repository) review.History { return history{repository} }

type history struct{ repository *git.Repository }

// Commit implements [review.History].
func (h history) Commit(hash string) (review.Commit, error) {
	commit, err := h.repository.Commit(git.NewHash(hash))
	if err != nil {
		return review.Commit{}, err
	}
	c := review.Commit{Message: commit.Message, AuthorEmail: commit.Author.Email,
		Writers: []review.Signer{{Name: commit.Author.Name, Email: commit.Author.Email},
			{Name: commit.Committer.Name, Email: commit.Committer.Email}}}
	for _, parent := range commit.Parents {
		c.Parents = append(c.Parents, parent.String())
	}
	return c, nil
}

// ReadFile implements [review.History].
func (h history) ReadFile(commit, path string) ([]byte, error) {
	tree, err := h.repository.Tree(git.NewHash(commit))
	if err != nil {
		return nil, err
	}
	entry, err := tree.Find(path)
	if err != nil {
		return nil, err
	}
	return tree.Read(entry)
}
