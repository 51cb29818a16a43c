#!/bin/sh
# notice.sh FILE: writes the licences of Go and of the modules that are linked into the command on any system, as they ask for.
set -eu
cd "$(dirname "$0")/.."
out=$1
mkdir -p "$(dirname "$out")"
modules=$(for system in linux darwin windows; do # not in the pipe below, which would hide that go fails
	GOOS=$system go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/sqluice || exit
done)
part() {
	printf '\n== %s\n\n' "$1"
	cat "$2"
}
{
	printf 'The command sqluice is linked with the modules below. Each is named with its version and its licence.\n'
	part "Go $(go env GOVERSION)" "$(go env GOROOT)/LICENSE"
	for file in admin/static/vendor/*/LICENSE*; do # of what the dashboard's pages embed
		part "${file#admin/static/vendor/}" "$file"
	done
	printf '%s\n' "$modules" | sort -u |
		while read -r path version dir; do
			found=
			for file in "$dir"/LICENSE* "$dir"/LICENCE* "$dir"/COPYING* "$dir"/NOTICE*; do
				if [ -f "$file" ]; then
					part "$path $version, $(basename "$file")" "$file"
					found=yes
				fi
			done
			if [ -z "$found" ]; then
				echo "$path $version has no file with its licence" >&2
				exit 1
			fi
		done
} >"$out"
