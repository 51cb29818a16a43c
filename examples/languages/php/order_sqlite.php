<?php
// Places an order and enqueues its job in one transaction on SQLite: order_sqlite.php FILE CUSTOMER
[, $file, $customer] = $argv;
$db = new PDO("sqlite:$file", options: [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_TIMEOUT => 5]);
$db->exec('BEGIN IMMEDIATE'); // with the write lock, which PDO's beginTransaction does not take
try {
    $db->prepare('INSERT INTO orders (customer) VALUES (?)')->execute([$customer]);
    $payload = json_encode(['order' => (int) $db->lastInsertId(), 'customer' => $customer], JSON_THROW_ON_ERROR);
    $db->prepare("INSERT INTO sqluice_jobs (kind, payload) VALUES ('receipt', ?)")->execute([$payload]);
    if ($customer === 'nobody') {
        throw new InvalidArgumentException('there is no such customer');
    }
    $db->exec('COMMIT');
} catch (Throwable $error) {
    $db->exec('ROLLBACK');
    throw $error;
}
