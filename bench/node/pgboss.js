// pg-boss. Its settings are those of https://pgboss.io/api/workers and https://pgboss.io/api/constructor.

import pg from "pg";
import { PgBoss } from "pg-boss";

import { Journal, byCallers, inParts, pace, payload, settle, sleep } from "./protocol.js";

const queue = "noop";

// A bulk insert adds so many jobs by a call; fewer when they are large.
const part = ({ Size }) => Math.max(1, Math.min(50_000, Math.floor(10e6 / (Size + 20))));

// In its best settings a worker is woken by notifications, takes jobs in batches, two at a time, and continues at once
// as long as they are full.
const isBest = ({ Settings }) => Settings === "best";
const batches = 2;

// limited jobs share so many groups, each of which runs so many jobs at once.
const groups = 1000;
const groupConcurrency = 2;

const groupOptions = ({ Limit }) => (Limit === "keys" ? { groupConcurrency } : {});
const workOptions = (task) =>
  isBest(task)
    ? {
        batchSize: Math.max(1, Math.floor(task.Concurrency / batches)),
        localConcurrency: batches,
        burstWhenBatchFull: true,
        pollingIntervalSeconds: 0.5,
      }
    : {};

// open connects and makes the schema and the queue.
async function open(task) {
  const options = { connectionString: task.Path };
  if (isBest(task)) options.useListenNotify = true;
  const boss = new PgBoss(options);
  boss.on("error", (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue(queue, isBest(task) ? { notify: true } : {});
  return boss;
}

const close = (boss) => boss.stop({ graceful: true });

const add = (boss, task) => ({
  one: (n) => boss.send(queue, payload(n, task.Size)),
  many: (list) => boss.insert(queue, list.map((n) => ({ data: payload(n, task.Size) }))),
  limited: (list) => boss.insert(queue, list.map((n) => ({ data: payload(n, task.Size), group: { id: String(n % groups) } }))),
});

function work(boss, task, journal) {
  return boss.work(queue, { ...workOptions(task), ...groupOptions(task) }, async (jobs) => {
    for (const { data } of jobs) journal.start(data.n);
    await journal.hold();
  });
}

export const roles = {
  async bulk(task, parent) {
    const boss = await open(task);
    await parent.ready();
    await inParts(task, part(task), add(boss, task).many);
    parent.done();
    parent.report({});
    await close(boss);
  },

  async limited(task, parent) {
    const boss = await open(task);
    await parent.ready();
    await inParts(task, part(task), add(boss, task).limited);
    parent.done();
    parent.report({});
    await close(boss);
  },

  async insert(task, parent) {
    const boss = await open(task);
    await parent.ready();
    await byCallers(task, add(boss, task).one);
    parent.done();
    parent.report({});
    await close(boss);
  },

  async paced(task, parent) {
    const boss = await open(task);
    const { one, many } = add(boss, task);
    await parent.ready();
    const sent = await pace(task, (list) => (list.length === 1 ? one(list[0]) : many(list)));
    parent.done();
    parent.report({ sent });
    await close(boss);
  },

  async drain(task, parent) {
    const boss = await open(task);
    const journal = new Journal(task);
    const watcher = new pg.Client({ connectionString: task.Path });
    await watcher.connect();
    await parent.ready();
    await work(boss, task, journal);
    await journal.drained(async () => {
      const { rows } = await watcher.query(
        "SELECT NOT EXISTS (SELECT FROM pgboss.job WHERE name = $1 AND state IN ('created', 'retry', 'active')) AS is_empty",
        [queue],
      );
      return rows[0].is_empty;
    });
    parent.done();
    parent.report({ journal });
    await watcher.end();
    await close(boss);
  },

  async work(task, parent) {
    const boss = await open(task);
    const journal = new Journal(task);
    await work(boss, task, journal);
    await parent.ready();
    await journal.wait();
    parent.done();
    parent.report({ journal });
    await close(boss);
  },

  async latency(task, parent) {
    const boss = await open(task);
    const journal = new Journal(task);
    await work(boss, task, journal);
    await parent.ready();
    const sent = await pace(task, ([n]) => add(boss, task).one(n));
    await journal.wait();
    parent.done();
    parent.report({ journal, sent });
    await close(boss);
  },

  async idle(task, parent) {
    const boss = await open(task);
    const journal = new Journal(task);
    await work(boss, task, journal);
    await settle();
    await parent.ready();
    await sleep(task.For / 1e6);
    parent.done();
    parent.report({ journal });
    await close(boss);
  },
};
