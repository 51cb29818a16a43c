#!/bin/sh
# bits32.sh PACKAGE...: runs the tests of packages as 32-bit programs: of x86 where the system runs these, else of arm under qemu-arm, which
# is slow. FLAGS are further flags of go test.
set -eu
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf 'package main\n\nfunc main() {}\n' >"$dir/main.go"
GOARCH=386 go build -o "$dir/program" "$dir/main.go"
if "$dir/program" 2>/dev/null; then
	GOARCH=386 go test ${FLAGS:-} "$@"
elif command -v qemu-arm >/dev/null; then
	GOARCH=arm go test -exec qemu-arm ${FLAGS:-} "$@"
else
	echo "NOT TESTED in 32 bits: the system runs no such programs; install qemu-user"
	[ "${CI:-}" != true ]
fi
