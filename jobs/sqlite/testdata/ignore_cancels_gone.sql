DROP TRIGGER ignore_cancels
