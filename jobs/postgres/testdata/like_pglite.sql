CREATE SCHEMA shadow;
CREATE FUNCTION shadow.version() RETURNS text LANGUAGE sql AS $$
    SELECT 'PostgreSQL 18.6 (PGlite 0.5.14) on wasm32-unknown-emscripten, compiled by emcc (Emscripten gcc/clang-like replacement) 6.0.5, 32-bit'
$$;
ALTER DATABASE @name1 SET search_path = public, shadow, pg_catalog
