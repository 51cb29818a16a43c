"""Runs the statements of a file in a PostgreSQL database: run.py URL FILE"""
import sys

import psycopg

with psycopg.connect(sys.argv[1]) as connection, open(sys.argv[2]) as text:
    connection.execute(text.read())
