"""Runs the statements of a file in a SQLite database: run.py DATABASE FILE"""
import sqlite3
import sys

connection = sqlite3.connect(sys.argv[1], timeout=30)
with open(sys.argv[2]) as statements:
    connection.executescript(statements.read())
connection.commit()
connection.close()
