PRAGMA encoding
