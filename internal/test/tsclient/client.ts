// Drives a server's API with a client whose types openapi-typescript has made from openapi.json: node out/client.js URL
// TOKEN. The queue is empty. The reader of standard output runs the due jobs when it reads "drain", of which those of
// the kind "bad" fail, and answers "drained".
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Problem = components["schemas"]["Problem"];

const [baseUrl = "", token = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

// data returns a request's answer, which must not be a problem.
function data<T>(answer: { data?: T; error?: Problem; response: Response }): NonNullable<T> {
  assert.equal(answer.error, undefined, `${answer.response.url}: ${JSON.stringify(answer.error)}`);
  assert(answer.data !== undefined && answer.data !== null, answer.response.url);
  return answer.data;
}

// problem returns the problem of a refused request.
function problem(answer: { error?: Problem; response: Response }, status: number, name: string): Problem {
  assert(answer.error, `${answer.response.url} is answered with ${answer.response.status}`);
  assert.equal(answer.response.headers.get("Content-Type"), "application/problem+json");
  assert.equal(answer.response.status, status);
  assert.equal(answer.error.status, status);
  assert.equal(answer.error.type, `urn:sqluice:problem:${name}`);
  return answer.error;
}

// drain lets the test run all jobs that are due.
async function drain(): Promise<void> {
  console.log("drain");
  assert.equal((await answers.next()).value, "drained");
}

async function enqueueAndList(): Promise<void> {
  assert.deepEqual(data(await client.GET("/api/admin/jobs")), { jobs: [] });
  const payload = { name: "Zoë", list: [1, 2.5, null, true], nested: { empty: {} } };
  const first = data(await client.POST("/api/admin/jobs", {
    body: { kind: "bad", payload, queue: "q", max_attempts: 1, user_id: "ann", tags: ["red", "blue"], unique_key: "u", metadata: { by: "node" } },
  }));
  assert.deepEqual(first, { id: 1, existed: false });
  assert.deepEqual(data(await client.POST("/api/admin/jobs", { body: { kind: "bad", unique_key: "u" } })), { id: 1, existed: true });
  for (let i = 0; i < 6; i++) {
    data(await client.POST("/api/admin/jobs", { body: { kind: "other", run_after: "2090-01-02T03:04:05Z", start_by: "2090-01-02T04:04:05Z" } }));
  }
  const job = data(await client.GET("/api/admin/jobs/{id}", { params: { path: { id: first.id } } }));
  assert.deepEqual(job.payload, payload);
  assert.deepEqual([job.kind, job.queue, job.status, job.user_id, job.tags], ["bad", "q", "pending", "ann", ["red", "blue"]]);

  const later = data(await client.GET("/api/admin/jobs/{id}", { params: { path: { id: 3 } } }));
  assert.deepEqual([later.status, later.start_by], ["scheduled", "2090-01-02T04:04:05Z"]);

  const ids: number[] = [];
  for (let after: number | undefined; ; ) {
    const page = data(await client.GET("/api/admin/jobs", { params: { query: { limit: 3, ...(after === undefined ? {} : { after }) } } }));
    ids.push(...page.jobs.map((j) => j.id));
    if (page.next === undefined) break;
    after = page.next;
  }
  assert.equal(ids.length, 7, String(ids));
  assert.deepEqual(ids, [...new Set(ids)].sort((a, b) => b - a));
  for (const query of [{ q: "zoë" }, { q: "NESTED" }, { tag: "red" }, { user_id: "ann" }, { kind: "bad", queue: "q", status: "pending" }] as const) {
    const found = data(await client.GET("/api/admin/jobs", { params: { query } }));
    assert.deepEqual(found.jobs.map((j) => j.id), [1], JSON.stringify(query));
  }
}

async function pauseAndWhy(): Promise<void> {
  const path = { name: "q" };
  assert.deepEqual(data(await client.POST("/api/admin/queues/{name}/pause", { params: { path } })), { queue: "q", paused: true, changed: true });
  const { queues } = data(await client.GET("/api/admin/queues"));
  const q = queues.find((queue) => queue.name === "q");
  assert(q !== undefined && q.paused_at !== undefined && q.pending === 1, JSON.stringify(queues));
  const why = data(await client.GET("/api/admin/jobs/{id}/why", { params: { path: { id: 1 } } }));
  assert(why.findings.some((finding) => finding.reason === "queue-paused"), JSON.stringify(why));
  assert.equal(data(await client.POST("/api/admin/queues/{name}/resume", { params: { path } })).paused, false);
}

async function schedules(): Promise<void> {
  const path = { name: "nightly/report" };
  const put = data(await client.PUT("/api/admin/schedules/{name}", {
    params: { path }, body: { kind: "other", payload: { n: 1 }, cron: "0 2 * * *", zone: "Europe/Berlin", overlap: "skip", start_within_ns: 3_600_000_000_000, tags: ["red"], metadata: { by: "node" } },
  }));
  assert.deepEqual([put.name, put.spec, put.zone, put.catch_up, put.overlap, put.state, put.in_code], [path.name, "0 2 * * *", "Europe/Berlin", "latest", "skip", "active", false]);
  assert.deepEqual(data(await client.POST("/api/admin/schedules/{name}/pause", { params: { path } })), { schedule: path.name, paused: true, changed: true });
  const run = data(await client.POST("/api/admin/schedules/{name}/run", { params: { path } }));
  const one = data(await client.GET("/api/admin/schedules/{name}", { params: { path, query: { ticks: 5 } } }));
  assert.deepEqual([one.schedule.state, one.ticks.map((t) => [t.outcome, t.job_id])], ["paused", [["asked", run.id]]]);
  data(await client.POST("/api/admin/schedules/{name}/resume", { params: { path } }));
  assert.deepEqual(data(await client.GET("/api/admin/schedules")).schedules.map((s) => s.name), [path.name]);
  assert.equal((await client.DELETE("/api/admin/schedules/{name}", { params: { path } })).response.status, 204);
  problem(await client.GET("/api/admin/schedules/{name}", { params: { path } }), 404, "no-such-schedule");
  data(await client.POST("/api/admin/jobs/{id}/cancel", { params: { path: { id: run.id } } }));
}

async function limits(): Promise<void> {
  const rate = { starts: 10, period_ns: 1_000_000_000 };
  assert.deepEqual(data(await client.PUT("/api/admin/limits", { body: { kind: "other", key: "ann", running: 2, rate, burst: 20 } })), { changed: true });
  const { limits } = data(await client.GET("/api/admin/limits"));
  assert.deepEqual(limits.map((l) => [l.kind, l.key, l.running, l.rate, l.burst, l.declared, l.waiting_jobs]), [["other", "ann", 2, rate, 20, false, 0]]);
  assert.deepEqual(data(await client.GET("/api/admin/limits/keys", { params: { query: { kind: "other" } } })), { keys: [] });
  const query = { kind: "other", key: "ann" };
  assert.deepEqual(data(await client.DELETE("/api/admin/limits", { params: { query } })), { changed: true });
  assert.deepEqual(data(await client.DELETE("/api/admin/limits", { params: { query } })), { changed: false });
  const invalid = problem(await client.PUT("/api/admin/limits", { body: { kind: "other", running: -1 } }), 400, "invalid");
  assert.equal(invalid.faults?.[0]?.field, "running");
}

async function failAndRetry(): Promise<void> {
  await drain();
  const { groups } = data(await client.GET("/api/admin/failed", { params: { query: { kind: "bad" } } }));
  assert.equal(groups.length, 1);
  assert.deepEqual([groups[0]?.error, groups[0]?.jobs, groups[0]?.example_id], ["it is bad", 1, 1]);
  const path = { id: 1 };
  const failed = data(await client.GET("/api/admin/jobs/{id}", { params: { path } }));
  assert.deepEqual(failed.errors.map((e) => [e.attempt, e.cause, e.message]), [[1, "error", "it is bad"]]);
  assert.equal(data(await client.POST("/api/admin/jobs/{id}/retry", { params: { path } })).status, "pending");
  problem(await client.POST("/api/admin/jobs/{id}/retry", { params: { path } }), 409, "status");
  await drain();
  assert.equal(data(await client.GET("/api/admin/stats")).jobs.failed, 1);
}

async function bulk(): Promise<void> {
  let result = data(await client.POST("/api/admin/bulk/cancel", { body: { status: "scheduled", kind: "other", limit: 4 } }));
  assert.equal(result.changed, 4);
  assert(result.next !== undefined);
  result = data(await client.POST("/api/admin/bulk/cancel", { body: { status: "scheduled", kind: "other", after: result.next } }));
  assert.deepEqual(result, { changed: 2, skipped: 0, refused: 0 });
  assert.equal(data(await client.POST("/api/admin/bulk/delete", { body: { status: "cancelled" } })).changed, 6);
  const removed = await client.DELETE("/api/admin/jobs/{id}", { params: { path: { id: 1 } } });
  assert.equal(removed.response.status, 204);
  assert.deepEqual(data(await client.GET("/api/admin/jobs")), { jobs: [] });
}

async function problems(): Promise<void> {
  problem(await client.GET("/api/admin/jobs/{id}", { params: { path: { id: 1 } } }), 404, "no-such-job");
  const invalid = problem(await client.POST("/api/admin/jobs", { body: { kind: "" } }), 400, "invalid");
  assert.equal(invalid.faults?.[0]?.field, "kind");
  problem(await client.GET("/api/admin/jobs", { params: { query: { limit: 1000 } } }), 400, "invalid");
  const stranger = createClient<paths>({ baseUrl, headers: { Authorization: "Bearer of something else" } });
  problem(await stranger.GET("/api/admin/stats"), 401, "unauthorized");
  assert.deepEqual(data(await client.GET("/api/admin/readyz")), { status: "ok" });
  assert.deepEqual(data(await client.GET("/api/admin/workers")), { workers: [] });
}

// events reads the stream until it reports a change.
async function events(): Promise<void> {
  const stop = new AbortController();
  const answer = await client.GET("/api/admin/events", { parseAs: "stream", signal: stop.signal });
  const stream: ReadableStream<Uint8Array> | null | undefined = answer.data;
  assert(stream, String(answer.response.status));
  let text = "";
  const decoder = new TextDecoder();
  for await (const part of stream) {
    text += decoder.decode(part, { stream: true });
    if (/event: change\ndata: (.*)\n\n/.test(text)) break;
  }
  const found = /data: (.*)\n/.exec(text)?.[1];
  const change = JSON.parse(found ?? "") as components["schemas"]["Change"];
  assert(!Number.isNaN(Date.parse(change.at)), text);
  stop.abort();
}

for (const step of [enqueueAndList, pauseAndWhy, failAndRetry, bulk, problems, schedules, limits, events]) {
  await step();
  console.log(`did ${step.name}`);
}
process.exit(0);
