package exception

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Forms of plain scalars. YAML 1.2's core schema, YAML 1.1's types and what
// Kubernetes' own YAML reader does differ on some of them; where they do, the
// scalar is ambiguous and the author has to quote it.
var (
	decimalInt = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	decimal    = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	numberLike = regexp.MustCompile(`^[-+]?(` +
		`0[0-9_]+` + // octal in 1.1, decimal in 1.2
		`|0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+` + // other bases; 0b76 is text to everybody, and so a commit may begin
		`|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9_]+)?` + // underscores
		`|\.[0-9_]+([eE][-+]?[0-9_]+)?` +
		`|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?` + // base 60
		`|\.(inf|Inf|INF|nan|NaN|NAN)` +
		`)$`)
)

// plainScalar gives a plain (unquoted) YAML scalar its value. A problem that is
// not empty says why the scalar is refused.
func plainScalar(text string) (value any, problem string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil, ""
	case "true", "True", "TRUE":
		return true, ""
	case "false", "False", "FALSE":
		return false, ""
	case "<<":
		return nil, "is a merge key"
	}
	if len(text) <= len("false") {
		switch strings.ToLower(text) {
		case "y", "n", "yes", "no", "on", "off", "true", "false":
			return nil, "is true or false to some readers of YAML and text to others"
		}
	}
	if c := text[0]; (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' {
		return text, ""
	}
	return number(text)
}

func number(text string) (value any, problem string) {
	switch {
	case decimalInt.MatchString(text):
		return integer(text)
	case decimal.MatchString(text) && !leadingZero(text):
		return float(text)
	case numberLike.MatchString(text):
		return nil, "is one number to some readers of YAML, and another or text to others"
	default:
		return text, ""
	}
}

// leadingZero reports a number like 007 or 010.5.
func leadingZero(text string) bool {
	digits := strings.TrimLeft(text, "-+")
	return len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'
}

// integer refuses what does not fit 64 bits: the API server would keep it as a
// float and lose digits.
func integer(text string) (any, string) {
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, "does not fit a 64-bit integer"
	}
	return i, ""
}

func float(text string) (any, string) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, "does not fit a 64-bit number"
	}
	return f, ""
}
