CREATE TRIGGER change_one_column AFTER INSERT ON sqluice_jobs
BEGIN
    UPDATE sqluice_jobs SET
        kind = CASE NEW.payload WHEN '"kind"' THEN 'other' ELSE kind END,
        queue = CASE NEW.payload WHEN '"queue"' THEN 'other' ELSE queue END,
        payload = CASE NEW.payload WHEN '"payload"' THEN '"other"' ELSE payload END,
        status = CASE NEW.payload WHEN '"status"' THEN 'pending' ELSE status END,
        priority = CASE NEW.payload WHEN '"priority"' THEN priority + 1 ELSE priority END,
        run_after = CASE NEW.payload WHEN '"run_after"' THEN run_after + 100000000000000 ELSE run_after END,
        max_attempts = CASE NEW.payload WHEN '"max_attempts"' THEN max_attempts + 1 ELSE max_attempts END,
        timeout = CASE NEW.payload WHEN '"timeout"' THEN timeout + 1000 ELSE timeout END,
        unique_key = CASE NEW.payload WHEN '"unique_key"' THEN 'other' ELSE unique_key END,
        request_id = CASE NEW.payload WHEN '"request_id"' THEN 'other' ELSE request_id END,
        user_id = CASE NEW.payload WHEN '"user_id"' THEN 'other' ELSE user_id END,
        tags = CASE NEW.payload WHEN '"tags"' THEN '["other"]' ELSE tags END,
        metadata = CASE NEW.payload WHEN '"metadata"' THEN '{"other": 1}' ELSE metadata END,
        attempt = CASE NEW.payload WHEN '"attempt"' THEN attempt + 1 ELSE attempt END,
        worker_id = CASE NEW.payload WHEN '"worker_id"' THEN NULL ELSE worker_id END
    WHERE id = NEW.id;
END
