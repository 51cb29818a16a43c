// Graphile Worker. Its settings are those of https://worker.graphile.org/docs/performance.

import { EventEmitter, once } from "node:events";

import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";

import { Journal, byCallers, inParts, pace, payload, settle, sleep } from "./protocol.js";

// A bulk insert adds so many jobs by a call.
const part = 10_000;

// limited jobs share so many named queues, each of which runs one job at a time in their order: there is no other limit.
const queues = 1000;

const logger = new Logger(() => () => {});

// A connection that breaks ends the process, and the harness reports it.
const fail = (error) => {
  throw error;
};

// preset is the library's own, or else that of "Quick stats" in its documentation but for a larger local queue: "if you
// have very high throughput and extremely fast tasks then a much higher number may make sense". With 2,000 instead of
// 500 a drain is almost twice as fast.
function preset({ Settings, Concurrency }) {
  if (Settings === "default") return { worker: { logger } };
  return {
    worker: {
      logger,
      concurrentJobs: Concurrency,
      maxPoolSize: 25,
      localQueue: { size: Math.max(2000, Concurrency + 1) },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  };
}

// open connects, with so many open connections.
async function open({ Path }, connections) {
  const pool = new pg.Pool({ connectionString: Path, max: connections });
  pool.on("error", fail);
  pool.on("connect", (client) => client.on("error", fail));
  const clients = await Promise.all(Array.from({ length: connections }, () => pool.connect()));
  for (const client of clients) client.release();
  return pool;
}

// adding gives the role a function that adds jobs, on a migrated schema.
async function adding(task, connections, role) {
  const pool = await open(task, connections);
  const utils = await makeWorkerUtils({ pgPool: pool, preset: { worker: { logger } } });
  await utils.migrate();
  await role({
    one: (n) => utils.addJob("noop", payload(n, task.Size)),
    many: (list) => utils.addJobs(list.map((n) => ({ identifier: "noop", payload: payload(n, task.Size) }))),
    limited: (list) =>
      utils.addJobs(list.map((n) => ({ identifier: "noop", payload: payload(n, task.Size), queueName: String(n % queues) }))),
  });
  await utils.release();
  await pool.end();
}

// Worker runs jobs and records their starts.
class Worker {
  static async open(task) {
    const worker = new Worker();
    worker.task = task;
    worker.journal = new Journal(task);
    worker.pool = await open(task, preset(task).worker.maxPoolSize ?? 10);
    const utils = await makeWorkerUtils({ pgPool: worker.pool, preset: { worker: { logger } } });
    await utils.migrate();
    await utils.release();
    return worker;
  }

  // start returns when the worker receives notifications of new jobs.
  async start() {
    const { journal } = this;
    const events = new EventEmitter();
    const listens = once(events, "pool:listen:success");
    this.runner = await run({
      preset: preset(this.task),
      pgPool: this.pool,
      events,
      noHandleSignals: true,
      parsedCronItems: [],
      taskList: {
        noop: ({ n }) => {
          journal.start(n);
          return journal.hold();
        },
      },
    });
    await listens;
  }

  async isEmpty() {
    const { rows } = await this.pool.query("SELECT NOT EXISTS (SELECT FROM graphile_worker._private_jobs) AS is_empty");
    return rows[0].is_empty;
  }

  async close() {
    await this.runner.stop();
    await this.pool.end();
  }
}

export const roles = {
  async bulk(task, parent) {
    await adding(task, 1, async (add) => {
      await parent.ready();
      await inParts(task, part, add.many);
      parent.done();
      parent.report({});
    });
  },

  async limited(task, parent) {
    await adding(task, 1, async (add) => {
      await parent.ready();
      await inParts(task, part, add.limited);
      parent.done();
      parent.report({});
    });
  },

  async insert(task, parent) {
    await adding(task, Math.min(task.Callers, 10), async (add) => {
      await parent.ready();
      await byCallers(task, add.one);
      parent.done();
      parent.report({});
    });
  },

  async paced(task, parent) {
    await adding(task, 1, async (add) => {
      await parent.ready();
      const sent = await pace(task, (list) => (list.length === 1 ? add.one(list[0]) : add.many(list)));
      parent.done();
      parent.report({ sent });
    });
  },

  async drain(task, parent) {
    const worker = await Worker.open(task);
    await parent.ready();
    await worker.start();
    await worker.journal.drained(() => worker.isEmpty());
    parent.done();
    parent.report(worker);
    await worker.close();
  },

  async work(task, parent) {
    const worker = await Worker.open(task);
    await worker.start();
    await parent.ready();
    await worker.journal.wait();
    parent.done();
    parent.report(worker);
    await worker.close();
  },

  async latency(task, parent) {
    const worker = await Worker.open(task);
    await worker.start();
    await adding(task, 1, async (add) => {
      await parent.ready();
      const sent = await pace(task, ([n]) => add.one(n));
      await worker.journal.wait();
      parent.done();
      parent.report({ journal: worker.journal, sent });
    });
    await worker.close();
  },

  async idle(task, parent) {
    const worker = await Worker.open(task);
    await worker.start();
    await settle();
    await parent.ready();
    await sleep(task.For / 1e6);
    parent.done();
    parent.report(worker);
    await worker.close();
  },
};
