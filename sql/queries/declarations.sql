-- name: GetDeclaration :one
-- GetDeclaration returns what is in force of a subject and a name.
SELECT d.* FROM sqluice_declarations AS d WHERE d.in_force = 1 AND d.subject = @subject AND d.name = @name;

-- name: ListDeclarations :many
-- ListDeclarations lists all contents that programs declare or declared.
SELECT d.* FROM sqluice_declarations AS d ORDER BY d.id;

-- name: RetireDeclaration :execrows
-- RetireDeclaration ends what is in force of a subject and a name, except for one content.
UPDATE sqluice_declarations SET in_force = 0 WHERE subject = @subject AND name = @name AND id <> @id AND in_force = 1;

-- name: EnforceDeclaration :execrows
-- EnforceDeclaration puts a content in force, after RetireDeclaration. Zero rows mean that it is already.
UPDATE sqluice_declarations SET in_force = 1 WHERE id = @id AND in_force = 0;

-- name: DeleteDeclarations :exec
-- DeleteDeclarations removes all contents, before those of another database take their place.
DELETE FROM sqluice_declarations;
