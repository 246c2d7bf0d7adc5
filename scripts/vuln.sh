#!/usr/bin/env bash
# Runs govulncheck. Where its database cannot be reached there is no answer:
# that is said plainly, and is no failure of the code that was to be checked.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
output=$(govulncheck ./... 2>&1) || status=$?
printf '%s\n' "$output"
[ "$status" -ne 0 ] || exit 0

# govulncheck ends with 3 when it found something, and with 1 on any trouble.
if [ "$status" -eq 1 ] && grep -qiE 'fetching vulnerabilities|no such host|connection refused|i/o timeout|proxyconnect|Forbidden' <<<"$output"; then
  echo "vuln: NOT CHECKED: the vulnerability database cannot be reached from here; nothing is known either way."
  exit 0
fi
exit "$status"
