package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// Source returns the folder of a module's source, in the version of the module in tools.
func Source(ctx context.Context, tools, module string) (string, error) {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	download.Dir = tools
	download.Stderr = new(strings.Builder)
	out, err := download.Output()
	if err != nil {
		return "", fmt.Errorf("download the source of %s: %w\n%s%s", module, err, out, download.Stderr)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("download the source of %s: %w", module, err)
	}
	return found.Dir, nil
}
