// Places an order and enqueues its job in one transaction on SQLite, by better-sqlite3: order_sqlite.mjs FILE CUSTOMER
import Database from "better-sqlite3";

const [file, customer] = process.argv.slice(2);
const db = new Database(file, { timeout: 5000 });
const place = db.transaction((customer) => {
  const order = db.prepare("INSERT INTO orders (customer) VALUES (?)").run(customer).lastInsertRowid;
  db.prepare("INSERT INTO sqluice_jobs (kind, payload, unique_key) VALUES ('receipt', ?, ?)").run(
    JSON.stringify({ order: Number(order), customer }),
    String(order), // a number would arrive as the text "42.0"
  );
  if (customer === "nobody") throw new Error("there is no such customer");
});
place.immediate(customer); // begins with the write lock; commits, or rolls back after an error
db.close();
