#!/usr/bin/env bash
# Removes one safeguard after another from a copy of the tree, committed or not, and shows which tests catch it. A
# mutant that no test catches is a failure. Names of mutants as arguments select some of them.
#
# With -n as the first argument no test runs: it checks in seconds that each mutant still fits the tree, that is that
# the code it removes is there.
#
# "unchanged" is the tree as it is, which must pass all those tests: otherwise they would catch anything. -p as the first argument
# says that the tree has passed them, and leaves those runs out.
set -euo pipefail
cd "$(dirname "$0")/../../.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0

# The statements of package db are generated: sqlc makes them anew from the changed SQL.
generate() { go run -tags tools github.com/sqlc-dev/sqlc/cmd/sqlc generate; }

# Each mutant is a function that changes the copy. The list at the end has the tests that must catch it.

# change FILE EXPRESSION...: each expression must still fit the file, or the mutant would change nothing.
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

# column is a column as statements compare it, some of them by an alias.
column() { echo "(j\\.)?$1"; }

no_attempt_in_batches() {
    change sql/queries/sqlite/finish.sql 's/ AND attempt = @attempt/ AND CAST(@attempt AS BIGINT) > 0/' \
        's/ AND j\.attempt = e\.value->>1//' 's/\(id, attempt\) IN \(SELECT e\.value->>0, e\.value->>1/id IN (SELECT e.value->>0/'
    change sql/queries/sqliteonly/finish.sql 's/ AND attempt = @attempt/ AND CAST(@attempt AS BIGINT) > 0/'
}

# Half of the fence: the worker is compared, the attempt is not.
attempt() {
    change sql/queries/finish.sql 's/ AND attempt = @attempt/ AND CAST(@attempt AS BIGINT) > 0/'
    no_attempt_in_batches
    generate
}

# The fence: a finishing write compares the job's id and status, but neither attempt nor worker.
fence() {
    change sql/queries/finish.sql 's/ AND attempt = @attempt/ AND CAST(@attempt AS BIGINT) > 0/' \
        "s/ AND $(column worker_id) = CAST\(@worker_id AS BIGINT\)/ AND CAST(@worker_id AS BIGINT) > 0/"
    no_attempt_in_batches
    change sql/queries/sqlite/finish.sql "s/ AND $(column worker_id) = CAST\(@worker_id AS BIGINT\)/ AND CAST(@worker_id AS BIGINT) > 0/" \
        's/ AND j\.worker_id = e\.worker_id//'
    change sql/queries/sqliteonly/finish.sql "s/ AND $(column worker_id) = CAST\(@worker_id AS BIGINT\)/ AND CAST(@worker_id AS BIGINT) > 0/"
    generate
}

# The status guard of the finishing writes.
finish_status() {
    change sql/queries/finish.sql "s/ AND $(column status) = 'running'//"
    change sql/queries/sqlite/finish.sql "s/WHERE $(column status) = 'running' AND /WHERE /"
    change sql/queries/sqliteonly/finish.sql "s/ AND $(column status) = 'running'//"
    generate
}

# The status guard of changes by people: retry, cancel, delete.
manage_status() {
    change sql/queries/manage.sql "s/ AND status IN \('failed', 'cancelled', 'scheduled'\)//" \
        "s/ AND status IN \('scheduled', 'waiting', 'pending'\)//" "s/ AND $(column status) = 'running'//" "s/ AND status NOT IN \('running', 'deleted'\)//"
    generate
}

# The lock that a write takes at its beginning: it is taken when the first row is written.
immediate_lock() { change sql/control/sqlite/begin.sql 's/BEGIN IMMEDIATE/BEGIN/'; }

# The boot check: every other worker is taken for dead.
boot_check() { change internal/queue/maintenance/rescuer.go 's/^\tcase state == engine\.LockTaken:$/\tcase state != engine.LockTaken:\n\tcase state == engine.LockTaken:/'; }

# The claim's check of its worker: that it was not declared dead.
dead_claims() {
    local file
    for file in sql/queries/sqlite/claim.sql sql/queries/sqliteonly/claim.sql; do
        change "$file" 's/(WHERE w\.id = (CAST\(@worker_id AS BIGINT\)|@worker_id)) AND w\.ended_at IS NULL\)/\1)/'
    done
    generate
}

# The time of a job that is claimable already: the clock may have been set back since it fell due.
early_claims() {
    local file
    for file in sql/queries/sqlite/claim.sql sql/queries/sqliteonly/claim.sql; do
        change "$file" 's/ AND [ij]\.run_after <= @now/ AND CAST(@now AS BIGINT) > 0/'
    done
    generate
}

# The unique index: it stays, so that statements fit, and no longer enforces the key.
unique_index() {
    change sql/migrations/sqlite/00021_limits.sql 's/^CREATE UNIQUE INDEX sqluice_jobs_unique /CREATE INDEX sqluice_jobs_unique /'
}

# A debounced job is due the quiet time after the newest enqueue, also when an older one comes later.
debounce_order() { change internal/queue/lifecycle/unique.go 's/r\.Now\+longestWait\.Microseconds\(\)$/r.Now/'; }

# The retry of an end whose acknowledgement did not come: it counts as recorded.
unknown_end() { change internal/queue/runner/loop.go 's/^\tl\.ledger\.putBack\(ended\)$/\tif !errors.Is(err, jobtype.ErrUnknownOutcome) {\n\t\tl.ledger.putBack(ended)\n\t}/'; }

# Jobs that the next crash fails run one at a time.
last_chance() { change internal/queue/runner/quarantine.go 's/^\treturn job\.Crashes > 0 \&\& .*$/\treturn false/'; }

# Forgetting a user: the texts of failed attempts, and the status of a job that has not ended.
forget_errors() {
    change sql/queries/forget.sql "s/^UPDATE sqluice_job_errors SET message = '[^']*', stack = ''/UPDATE sqluice_job_errors SET stack = stack/"
    generate
}
forget_status() {
    change sql/queries/forget.sql "/^  AND \(status = 'done' OR status = 'failed' OR status = 'cancelled'\)$/d"
    generate
}

# Another key: the results of jobs are encrypted with it too.
rekey_results() {
    change sql/queries/cipher.sql "s/^    result = sqlc\.narg\('new_result'\)/    result = CASE WHEN CAST(sqlc.narg('new_result') AS TEXT) IS NULL THEN NULL ELSE result END/"
    generate
}

# Two releases of a program beside each other: a payload of a newer version is run, an attempt of a worker that could not run the job
# counts, a declaration is put at start alone, and a schedule goes on some seconds too late.
newer_version() { change internal/queue/runner/attempt.go 's/if version > a\.handler\.Version \{/if version > a.handler.Version+9 {/'; }
unable_charged() { change internal/queue/runner/decide.go 's/end\.Spread = unableSpread\(\)/end.Fate, end.Delay = lifecycle.FateRetry, time.Second/'; }
declared_once() { change internal/queue/declare/enforcer.go 's/if now == e\.seen \|\| /if e.seen == e.seen || /'; }
late_ticks() { change internal/queue/schedule/fire.go 's/next, err = t\.next\(w\.Now\)/next, err = t.next(w.Now.Add(3 * time.Second))/'; }

# PostgreSQL's own statements. The mutants above cover those that both engines share.

no_attempt_on_postgres() {
    change sql/queries/postgres/finish.sql 's/ AND attempt = @attempt/ AND CAST(@attempt AS BIGINT) > 0/' \
        's/ AND j\.attempt = CAST\(e\.value->>1 AS BIGINT\)//'
}

# Half of the fence, and the whole fence.
postgres_attempt() {
    no_attempt_on_postgres
    generate
}
postgres_fence() {
    no_attempt_on_postgres
    change sql/queries/postgres/finish.sql \
        "s/$(column worker_id) = CAST\(@worker_id AS BIGINT\)/CAST(@worker_id AS BIGINT) > 0/" \
        "s/ AND $(column worker_id) = w\.id//"
    generate
}

# The status guard of the batch forms.
postgres_status() {
    change sql/queries/postgres/finish.sql "s/WHERE $(column status) = 'running' AND /WHERE /"
    generate
}

# A claim locks the rows that it chooses, and skips those that others have locked.
postgres_claim_unlocked() {
    change sql/queries/postgres/claim.sql '/^ {6,}FOR NO KEY UPDATE SKIP LOCKED$/d'
    generate
}
postgres_claim_waits() {
    change sql/queries/postgres/claim.sql 's/^( {6,}FOR NO KEY UPDATE) SKIP LOCKED$/\1/'
    generate
}

# The claim's check of its worker: that it was not declared dead.
postgres_dead_claims() {
    change sql/queries/postgres/claim.sql 's/(w\.id = (CAST\(@worker_id AS BIGINT\)|@worker_id)) AND w\.ended_at IS NULL/\1/'
    generate
}

# The time of a job that is claimable already.
postgres_early_claims() {
    change sql/queries/postgres/claim.sql 's/ AND [ij]\.run_after <= @now/ AND CAST(@now AS BIGINT) > 0/'
    generate
}

# A renewal skips locked rows: it must not wait for a handler's open transaction.
postgres_renewal_waits() {
    change sql/queries/postgres/finish.sql 's/ FOR NO KEY UPDATE OF j SKIP LOCKED/ FOR NO KEY UPDATE OF j/'
    generate
}

# A rescue locks the attempts whose end it records: only one does.
postgres_rescue_unlocked() {
    change sql/queries/postgres/rescue.sql 's/^FOR NO KEY UPDATE OF j SKIP LOCKED;$/;/'
    generate
}

# A rescue checks again, by its attempt, each job that it has locked: a live worker may hold it by then.
postgres_rescue_fence() {
    change sql/queries/postgres/rescue.sql 's/ON j\.id = s\.id AND j\.attempt = s\.attempt AND /ON j.id = s.id AND /'
    generate
}

# A runner that finds a job and cannot claim it, because its row is locked, checks ever less often.
postgres_busy_loop() { change internal/queue/runner/look.go 's/min\(lookSoonest<<min\(o\.misses, 10\), lookLast\)/lookSoonest/'; }

# A move waits for uncommitted writes, in any table.
postgres_settle() { change jobs/postgres/upkeep.go 's/"sqluice_job_errors", //'; }

# Waiting migrators keep no snapshot, and neither does the one that migrates.
postgres_migrators() { change jobs/postgres/migrate.go 's/^\tnext := "rollback"$/\tnext := "server_time"/' 's/^\t\tnext = "no_timeouts".*$/\t\treturn true, nil/'; }

# The worker's lock: each one seems free.
postgres_locks() {
    change sql/control/postgres/free_locks.sql 's/pg_try_advisory_xact_lock(\(.*\))$/\1 IS NOT NULL/'
    change sql/control/postgres/try_lock.sql 's/pg_try_advisory_xact_lock\(\$1\)/CAST($1 AS BIGINT) IS NOT NULL/'
}

# The time for workers after a restart of the server to take their locks again.
postgres_settling() { change sql/control/postgres/free_locks.sql 's/w\.started_at > server\.since/w.started_at > 0/'; }

postgres_unique_index() {
    change sql/migrations/postgres/00021_limits.sql 's/^CREATE UNIQUE INDEX sqluice_jobs_unique /CREATE INDEX sqluice_jobs_unique /'
}

# A step of the machine's clock is noticed.
postgres_clock() { change jobs/postgres/clock.go 's/^\tif step\.Abs\(\) < stepLeast \{$/\tif step.Abs() >= 0 {/'; }

# A commit whose connection broke counts as not done, and the write runs again.
postgres_outcome() { change jobs/postgres/transact.go 's/committed, unknown := .*$/committed, unknown := false, error(nil)/'; }

# The server's warning that it stopped waiting for its standbys.
postgres_standby() { change jobs/postgres/standby.go 's/notice\.Routine == standbyWait/notice.Routine == ""/'; }

# A transaction that changed nothing waits for the standbys.
postgres_standby_found() { change jobs/postgres/transact.go 's/return t\.synchronous \&\& !t\.cycle/return false/'; }

# A commit that the server still works on is not given up.
postgres_commit_hangs() { change jobs/postgres/silence.go 's/if w\.commit\.hangs\(w\) \{/if false {/'; }

# The jobs of a commit with an unknown outcome are released.
postgres_strays() { change internal/queue/runner/heartbeat.go 's/return h\.orphans\.release\(ctx, held\)/return nil/'; }

# A server that crashed is trusted with the number of a transaction.
postgres_life() { change sql/control/postgres/transaction_status.sql 's/ = \$2/ <> $2 || $2/'; }

# The server ends transactions whose process is stopped.
postgres_idle() { change sql/control/postgres/transaction.sql "s/'idle_in_transaction_session_timeout', '[^']*'/'idle_in_transaction_session_timeout', '0'/"; }

# The notification of a committed enqueue.
postgres_doorbell() { change jobs/postgres/transact.go 's/if !t\.store\.conns\.options\.silent \&\& /if false \&\& /'; }

# The number of running jobs of a limit key.
limit_running() { change internal/queue/limits/room.go 's/^\t\ts\.room = min\(s\.room, max\(0, s\.Running-s\.Active\)\)$/\t\ts.room = min(s.room, max(0, s.Running))/'; }

# The tokens of a rate: each claim has one more.
limit_rate() { change internal/queue/limits/room.go 's/return \(now \+ b\.most\(\) - b\.paid\(now\)\) \/ b\.interval\(\)/return 1 + (now+b.most()-b.paid(now))\/b.interval()/'; }

# An end makes the lanes of its key ready.
limit_wake() { change internal/queue/lifecycle/lanes.go 's/^\tif len\(ended\) > 0 \{.*$/\tif len(ended) < 0 {/'; }

# The scheduled job that comes before all waiting ones of its sequence.
sequence_first() { change internal/queue/lifecycle/sequences.go 's/ \|\| s\.Scheduled\(\) != 0//'; }

# The failed job that holds its sequence.
sequence_hold() { change internal/queue/lifecycle/sequences.go 's/^\tif s\.HeldBy\(\) != 0 \|\| /\tif /'; }

# tests are the packages and tests that must catch a mutant.
tests() {
    case $1 in
    # Others would wait in vain for workers that take each other for dead.
    boot_check) echo ./jobs/sqlite -run '^TestConformance$/Rescue/BootBesideALiveWorker' ;;
    postgres_locks) echo ./jobs/postgres -run '^TestConformance$/Rescue/BootBesideALiveWorker' ;;
    fence | attempt | finish_status | manage_status | dead_claims)
        echo ./jobs/sqlite -run '^TestConformance$/(Fence|Transaction|Manage|Cancel|Rescue)' ;;
    postgres_fence | postgres_attempt | postgres_status | postgres_dead_claims)
        echo ./jobs/postgres -run '^TestConformance$/(Fence|Transaction|Manage|Cancel|Rescue)' ;;
    immediate_lock) echo ./jobs/sqlite -run '^TestAWriteHoldsTheLockFromItsBeginning$' ;;
    early_claims) echo ./jobs/sqlite -run '^TestConformance$/Fault/ClockSetBack' ;;
    postgres_early_claims) echo ./jobs/postgres -run '^TestConformance$/Fault/ClockSetBack' ;;
    unique_index) echo ./jobs/sqlite -run '^TestConformance$/^Unique$' ;;
    postgres_unique_index) echo ./jobs/postgres -run '^TestConformance$/^Unique$' ;;
    debounce_order) echo ./jobs/sqlite -run '^TestConformance$/^UniqueModes$/DebounceThatWaited' ;;
    limit_running) echo ./jobs/sqlite -run '^TestConformance$/^Limits$/(AtMostRunning|ByPlainSQL)' ;;
    limit_rate) echo ./jobs/sqlite -run '^TestConformance$/^Limits$/RateInEveryWindow' ;;
    limit_wake) echo chaos -lane 17 -engine sqlite -scale 0.1 ;;
    sequence_first) echo ./jobs/sqlite -run '^TestConformance$/^Sequences$/ARetryHoldsTheRest' ;;
    sequence_hold) echo ./jobs/sqlite -run '^TestConformance$/^Sequences$/AFailureHolds' ;;
    unknown_end) echo ./jobs/sqlite -run TestAnEndOfUnknownOutcomeIsWrittenAgain ;;
    last_chance) echo ./jobs/sqlite -run '^TestConformance$/Rescue/LastChancesOneAtATime' ;;
    forget_errors | forget_status) echo ./jobs/sqlite -run '^TestConformance$/^Forget$' ;;
    rekey_results) echo ./jobs/sqlite -run '^TestConformance$/^Cipher$/Rekey' ;;
    newer_version | unable_charged | declared_once | late_ticks) echo chaos -lane 16 -engine sqlite -scale 0.1 ;;
    postgres_clock) echo ./jobs/postgres -run TestClockSteps ;;
    postgres_claim_unlocked) echo ./internal/test/crashtest -run TestPostgresProcesses/4 ;;
    postgres_claim_waits) echo ./internal/test/crashtest -run TestPostgresLockedJobs ;;
    postgres_renewal_waits) echo ./internal/test/crashtest -run TestPostgresOpenCompletion ;;
    postgres_rescue_unlocked) echo ./internal/test/crashtest -run TestPostgresManyRescuers ;;
    postgres_rescue_fence) echo ./jobs/postgres -run TestARescueBesideALiveWorker ;;
    postgres_busy_loop) echo ./jobs/postgres -run TestALockedDueRowIsNoBusyLoop ;;
    postgres_settle) echo ./internal/move -run 'TestWithPostgres/ToSQLite/Late' ;;
    postgres_migrators) echo ./jobs/postgres -run '^TestEngine$/^Migrate$/IndexBuiltConcurrently' ;;
    postgres_settling) echo ./internal/test/crashtest -run TestPostgresRestartKeepsWorkers ;;
    postgres_outcome) echo ./internal/test/crashtest -run TestPostgresTerminatedBackends ;;
    postgres_life) echo ./jobs/postgres -run TestNumberOfATransactionGivenAnew ;;
    postgres_standby) echo ./jobs/postgres -run TestCancelledWait ;;
    postgres_standby_found) echo ./jobs/postgres -run TestCancelledWait ;;
    postgres_commit_hangs) echo ./jobs/postgres -run TestCommitsHang ;;
    postgres_strays) echo ./jobs/postgres -run '^TestEngine$/Stray' ;;
    postgres_idle) echo ./internal/test/crashtest -run TestPostgresStoppedHalfway ;;
    postgres_doorbell) echo ./internal/test/crashtest -run TestPostgresWake ;;
    *) echo "no such mutant: $1" >&2 && return 2 ;;
    esac
}
all='fence attempt finish_status manage_status boot_check dead_claims early_claims immediate_lock
unique_index debounce_order unknown_end last_chance newer_version unable_charged declared_once late_ticks forget_errors forget_status rekey_results
limit_running limit_rate limit_wake sequence_first sequence_hold postgres_unique_index postgres_clock
postgres_fence postgres_attempt postgres_status postgres_claim_unlocked postgres_claim_waits postgres_dead_claims
postgres_early_claims postgres_renewal_waits postgres_rescue_unlocked postgres_rescue_fence postgres_busy_loop postgres_settle
postgres_migrators postgres_locks postgres_settling postgres_outcome postgres_standby postgres_standby_found
postgres_commit_hangs postgres_life postgres_strays postgres_idle
postgres_doorbell'

faults=0
row() { printf '%-24s | %-8s | %s\n' "$@"; }

# fresh FOLDER...: a copy of the tree, or of some of its folders.
fresh() {
    rm -rf "$work/tree" && mkdir "$work/tree"
    (cd "$root" && tar -cf - --exclude=.git "$@") | tar -xf - -C "$work/tree"
}

has_passed=no
if [ "${1:-}" = -p ]; then
    shift
    has_passed=yes
fi

if [ "${1:-}" = -n ]; then
    shift
    generate() { :; }
    for name in ${*:-$all}; do
        fresh sql jobs internal/queue
        set +e
        (set -e; cd "$work/tree"; "$name"; tests "$name" >/dev/null)
        result=$?
        set -e
        if [ "$result" != 0 ]; then
            echo "the mutant $name does not fit"
            faults=1
        fi
    done
    exit "$faults"
fi

# try NAME TESTS...: changes a copy, runs the tests, and sets verdict and the names of failed tests.
try() {
    local name=$1 copy=$work/tree log=$work/log
    shift
    fresh .
    verdict=SURVIVED
    failed=
    # Not in a condition, where the shell would continue after an error.
    set +e
    (set -e; cd "$copy"; "$name") >"$log" 2>&1
    local result=$?
    set -e
    if [ "$result" != 0 ]; then
        verdict=BROKEN
        cat "$log"
        return
    fi
    if [ "$1" = chaos ]; then
        shift
        result=0
        (cd "$copy" && go build -o "$work/chaos" ./internal/test/chaos && "$work/chaos" "$@") >"$log" 2>&1 || result=$?
        case $result in
        0) return ;;
        1) verdict=caught failed=$(sed -nE 's/^(LOST|DOUBLED|STALE|FAULT): //p' "$log" | head -n 1) ;;
        *) verdict=BROKEN && cat "$log" ;;
        esac
        return
    fi
    (cd "$copy" && go test -count=1 -failfast -timeout 400s "$@") >"$log" 2>&1 && return
    # A test that failed only because a sub-test did is not listed.
    failed=$(sed -nE 's/^ *--- FAIL: ([^ ]+).*/\1/p' "$log" | LC_ALL=C sort -u |
        awk 'NR > 1 && index($0, last "/") != 1 { print last } { last = $0 } END { print last }' | paste -sd' ')
    # A run that ended in another way has caught nothing.
    verdict=caught
    if [ -z "$failed" ]; then
        verdict=BROKEN
        cat "$log"
    fi
}

# The tree as it is passes each set of tests; otherwise they would catch anything.
unchanged() { :; }
declare -A passed

# judge NAME: tries a mutant, prints what came of it, and sets fault when that is not as it should be.
judge() {
    local name=$1 list arguments
    fault=1
    list=$(tests "$name")
    read -ra arguments <<<"$list"
    if [ "$has_passed" = no ] && [ -z "${passed[$list]:-}" ]; then
        try unchanged "${arguments[@]}"
        if [ "$verdict" != SURVIVED ]; then
            row "(unchanged)" FAULTY "$failed"
            cat "$work/log"
            return
        fi
        passed[$list]=yes
    fi
    try "$name" "${arguments[@]}"
    row "$name" "$verdict" "$failed"
    if [ "$verdict" = caught ]; then fault=0; fi
}

# Two lanes at once: most of the time a test waits for what the mutant keeps from happening.
row mutant verdict 'tests that failed'
read -ra names <<<"$(echo ${*:-$all})"
lanes=2
pids=()
for ((lane = 0; lane < lanes; lane++)); do
    (
        work=$work/lane$lane
        mkdir "$work"
        trap - EXIT
        for ((i = lane; i < ${#names[@]}; i += lanes)); do
            judge "${names[$i]}"
            if [ "$fault" = 1 ]; then faults=1; fi
        done
        exit "$faults"
    ) &
    pids+=($!)
done
trap 'kill 0' INT # which the lanes do not get
for pid in "${pids[@]}"; do wait "$pid" || faults=1; done
exit "$faults"
