package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// read returns an object of a kind after it checks the content against the hash.
func (r *Repository) read(kind Kind, hash Hash, most int64) ([]byte, error) {
	found, content, err := r.readAs(hash, most, kind != KindBlob)
	if err == nil && found != kind {
		err = fmt.Errorf("%s is a %s, expected a %s", hash, found, kind)
	}
	return content, err
}

func (r *Repository) readAs(hash Hash, most int64, structure bool) (Kind, []byte, error) {
	o := &object{most: most, structure: structure, left: &r.left}
	if err := r.object(hash, o); err != nil {
		return "", nil, fmt.Errorf("read object %s: %w", hash, err)
	}
	if sum := o.sum(); sum.IsZero() || sum != hash { // zero for a collision
		return "", nil, fmt.Errorf("read object %s: the repository is damaged: the content does not match the hash",
			hash)
	}
	return o.kind, o.content, nil
}

// object receives an object: the hash of all of it, and the content up to a size. Of a larger commit it
// keeps the first bytes, because one large commit must not make a history unreadable. Other objects
// above that size are [ErrTooLarge].
type object struct {
	hasher
	kind      Kind
	size      int64
	most      int64
	structure bool // a commit or tree is expected, and no file
	content   []byte
	left      *budget
}

// begin takes the kind and the size, which come before the content.
func (o *object) begin(kind Kind, size int64) error {
	o.kind, o.size, o.hasher = kind, size, newHasher(kind, size)
	if size > o.most && (kind != KindCommit || size > processLimit) {
		return tooLarge(size, o.most)
	}
	if o.left.bytes -= size; o.left.bounded && o.left.bytes < 0 {
		return fmt.Errorf("with this one, the objects of the commit have more than %d MiB", maxRead>>20)
	}
	o.content = make([]byte, 0, min(size, o.most))
	return nil
}

// Write hashes a part of the content. It never fails.
func (o *object) Write(part []byte) (int, error) {
	o.content = append(o.content, part[:min(len(part), cap(o.content)-len(o.content))]...)
	return o.hasher.Write(part)
}

// header returns the hash on the first line of a commit or tag.
func header(content []byte, key string) (Hash, error) {
	line, _, _ := bytes.Cut(content, []byte("\n"))
	text, ok := strings.CutPrefix(string(line), key)
	if !ok || !IsHash(text) {
		return ZeroHash, fmt.Errorf("it does not begin with %q and a hash", key)
	}
	return NewHash(text), nil
}

// plainName rejects names that lead elsewhere in a checkout, and .git, which would be a repository.
func plainName(name []byte) bool {
	return len(name) > 0 && string(name) != "." && string(name) != ".." && bytes.IndexByte(name, '/') < 0 &&
		!bytes.EqualFold(name, []byte(".git"))
}

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
	if !known || !slices.Contains(kinds, Kind(name)) || err != nil || size < 0 {
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
