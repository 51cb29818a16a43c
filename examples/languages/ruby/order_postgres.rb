# Places an order and enqueues its job in one transaction on PostgreSQL, by pg: order_postgres.rb URL CUSTOMER
require "json"
require "pg"

url, customer = ARGV
PG.connect(url).transaction do |db| # commits, or rolls back after an error
  order = db.exec_params("INSERT INTO orders (customer) VALUES ($1) RETURNING id", [customer])[0]["id"].to_i
  payload = JSON.generate({order: order, customer: customer})
  db.exec_params("INSERT INTO sqluice_jobs (kind, payload) VALUES ('receipt', $1)", [payload])
  db.exec("NOTIFY sqluice") # wakes a worker at once, when the transaction commits
  raise ArgumentError, "there is no such customer" if customer == "nobody"
end
