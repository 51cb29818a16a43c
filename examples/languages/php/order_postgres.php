<?php
// Places an order and enqueues its job in one transaction on PostgreSQL: order_postgres.php DSN CUSTOMER,
// with a DSN such as pgsql:host=db.example;dbname=app;user=app
[, $dsn, $customer] = $argv;
$db = new PDO($dsn, options: [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$db->beginTransaction();
try {
    $order = $db->prepare('INSERT INTO orders (customer) VALUES (?) RETURNING id');
    $order->execute([$customer]);
    $payload = json_encode(['order' => $order->fetchColumn(), 'customer' => $customer], JSON_THROW_ON_ERROR);
    $db->prepare("INSERT INTO sqluice_jobs (kind, payload) VALUES ('receipt', ?)")->execute([$payload]);
    $db->exec('NOTIFY sqluice'); // wakes a worker at once, when the transaction commits
    if ($customer === 'nobody') {
        throw new InvalidArgumentException('there is no such customer');
    }
    $db->commit();
} catch (Throwable $error) {
    $db->rollBack();
    throw $error;
}
