// The page replaces this file.
