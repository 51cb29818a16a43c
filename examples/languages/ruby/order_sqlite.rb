# Places an order and enqueues its job in one transaction on SQLite: order_sqlite.rb FILE CUSTOMER
require "json"
require "sqlite3"

file, customer = ARGV
db = SQLite3::Database.new(file)
db.busy_timeout = 5000
db.transaction(:immediate) do # begins with the write lock; commits, or rolls back after an error
  db.execute("INSERT INTO orders (customer) VALUES (?)", [customer])
  payload = JSON.generate({order: db.last_insert_row_id, customer: customer})
  db.execute("INSERT INTO sqluice_jobs (kind, payload) VALUES ('receipt', ?)", [payload])
  raise ArgumentError, "there is no such customer" if customer == "nobody"
end
