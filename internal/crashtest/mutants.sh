#!/usr/bin/env bash
# Takes one safeguard after another out of a copy of the tree, committed or not, and shows which tests catch it. A
# mutant that no test catches is a failure. Names of mutants as arguments choose some of them.
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
# Others would wait in vain for workers that take each other for dead.
boot=(./jobs/sqlite -run 'TestConformance/Rescue/BootBesideALiveWorker')

# change FILE EXPRESSION...: each expression must still fit the file, or the mutant would be none.
change() {
    local file=$1 expression before
    shift
    for expression in "$@"; do
        before=$(cksum <"$file")
        sed -i -E "$expression" "$file"
        if [ "$before" = "$(cksum <"$file")" ]; then
            echo "$expression no longer fits $file"
            return 3
        fi
    done
}

no_attempt_in_batches() {
    change sql/queries/sqlite/finish.sql 's/ AND attempt = CAST\(@attempt AS BIGINT\)/ AND CAST(@attempt AS BIGINT) > 0/' \
        's/ AND j\.attempt = e\.value->>1//' 's/\(id, attempt\) IN \(SELECT e\.value->>0, e\.value->>1/id IN (SELECT e.value->>0/'
}

# Half of the fence: the worker is looked at, the attempt is not.
attempt() {
    change sql/queries/finish.sql 's/^  AND attempt = CAST\(@attempt AS BIGINT\)/  AND CAST(@attempt AS BIGINT) > 0/'
    no_attempt_in_batches
    generate
}

# The fence: a finishing write looks at the job's id and status, but not at who holds which attempt.
fence() {
    change sql/queries/finish.sql 's/^  AND attempt = CAST\(@attempt AS BIGINT\)/  AND CAST(@attempt AS BIGINT) > 0/' \
        's/ AND worker_id = CAST\(@worker_id AS BIGINT\)/ AND CAST(@worker_id AS BIGINT) > 0/'
    no_attempt_in_batches
    change sql/queries/sqlite/finish.sql 's/ AND worker_id = CAST\(@worker_id AS BIGINT\)/ AND CAST(@worker_id AS BIGINT) > 0/' \
        's/ AND j\.worker_id = e\.worker_id//'
    generate
}

# The status guard of the finishing writes.
finish_status() {
    change sql/queries/finish.sql "s/ AND status = 'running'//"
    change sql/queries/sqlite/finish.sql "s/WHERE status = 'running' AND /WHERE /" "s/WHERE j\.status = 'running' AND /WHERE /"
    generate
}

# The status guard of what people do to a job: retry, cancel, delete.
manage_status() {
    change sql/queries/manage.sql "s/ AND status IN \('failed', 'cancelled', 'scheduled'\)//" \
        "s/ AND status IN \('scheduled', 'pending'\)//" "s/ AND status = 'running'//" "s/ AND status <> 'running'//"
    generate
}

# The boot check: whoever looks after workers takes every other one for dead.
boot_check() { change jobs/rescue.go 's/^\tcase taken:$/\tcase !taken:\n\tcase taken:/'; }

# What a claim checks of its worker: that nobody declared it dead.
dead_claims() {
    change sql/queries/sqlite/claim.sql 's/(WHERE w\.id = CAST\(@worker_id AS BIGINT\)) AND w\.ended_at IS NULL\)/\1)/'
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
        set -e
        "$name"
        go vet ./jobs/...
    ) >"$log" 2>&1 || { row "$name" BROKEN "see below"; cat "$log"; survived=1; return; }
    if (cd "$copy" && go test -count=1 -short -timeout 300s "$@") >"$log" 2>&1; then
        row "$name" SURVIVED '(none)'
        survived=1
    else
        row "$name" caught "$(sed -nE 's/^ *--- FAIL: ([^ ]+).*/\1/p' "$log" | grep -vE '^TestConformance(\/[A-Za-z]+)?$' | sort -u | paste -sd' ')"
    fi
}

for mutant in "${@:-fence attempt finish_status manage_status boot_check dead_claims}"; do
    for name in $mutant; do
        case $name in
        boot_check) try "$name" "${boot[@]}" ;;
        fence | attempt | finish_status | manage_status | dead_claims) try "$name" "${conformance[@]}" ;;
        *) echo "no such mutant: $name" >&2 && exit 2 ;;
        esac
    done
done
exit "$survived"
