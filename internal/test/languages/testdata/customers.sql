SELECT customer FROM orders;
