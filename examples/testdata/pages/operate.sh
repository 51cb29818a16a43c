# Jobs 1 to 42; the last one waits. Two that failed.
program resize.sh 'cat'
program mail.sh 'cat'
export SMTP_URL=smtp://localhost
echo '[{"file": "b.png"}, {"file": "c.png"}]' >files.json
enqueued 41
command sqluice enqueue resize --in 1h >/dev/null
seq 2 | command sqluice enqueue mail --stdin --max-attempts 1 >/dev/null
command sqluice work --exec 'mail=false' --drain
printf '%s\n' '{"kind": "mail", "payload": {"to": "ann"}}' '{"kind": "resize", "priority": 5}' > jobs.ndjson
