//! What touches a real database.
