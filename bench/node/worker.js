// A worker process: node worker.js SYSTEM TASK, where the system is a file of this folder and the task is JSON.

import { Parent } from "./protocol.js";

const [name, argument] = process.argv.slice(2);
const systems = {
  bullmq: () => import("./bullmq.js"),
  graphile: () => import("./graphile.js"),
  pgboss: () => import("./pgboss.js"),
};

if (!systems[name]) throw new Error(`no system is called ${name}`);
const task = JSON.parse(argument);
const { roles } = await systems[name]();
const role = roles[task.Role];
if (!role) throw new Error(`${name} does not play the role ${task.Role}`);
await role(task, new Parent());
