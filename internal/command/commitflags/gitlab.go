package commitflags

import (
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/polex-dev/polex/internal/command/cli"
	"github.com/polex-dev/polex/internal/gitlab"
)

// gitLab returns the client of GitLab's API for --push-by gitlab.
func (f *Flags) gitLab() (*gitlab.Client, error) {
	c := gitlab.Pipeline(os.Getenv, &http.Client{})
	c.Timing = f.timing
	if c.Token == "" || c.Project == "" || c.APIURL == "" {
		return nil, cli.Hint(errors.New("--push-by gitlab needs the environment variables GITLAB_TOKEN, CI_PROJECT_ID and CI_API_V4_URL"),
			"GitLab's pipelines set the last two; store a project access token with the scope api as the protected and masked variable GITLAB_TOKEN")
	}
	client, err := gitlab.New(c)
	if err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("--push-by gitlab, with CI_PROJECT_ID, CI_API_V4_URL and GITLAB_TOKEN: %w", err)}
	}
	return client, nil
}
