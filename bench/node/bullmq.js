// BullMQ on PostgreSQL and on Redis. Its best settings are those of https://docs.bullmq.io: "PostgreSQL backend" (tuning
// tips), "Parallelism and Concurrency" and "Auto-removal of jobs".

import { Queue, Worker, createPostgresBackend } from "bullmq";

import { Journal, byCallers, inParts, pace, payload, settle, sleep } from "./protocol.js";

const name = "noop";

// part returns the number of jobs that one call of addBulk adds. It is smaller for large jobs.
const part = ({ Size }) => Math.max(1, Math.min(10_000, Math.floor(10e6 / (Size + 20))));

// "Give each backend enough pool connections for its concurrency": as many as the slots of peer_bullmq.go.
const bestConnections = 24;

const isBest = ({ Settings }) => Settings === "best";
const isPostgres = ({ Path }) => Path.startsWith("postgres");

// fail ends the process, and the harness reports it. BullMQ only prints what a listener throws.
const fail = (error) => {
  console.error(error);
  process.exit(1);
};

// backend returns the last arguments of the constructors: the options, and on PostgreSQL the backend too. BullMQ makes the
// schema on the first connection.
function backend(task, options) {
  if (!isPostgres(task)) return [{ ...options, connection: { path: task.Path, maxRetriesPerRequest: null } }];
  const connection = { connectionString: task.Path, migrate: true };
  if (isBest(task)) connection.max = bestConnections;
  return [{ ...options, connection }, createPostgresBackend];
}

async function openQueue(task) {
  const queue = new Queue(name, ...backend(task, {}));
  queue.on("error", fail);
  await queue.waitUntilReady();
  return queue;
}

// openWorker makes a worker that does not run yet. By default finished jobs are kept forever.
async function openWorker(task, journal) {
  const options = { autorun: false, concurrency: task.Concurrency };
  if (isBest(task)) options.removeOnComplete = { count: 0 };
  const handle = async ({ data }) => {
    journal.start(data.n);
    await journal.hold();
  };
  const worker = new Worker(name, handle, ...backend(task, options));
  worker.on("error", fail);
  worker.on("failed", (_, error) => fail(error));
  await worker.waitUntilReady();
  return worker;
}

const add = (queue, task) => ({
  one: (n) => queue.add(name, payload(n, task.Size)),
  many: (list) => queue.addBulk(list.map((n) => ({ name, data: payload(n, task.Size) }))),
});

async function isEmpty(queue) {
  const counts = await queue.getJobCounts("waiting", "active", "delayed", "prioritized");
  return Object.values(counts).every((count) => count === 0);
}

export const roles = {
  async bulk(task, parent) {
    const queue = await openQueue(task);
    await parent.ready();
    await inParts(task, part(task), add(queue, task).many);
    parent.done();
    parent.report({});
    await queue.close();
  },

  async insert(task, parent) {
    const queue = await openQueue(task);
    await parent.ready();
    await byCallers(task, add(queue, task).one);
    parent.done();
    parent.report({});
    await queue.close();
  },

  async paced(task, parent) {
    const queue = await openQueue(task);
    const { one, many } = add(queue, task);
    await parent.ready();
    const sent = await pace(task, (list) => (list.length === 1 ? one(list[0]) : many(list)));
    parent.done();
    parent.report({ sent });
    await queue.close();
  },

  async drain(task, parent) {
    const queue = await openQueue(task);
    const journal = new Journal(task);
    const worker = await openWorker(task, journal);
    await parent.ready();
    worker.run().catch(fail);
    await journal.drained(() => isEmpty(queue));
    parent.done();
    parent.report({ journal });
    await worker.close();
    await queue.close();
  },

  async work(task, parent) {
    const journal = new Journal(task);
    const worker = await openWorker(task, journal);
    worker.run().catch(fail);
    await settle();
    await parent.ready();
    await journal.wait();
    parent.done();
    parent.report({ journal });
    await worker.close();
  },

  async latency(task, parent) {
    const queue = await openQueue(task);
    const journal = new Journal(task);
    const worker = await openWorker(task, journal);
    worker.run().catch(fail);
    await settle();
    await parent.ready();
    const sent = await pace(task, ([n]) => add(queue, task).one(n));
    await journal.wait();
    parent.done();
    parent.report({ journal, sent });
    await worker.close();
    await queue.close();
  },

  async idle(task, parent) {
    const journal = new Journal(task);
    const worker = await openWorker(task, journal);
    worker.run().catch(fail);
    await settle();
    await parent.ready();
    await sleep(task.For / 1e6);
    parent.done();
    parent.report({ journal });
    await worker.close();
  },
};
