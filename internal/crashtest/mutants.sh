#!/usr/bin/env bash
# Takes one safeguard after another out of a copy of the repository and shows which tests catch it. A mutant that no
# test catches is a failure. Needs git or nothing but the tree: it copies what is here, committed or not.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0

# The statements of package db are generated: sqlc makes them anew from the changed SQL.
generate() { go run -tags tools github.com/sqlc-dev/sqlc/cmd/sqlc generate; }

# Each mutant is a name, the packages and tests that are to catch it, and a function that changes the copy.
conformance=(./jobs/sqlite -run 'TestConformance/(Fence|Transaction|Manage|Cancel|Rescue)')
crash=(./internal/crashtest -run 'TestStoppedPastTheLease|TestKillPickedUpByAnother')

# The fence: a finishing write looks at the job's id and status, but not at who holds which attempt.
fence() {
    sed -i -E 's/^  AND attempt = CAST\(@attempt AS BIGINT\) AND worker_id = CAST\(@worker_id AS BIGINT\);/  AND CAST(@attempt AS BIGINT) > 0 AND CAST(@worker_id AS BIGINT) > 0;/' \
        sql/queries/finish.sql
    sed -i -E -e 's/(j\.)?worker_id = CAST\(@worker_id AS BIGINT\)/CAST(@worker_id AS BIGINT) > 0/' \
        -e 's/ AND attempt = CAST\(@attempt AS BIGINT\)/ AND CAST(@attempt AS BIGINT) > 0/' \
        -e 's/ AND j\.attempt = e\.value->>1//' \
        -e 's/\(id, attempt\) IN \(SELECT e\.value->>0, e\.value->>1/id IN (SELECT e.value->>0/' sql/queries/sqlite/finish.sql
    generate
}

# Half of the fence: the worker is looked at, the attempt is not.
attempt() {
    sed -i -E 's/^  AND attempt = CAST\(@attempt AS BIGINT\)/  AND CAST(@attempt AS BIGINT) > 0/' sql/queries/finish.sql
    sed -i -E -e 's/ AND attempt = CAST\(@attempt AS BIGINT\)/ AND CAST(@attempt AS BIGINT) > 0/' \
        -e 's/ AND j\.attempt = e\.value->>1//' \
        -e 's/\(id, attempt\) IN \(SELECT e\.value->>0, e\.value->>1/id IN (SELECT e.value->>0/' sql/queries/sqlite/finish.sql
    generate
}

# The status guard of the finishing writes.
finish_status() {
    sed -i -E "s/ AND status = 'running'//" sql/queries/finish.sql
    sed -i -E -e "s/WHERE (j\.)?status = 'running' AND /WHERE /" sql/queries/sqlite/finish.sql
    generate
}

# The status guard of what people do to a job: retry, cancel, delete.
manage_status() {
    sed -i -E -e "s/ AND status IN \('failed', 'cancelled', 'scheduled'\)//" -e "s/ AND status IN \('scheduled', 'pending'\)//" \
        -e "s/ AND status = 'running'//" -e "s/ AND status <> 'running'//" sql/queries/manage.sql
    generate
}

# The boot check: whoever looks after workers takes every one for dead.
boot_check() {
    sed -i -E 's/^\tcase taken:$/\tcase !taken:\n\tcase taken:/' jobs/rescue.go
}

# What a claim checks of its worker: that nobody declared it dead.
dead_claims() {
    sed -i -E "s/WHERE w\.id = CAST\(@worker_id AS BIGINT\) AND w\.ended_at IS NULL\)/WHERE w.id = CAST(@worker_id AS BIGINT))/" \
        sql/queries/sqlite/claim.sql
    generate
}

survived=0
row() { printf '%-14s | %-8s | %s\n' "$@"; }
row mutant verdict 'tests that failed'
try() {
    local name=$1
    shift
    local copy=$work/$name log=$work/$name.log
    mkdir "$copy"
    (cd "$root" && tar -cf - --exclude=.git .) | tar -xf - -C "$copy"
    (
        cd "$copy"
        "$name" >"$log" 2>&1
        if diff -qr "$root" "$copy" --exclude=.git >/dev/null; then
            echo "mutant $name changes nothing: its sed no longer fits the code" >&2
            exit 3
        fi
        go vet ./jobs/... >>"$log" 2>&1
    ) || { row "$name" BROKEN "see below"; cat "$log"; survived=1; return; }
    if (cd "$copy" && go test -count=1 -short -timeout 300s "$@") >"$log" 2>&1; then
        row "$name" SURVIVED '(none)'
        survived=1
    else
        row "$name" caught "$(sed -nE 's/^ *--- FAIL: ([^ ]+).*/\1/p' "$log" | grep -vE '^TestConformance(\/[A-Za-z]+)?$' | sort -u | paste -sd' ')"
    fi
}

try fence "${conformance[@]}"
try attempt "${conformance[@]}"
try finish_status "${conformance[@]}"
try manage_status "${conformance[@]}"
try boot_check "${crash[@]}"
try dead_claims "${conformance[@]}"
exit "$survived"
