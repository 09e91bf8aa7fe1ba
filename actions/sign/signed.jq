# The table for the job's summary, from a report of polex-sign. Characters that could start markup
# become character references.
def cell: tostring | explode | map(
    if (. >= 48 and . <= 57) or (. >= 65 and . <= 90) or (. >= 97 and . <= 122) or . == 32 or . == 45 or . == 46 or . == 47
    then [.] | implode else "&#\(.);" end) | join("");

[.results[] | select(.outcome == "passed")] as $signed
| [.results[].details.commit // empty][0] as $commit
| "### Signed: \($signed | length)\n",
  (if $commit then "In commit \($commit | cell).\n" else "To be committed by the next job.\n" end),
  "| file | exception | until | log entry |\n| --- | --- | --- | --- |",
  ($signed[:500][] | "| \(.file | cell) | \(.object | cell) | \(.details.expiresAt // "no expiry" | cell) | \(.details.logIndex // "none" | cell) |"),
  (if ($signed | length) > 500 then "\nand \(($signed | length) - 500) more" else empty end)
