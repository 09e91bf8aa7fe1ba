// Package gitlab makes commits in one project with GitLab's API. GitLab signs them.
package gitlab
