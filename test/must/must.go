// Package must ends a test at the error of a step that is not its subject. A test that expects an
// error, or explains one, asks for it itself.
package must

import "testing"

// Do ends the test with err, if there is one.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get takes what a function returns, and gives its value to a test or ends it with the error:
//
//	text := must.Get(os.ReadFile(path))(t)
func Get[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}
