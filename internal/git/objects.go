package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// objects is a git cat-file --batch-command. A request is "info <hash>" or "contents <hash>", and a
// line break. The answer is "<hash> missing", or "<hash> <kind> <size>" and a line break, and then
// for contents the content and another line break. The caller checks the content against its hash.
type objects struct {
	in    io.WriteCloser
	out   *bufio.Reader
	timer *time.Timer
	// end ends the process and returns its error with its message, or err if it has none.
	end func(err error) error
}

// processLimit is the maximum of one allocation in the process, in bytes. A small object can be a
// change of a large one, which Git has to unpack.
const processLimit = 3 * MaxFile

func (g Git) objects(ctx context.Context, limit time.Duration) (*objects, error) {
	const name = "cat-file"
	command := g.Command(ctx, Call{Env: []string{fmt.Sprintf("GIT_ALLOC_LIMIT=%d", processLimit)}},
		"-c", "core.deltaBaseCacheLimit=64m", name, "--batch-command")
	command.SysProcAttr = apart()
	command.Cancel = func() error { return command.Process.Kill() } // it holds no lock
	command.WaitDelay = time.Second
	message := &bounded{room: maxMessage}
	command.Stderr = message
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, g.failure(name, "", err)
	}
	o := &objects{in: in, out: bufio.NewReaderSize(out, 64<<10)}
	var late atomic.Bool
	o.timer = time.AfterFunc(limit, func() {
		late.Store(true)
		_ = command.Process.Kill()
	})
	o.timer.Stop()
	o.end = func(err error) error {
		o.timer.Stop()
		_ = in.Close()
		if err != nil {
			_ = command.Process.Kill()
		}
		waitErr := command.Wait()
		switch {
		case late.Load():
			return fmt.Errorf("git %s %w %s", name, errLate, limit)
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case strings.Contains(message.kept.String(), " from promisor remote"):
			return errNoObject
		case message.kept.Len() > 0:
			return g.failure(name, reason(message.kept.String()), errors.Join(err, waitErr))
		case err != nil:
			return fmt.Errorf("git %s: %w", name, err)
		}
		return nil
	}
	return o, nil
}

// reason returns the line of a message that says why Git has ended, or the first.
func reason(message string) string {
	for line := range strings.Lines(message) {
		if strings.HasPrefix(line, "fatal: ") {
			return line
		}
	}
	first, _, _ := strings.Cut(message, "\n")
	return first
}

// errLate means that Git did not answer in time.
var errLate = errors.New("did not answer within")

// errAnswer means that the process does not answer as it should, and cannot be asked again.
var errAnswer = errors.New("unexpected answer")

// object reads an object. The content is requested only if its size is within the limits. For an
// object that is no file, one request is enough: Git holds it in memory, up to its limit.
func (o *objects) object(hash Hash, to *object, limit time.Duration) error {
	o.timer.Reset(limit)
	defer o.timer.Stop()
	if !to.structure {
		kind, size, err := o.request("info", hash)
		if err != nil {
			return err
		}
		if err := to.begin(kind, size); err != nil {
			return err
		}
	}
	kind, size, err := o.request("contents", hash)
	if err != nil {
		return err
	}
	var refused error
	into := io.Writer(to)
	switch {
	case to.structure:
		if refused = to.begin(kind, size); refused != nil {
			into = io.Discard
		}
		if size > processLimit {
			return errors.Join(errAnswer, refused)
		}
	case to.kind != kind || to.size != size:
		return fmt.Errorf("%w: object %s is a %s of %d bytes and then a %s of %d", errAnswer, hash, to.kind,
			to.size, kind, size)
	}
	if _, err = io.CopyN(into, o.out, size); err != nil {
		return errors.Join(errAnswer, unexpected(err))
	}
	if end, err := o.out.ReadByte(); err != nil || end != '\n' {
		return errors.Join(fmt.Errorf("%w: object %s does not end after %d bytes", errAnswer, hash, size),
			unexpected(err))
	}
	return refused
}

func (o *objects) request(what string, hash Hash) (Kind, int64, error) {
	if _, err := io.WriteString(o.in, what+" "+hash.String()+"\n"); err != nil {
		return "", 0, errors.Join(errAnswer, err)
	}
	line, err := o.out.ReadSlice('\n')
	if err != nil {
		return "", 0, errors.Join(errAnswer, unexpected(err))
	}
	answer, known := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), hash.String()+" ")
	if known && answer == "missing" {
		return "", 0, errNoObject
	}
	name, digits, _ := strings.Cut(answer, " ")
	size, err := strconv.ParseInt(digits, 10, 64)
	if !known || !Kind(name).valid() || err != nil || size < 0 {
		return "", 0, fmt.Errorf("%w %q", errAnswer, line)
	}
	return Kind(name), size, nil
}

// unexpected returns the end of the input as [io.ErrUnexpectedEOF].
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
