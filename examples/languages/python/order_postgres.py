"""Places an order and enqueues its job in one transaction on PostgreSQL, by psycopg 3: order_postgres.py URL CUSTOMER"""

import json
import sys

import psycopg

url, customer = sys.argv[1:]
with psycopg.connect(url) as connection:  # commits, or rolls back after an error
    row = connection.execute("INSERT INTO orders (customer) VALUES (%s) RETURNING id", (customer,)).fetchone()
    connection.execute(
        "INSERT INTO sqluice_jobs (kind, payload) VALUES ('receipt', %s)",
        (json.dumps({"order": row[0], "customer": customer}),),
    )
    connection.execute("NOTIFY sqluice")  # wakes a worker at once, when the transaction commits
    if customer == "nobody":
        raise ValueError("there is no such customer")
