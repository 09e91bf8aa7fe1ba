package kyvernocli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/polex-dev/polex/internal/plain"
	"github.com/polex-dev/polex/internal/usage"
)

// Apply returns the results of kyverno apply for policies and resources. It runs the program in an empty
// folder, without the settings and the cluster of the user. A program that makes no report is an error.
func Apply(ctx context.Context, program string, policies, resources []map[string]any) ([]usage.Result, error) {
	if len(policies) == 0 || len(resources) == 0 {
		return nil, nil
	}
	found, err := exec.LookPath(program)
	if err == nil {
		found, err = filepath.Abs(found) // it runs in another folder
	}
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "polex-kyverno-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	for name, objects := range map[string][]map[string]any{"policies.yaml": policies, "resources.yaml": resources} {
		if err := writeObjects(filepath.Join(dir, name), objects); err != nil {
			return nil, err
		}
	}
	// #nosec G204 -- the user names the program
	cmd := exec.CommandContext(ctx, found, "apply", "policies.yaml", "--resource", "resources.yaml",
		"--policy-report", "--output-format", "json", "--remove-color")
	var out, problems bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, []string{"HOME=" + dir}, &out, &problems
	err = cmd.Run()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		return nil, err
	}
	var results []usage.Result
	reported := false
	for line := range bytes.Lines(out.Bytes()) {
		var report usage.Report
		if bytes.HasPrefix(line, []byte("{")) && json.Unmarshal(line, &report) == nil {
			results, reported = append(results, report.Results...), true
		}
	}
	if err != nil && !reported { // a failed rule is an error too, with a report
		said := strings.TrimSpace(problems.String() + out.String())
		return nil, fmt.Errorf("%s apply made no report: %s", program, plain.Cut(plain.Line(said), maxSaid))
	}
	return results, nil
}

const maxSaid = 500 // characters of the program in an error

func writeObjects(path string, objects []map[string]any) error {
	var content bytes.Buffer
	for _, object := range objects {
		raw, err := json.Marshal(object)
		if err != nil {
			return err
		}
		content.WriteString("---\n" + string(raw) + "\n")
	}
	return os.WriteFile(path, content.Bytes(), 0o600)
}
