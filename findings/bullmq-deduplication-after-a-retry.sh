#!/bin/sh
# BullMQ 6.7.0 with ioredis and Redis 7.
#
# Jobs with `deduplication: { id }` and no ttl: while one of them waits or runs, another add is ignored and answers with the first one's id. An
# automatic retry keeps that: the id stays taken during the backoff. When the last attempt fails, the id is free. Then an operator retries the
# failed job by `job.retry()`, as dashboards do: the job waits again, but doesn't take its id back. The next add with the id makes a second job,
# and both run at the same time.
#
# So after an incident, when failed jobs are retried and their producers go on, what was unique by its id runs twice side by side.
# This script fails when that changes.
set -eu
dir=$(mktemp -d)
server=
finish() { if [ -n "$server" ]; then kill "$server"; wait "$server" || true; fi; rm -rf "$dir"; }
trap finish EXIT
cd "$dir"
echo '{"private": true, "dependencies": {"bullmq": "6.7.0", "ioredis": "6.0.0"}}' >package.json
npm install --ignore-scripts --no-audit --no-fund --no-update-notifier >/dev/null
redis-server --port 0 --unixsocket "$dir/socket" --save '' --dir "$dir" >"$dir/log" &
server=$!
tries=0
until [ -S "$dir/socket" ]; do
	tries=$((tries + 1))
	if [ "$tries" -gt 100 ]; then cat "$dir/log" >&2; exit 1; fi
	sleep 0.1
done
cat >try.js <<'JS'
const { Queue, Worker } = require("bullmq")
const connection = { path: process.argv[2] }
async function fail(name) {
	const worker = new Worker(name, async () => { throw new Error("down") }, { connection })
	await new Promise(resolve => worker.on("failed", resolve))
	await worker.close()
}
async function mostAtOnce(name, jobs) {
	let now = 0, most = 0, done = 0
	const work = async () => {
		most = Math.max(most, ++now)
		for (let i = 0; i < 20 && most < jobs; i++) await new Promise(resolve => setTimeout(resolve, 50)) // for the other job, if any
		now--
	}
	const worker = new Worker(name, work, { connection, concurrency: 5 })
	await new Promise(resolve => worker.on("completed", () => { if (++done === jobs) resolve() }))
	await worker.close()
	return most
}
async function main() {
	const cases = [
		["an automatic retry", { attempts: 2, backoff: { type: "fixed", delay: 100 } }, job => job.getState(), "1 job, 1 at once"],
		["a retry by hand", {}, job => job.retry(), "2 jobs, 2 at once"],
	]
	for (const [name, options, again, expected] of cases) {
		const queue = new Queue(name, { connection })
		const add = () => queue.add("pay", {}, { ...options, deduplication: { id: "order-42" } })
		const first = await add()
		if ((await add()).id !== first.id) throw new Error("the second add made a job")
		await fail(name)
		await again(await queue.getJob(first.id))
		const jobs = (await add()).id === first.id ? 1 : 2
		const said = `${jobs} ${jobs === 1 ? "job" : "jobs"}, ${await mostAtOnce(name, jobs)} at once`
		console.log(`${name}: ${said}`)
		if (said !== expected) { console.error(`expected: ${expected}`); process.exitCode = 1 }
		await queue.close()
	}
}
main().catch(e => { console.error(e); process.exit(1) })
JS
node try.js "$dir/socket"
