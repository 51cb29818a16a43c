// Places an order and enqueues its job in one transaction on PostgreSQL, by pg: order_postgres.mjs URL CUSTOMER
import pg from "pg";

const [url, customer] = process.argv.slice(2);
const client = new pg.Client({ connectionString: url });
await client.connect();
try {
  await client.query("BEGIN");
  const { rows } = await client.query("INSERT INTO orders (customer) VALUES ($1) RETURNING id", [customer]);
  await client.query("INSERT INTO sqluice_jobs (kind, payload) VALUES ('receipt', $1)", [
    JSON.stringify({ order: Number(rows[0].id), customer }),
  ]);
  await client.query("NOTIFY sqluice"); // wakes a worker at once, when the transaction commits
  if (customer === "nobody") throw new Error("there is no such customer");
  await client.query("COMMIT");
} catch (error) {
  await client.query("ROLLBACK");
  throw error;
} finally {
  await client.end();
}
