-- name: InsertOrder :exec
INSERT INTO orders (item) VALUES (@item);

-- name: CountShipment :exec
UPDATE orders SET shipments = shipments + 1 WHERE item = @item;
