"""Places an order and enqueues its job in one transaction on SQLite: order_sqlite.py FILE CUSTOMER"""

import json
import sqlite3
import sys

file, customer = sys.argv[1:]
# The transaction begins with the write lock, for which it waits up to 5 seconds.
connection = sqlite3.connect(file, timeout=5, isolation_level="IMMEDIATE")
with connection:  # commits, or rolls back after an error
    order = connection.execute("INSERT INTO orders (customer) VALUES (?)", (customer,)).lastrowid
    connection.execute(
        "INSERT INTO sqluice_jobs (kind, payload) VALUES ('receipt', ?)",
        (json.dumps({"order": order, "customer": customer}),),
    )
    if customer == "nobody":
        raise ValueError("there is no such customer")
connection.close()
