// Package expect states in one line what a test expects of an error or of a value.
package expect

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polex-dev/polex/test/must"
)

// Error ends the test without an error, and marks it as failed if the message lacks one of the texts.
func Error(t testing.TB, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want one with %q", err, text)
		}
	}
}

// Outcome is must.Do if want is empty, and Error with want otherwise.
func Outcome(t testing.TB, err error, want string) {
	t.Helper()
	if want == "" {
		must.Do(t, err)
		return
	}
	Error(t, err, want)
}

// That marks the test as failed with the message if the condition is false.
func That(t testing.TB, condition bool, format string, args ...any) {
	t.Helper()
	if !condition {
		t.Errorf(format, args...)
	}
}

// NoError marks the test as failed by an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// Unless is an error with the message if the condition is false, for a wait that repeats a check.
func Unless(condition bool, format string, args ...any) error {
	if condition {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// Cause marks the test as failed if the error does not have the cause, as errors.Is finds it.
func Cause(t testing.TB, err, cause error) {
	t.Helper()
	if !errors.Is(err, cause) {
		t.Errorf("error %v, want one of %v", err, cause)
	}
}

// Contains marks the test as failed if the text, of which it shows 4000 characters, lacks one of the parts.
func Contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%.4000s", part, text)
		}
	}
}

// Allocates marks the test as failed if a call allocates more bytes; what names the call.
func Allocates(t testing.TB, what string, most uint64, call func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > most {
		t.Errorf("%s allocates %d bytes, want at most %d", what, used, most)
	}
}

// AtLeast marks the test as failed if there are fewer, so that it has checked nothing; what names them.
func AtLeast(t testing.TB, what string, least, got int) {
	t.Helper()
	if got < least {
		t.Errorf("only %d %s, want at least %d", got, what, least)
	}
}

// Empty marks the test as failed if the list has items; what names the list.
func Empty[T any](t testing.TB, what string, got []T) {
	t.Helper()
	if len(got) > 0 {
		t.Errorf("%s: %v, want none", what, got)
	}
}

// Failure is Error for a call that also returns a value, which has to be the zero value:
//
//	expect.Failure(os.ReadFile(path))(t, "no such file")
func Failure[T any](value T, err error) func(t testing.TB, texts ...string) {
	return func(t testing.TB, texts ...string) {
		t.Helper()
		if !reflect.ValueOf(&value).Elem().IsZero() {
			t.Errorf("a value beside the error %v: %v", err, value)
		}
		Error(t, err, texts...)
	}
}

// Equal marks the test as failed if cmp.Diff finds a difference; what names the value.
func Equal(t testing.TB, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Is marks the test as failed if the two values differ; what names the value.
func Is[T comparable](t testing.TB, what string, want, got T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %#v, want %#v", what, got, want)
	}
}
