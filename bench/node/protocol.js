// The part that every worker process shares: the protocol of ../children.go, the journal of starts, the pace of
// inserts. ../task.go and ../contender.go say what the fields and roles mean.

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

// A worker process waits this long for the next job before it gives up the missing ones.
const lastStart = 20_000;

// now is the time in microseconds since 1970: as nanoseconds it would not fit into a number.
export const now = () => Math.round((performance.timeOrigin + performance.now()) * 1000);

// nanoseconds formats a time for the harness.
const nanoseconds = (microseconds) => `${microseconds}000`;

export const payload = (n, size) => ({ n, pad: "x".repeat(size) });

// Parent is the process that started this one.
export class Parent {
  #cpu;
  #report = { CPU: 0, PeakRSS: 0 };

  // ready tells the parent that this process is ready, and waits for the signal to begin.
  async ready() {
    const begin = new Promise((resolve, reject) => {
      process.stdin.once("data", resolve);
      process.stdin.once("end", () => reject(new Error("the harness has gone")));
    });
    process.stdout.write("ready\n");
    await begin;
    process.stdin.removeAllListeners("end");
    process.stdin.destroy(); // or this process would not end by itself
    this.#cpu = process.cpuUsage();
  }

  // done ends the measured part.
  done() {
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#report = { CPU: (user + system) * 1000, PeakRSS: peakRSS() };
    process.stdout.write("done\n");
  }

  // report sends the observations: the starts of a journal, and when jobs were sent.
  report({ journal, sent = [], errors = 0 }) {
    const begun = (journal?.list ?? []).map(([n, at]) => `{"N":${n},"At":${nanoseconds(at)}}`);
    const { CPU, PeakRSS } = this.#report;
    process.stdout.write(
      `{"CPU":${CPU},"PeakRSS":${PeakRSS},"Errors":${errors},` +
        `"Begun":[${begun.join(",")}],"Sent":[${sent.map(nanoseconds).join(",")}]}\n`,
    );
  }
}

function peakRSS() {
  if (process.platform !== "linux") return process.resourceUsage().maxRSS * 1024;
  const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"));
  return line ? Number(line[1]) * 1024 : 0;
}

// Journal collects the starts of jobs.
export class Journal {
  list = [];
  #most;
  #hold;
  #ended;
  #end;

  constructor({ Jobs, Hold }) {
    this.#most = Jobs;
    this.#hold = Hold / 1e6;
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  // start records that the handler of job n has begun.
  start(n) {
    this.list.push([n, now()]);
    if (this.list.length === this.#most) this.#end();
  }

  // hold is the work of a handler.
  hold() {
    return this.#hold > 0 ? sleep(this.#hold) : undefined;
  }

  // wait waits for the last start, or until none has come for a while: the harness then reports the missing ones.
  async wait() {
    for (let seen = -1; seen !== this.list.length; ) {
      seen = this.list.length;
      const timer = new AbortController();
      const given = sleep(lastStart, true, { signal: timer.signal }).catch(() => false);
      const isLate = await Promise.race([this.#ended.then(() => false), given]);
      timer.abort();
      if (!isLate) return;
    }
  }

  // drained waits until isEmpty reports that no process has an unfinished job left. It asks at most each 10 ms, and
  // only while no job starts here, so that asking does not slow down the work.
  async drained(isEmpty) {
    for (let seen = -1; ; ) {
      await sleep(10);
      if (seen === this.list.length && (await isEmpty())) return;
      seen = this.list.length;
    }
  }
}

// byCallers lets callers add n jobs together, each one after the other.
export async function byCallers({ Callers, Jobs }, add) {
  const caller = async (first) => {
    for (let i = first; i < Jobs; i += Callers) await add(i);
  };
  await Promise.all(Array.from({ length: Callers }, (_, i) => caller(i)));
}

// inParts adds all jobs, so many by a call.
export async function inParts({ Jobs }, size, add) {
  for (let from = 0; from < Jobs; from += size) await add(numbers(from, Math.min(from + size, Jobs)));
}

const numbers = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);

// pace adds a task's jobs at its rate, and returns when each was sent. It adds late jobs at once.
export async function pace({ Jobs, Rate, Batch }, add) {
  const size = Math.max(1, Batch);
  const sent = [];
  const begin = performance.now();
  for (let from = 0; from < Jobs; from += size) {
    const early = begin + (from / Rate) * 1000 - performance.now();
    if (early > 0) await sleep(early);
    const part = numbers(from, Math.min(from + size, Jobs));
    const at = now();
    for (const _ of part) sent.push(at);
    await add(part);
  }
  return sent;
}

// settle is the rest of an idle worker before it counts.
export const settle = () => sleep(5000);

export { sleep };
