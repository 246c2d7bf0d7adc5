-- name: begin
BEGIN IMMEDIATE

-- name: commit
COMMIT

-- name: rollback
ROLLBACK

-- name: clock
SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER)
