//! Classes of failed operations: few, stable words that a report can count.

use scylla::errors::{DbError, ExecutionError, RequestAttemptError};

/// The class of an operation that got no answer in time.
pub const TIMEOUT: &str = "timeout";

/// The class of an error.
pub fn class(error: &ExecutionError) -> &'static str {
    match error {
        ExecutionError::RequestTimeout(_) => TIMEOUT,
        ExecutionError::ConnectionPoolError(_) | ExecutionError::EmptyPlan => "connection",
        ExecutionError::LastAttemptError(attempt) => of_attempt(attempt),
        _ => "other",
    }
}

fn of_attempt(error: &RequestAttemptError) -> &'static str {
    match error {
        RequestAttemptError::BrokenConnectionError(_) => "connection",
        RequestAttemptError::UnableToAllocStreamId => "no-stream-id",
        RequestAttemptError::DbError(error, message) => of_database(error, message),
        _ => "other",
    }
}

fn of_database(error: &DbError, message: &str) -> &'static str {
    match error {
        DbError::ReadTimeout { .. } => "read-timeout",
        DbError::WriteTimeout { .. } => "write-timeout",
        DbError::Unavailable { .. } => "unavailable",
        DbError::Overloaded | DbError::RateLimitReached { .. } => "overloaded",
        DbError::IsBootstrapping => "bootstrapping",
        DbError::ReadFailure { .. } => "read-failure",
        DbError::WriteFailure { .. } => "write-failure",
        DbError::Invalid | DbError::ServerError if is_about_disk(message) => "disk-full",
        DbError::Invalid | DbError::SyntaxError | DbError::ConfigError => "refused",
        DbError::ServerError => "server-error",
        _ => "other",
    }
}

fn is_about_disk(message: &str) -> bool {
    let message = message.to_lowercase();
    message.contains("disk") || message.contains("no space left")
}

#[cfg(test)]
mod tests {
    use scylla::frame::types::Consistency;

    use super::*;

    fn database(error: DbError, message: &str) -> &'static str {
        class(&ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, message.into())))
    }

    #[test]
    fn a_refusal_for_a_full_disk_is_told_from_other_refusals() {
        let said =
            "Guardrail replica_disk_usage violated: Write request failed because disk usage exceeds failure threshold";
        assert_eq!(database(DbError::Invalid, said), "disk-full");
        assert_eq!(database(DbError::Invalid, "unknown column"), "refused");
    }

    #[test]
    fn each_kind_has_its_class() {
        let consistency = Consistency::Quorum;
        let unavailable = DbError::Unavailable { consistency, required: 2, alive: 1 };
        let read = DbError::ReadTimeout { consistency, received: 1, required: 2, data_present: false };
        assert_eq!(database(unavailable, ""), "unavailable");
        assert_eq!(database(read, ""), "read-timeout");
        assert_eq!(database(DbError::Overloaded, ""), "overloaded");
        assert_eq!(class(&ExecutionError::EmptyPlan), "connection");
        let stream = RequestAttemptError::UnableToAllocStreamId;
        assert_eq!(class(&ExecutionError::LastAttemptError(stream)), "no-stream-id");
    }
}
