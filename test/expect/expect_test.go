package expect_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/polex-dev/polex/test/expect"
	"github.com/polex-dev/polex/test/must"
)

// recorder counts what a helper reports instead of failing the test.
type recorder struct {
	testing.TB
	errors, fatals int
}

func (*recorder) Helper()                 {}
func (r *recorder) Error(...any)          { r.errors++ }
func (r *recorder) Errorf(string, ...any) { r.errors++ }
func (r *recorder) Fatal(...any)          { r.fatals++; runtime.Goexit() }
func (r *recorder) Fatalf(string, ...any) { r.fatals++; runtime.Goexit() }

// TestExpect: each helper accepts its own case, and reports the opposite.
func TestExpect(t *testing.T) {
	broken := errors.New("the disk is full")
	for name, tc := range map[string]struct {
		of             func(t testing.TB)
		errors, fatals int
	}{
		"must.Do":                   {func(t testing.TB) { must.Do(t, nil) }, 0, 0},
		"must.Do of an error":       {func(t testing.TB) { must.Do(t, broken) }, 0, 1},
		"must.Get":                  {func(t testing.TB) { must.Get(1, nil)(t) }, 0, 0},
		"must.Get of an error":      {func(t testing.TB) { must.Get(1, broken)(t) }, 0, 1},
		"Error":                     {func(t testing.TB) { expect.Error(t, broken, "disk", "full") }, 0, 0},
		"Error without an error":    {func(t testing.TB) { expect.Error(t, nil) }, 0, 1},
		"Error with another text":   {func(t testing.TB) { expect.Error(t, broken, "disk", "empty") }, 1, 0},
		"Outcome without an error":  {func(t testing.TB) { expect.Outcome(t, nil, "") }, 0, 0},
		"Outcome with an error":     {func(t testing.TB) { expect.Outcome(t, broken, "full") }, 0, 0},
		"Outcome that should be OK": {func(t testing.TB) { expect.Outcome(t, broken, "") }, 0, 1},
		"Outcome that is OK":        {func(t testing.TB) { expect.Outcome(t, nil, "full") }, 0, 1},
		"Failure":                   {func(t testing.TB) { expect.Failure(0, broken)(t, "full") }, 0, 0},
		"Failure without an error":  {func(t testing.TB) { expect.Failure(0, nil)(t) }, 0, 1},
		"Failure with a value":      {func(t testing.TB) { expect.Failure(1, broken)(t) }, 1, 0},
		"That":                      {func(t testing.TB) { expect.That(t, true, "it is") }, 0, 0},
		"That is not so":            {func(t testing.TB) { expect.That(t, false, "%d is", 1) }, 1, 0},
		"NoError":                   {func(t testing.TB) { expect.NoError(t, nil) }, 0, 0},
		"NoError of an error":       {func(t testing.TB) { expect.NoError(t, broken) }, 1, 0},
		"Unless":                    {func(t testing.TB) { must.Do(t, expect.Unless(true, "it is")) }, 0, 0},
		"Unless it is so":           {func(t testing.TB) { must.Do(t, expect.Unless(false, "%d is", 1)) }, 0, 1},
		"Cause":                     {func(t testing.TB) { expect.Cause(t, fmt.Errorf("save: %w", broken), broken) }, 0, 0},
		"Cause of another error":    {func(t testing.TB) { expect.Cause(t, errors.New("save"), broken) }, 1, 0},
		"Cause without an error":    {func(t testing.TB) { expect.Cause(t, nil, broken) }, 1, 0},
		"Contains":                  {func(t testing.TB) { expect.Contains(t, "the disk is full", "disk", "full") }, 0, 0},
		"Contains something else":   {func(t testing.TB) { expect.Contains(t, "the disk is full", "disk", "empty") }, 1, 0},
		"AtLeast":                   {func(t testing.TB) { expect.AtLeast(t, "files", 2, 2) }, 0, 0},
		"AtLeast of fewer":          {func(t testing.TB) { expect.AtLeast(t, "files", 2, 1) }, 1, 0},
		"Empty":                     {func(t testing.TB) { expect.Empty(t, "files", []int(nil)) }, 0, 0},
		"Empty with an item":        {func(t testing.TB) { expect.Empty(t, "files", []int{1}) }, 1, 0},
		"Equal":                     {func(t testing.TB) { expect.Equal(t, "it", []int{1}, []int{1}) }, 0, 0},
		"Equal of different values": {func(t testing.TB) { expect.Equal(t, "it", []int{1}, []int{2}) }, 1, 0},
		"Equal of different types":  {func(t testing.TB) { expect.Equal(t, "it", 1, "1") }, 1, 0},
		"Is":                        {func(t testing.TB) { expect.Is(t, "it", 1, 1) }, 0, 0},
		"Is of different values":    {func(t testing.TB) { expect.Is(t, "it", 1, 2) }, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			done := make(chan struct{})
			go func() { defer close(done); tc.of(r) }() // a fatal failure ends the goroutine, as in a test
			if <-done; r.errors != tc.errors || r.fatals != tc.fatals {
				t.Errorf("%d errors and %d fatal ones, want %d and %d", r.errors, r.fatals, tc.errors, tc.fatals)
			}
		})
	}
}
