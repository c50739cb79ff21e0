//! Why a command ends without success: a message for people and an exit code for programs.

use wfe_core::diagnostic::{Diagnostic, Diagnostics};
use wfe_core::state::FoldError;
use wfe_runner::directory::DirectoryError;
use wfe_runner::journal::JournalError;
use wfe_runner::plugin::PluginError;
use wfe_runner::run::RunError;

/// The exit code of a request that is wrong.
pub const REQUEST: u8 = 2;
/// The exit code when a machine, the network, a file or a plugin failed.
pub const INFRASTRUCTURE: u8 = 4;

/// A command that ends without success.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// What, where and what to do; several lines for several mistakes.
    pub message: String,
    /// The mistakes of a workflow, each with its place.
    pub diagnostics: Vec<Diagnostic>,
}

impl Failure {
    /// The user asked for something that cannot be.
    pub fn request(message: impl Into<String>) -> Self {
        Self { code: REQUEST, message: format!("error: {}", message.into()), diagnostics: Vec::new() }
    }

    /// Something that the command needs failed.
    pub fn infrastructure(message: impl Into<String>) -> Self {
        Self { code: INFRASTRUCTURE, message: format!("error: {}", message.into()), diagnostics: Vec::new() }
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Self { code: REQUEST, message: diagnostics.to_string(), diagnostics: diagnostics.list }
    }
}

impl From<PluginError> for Failure {
    fn from(error: PluginError) -> Self {
        Self::request(error.to_string())
    }
}

impl From<DirectoryError> for Failure {
    fn from(error: DirectoryError) -> Self {
        match error {
            DirectoryError::Io { .. } => Self::infrastructure(error.to_string()),
            _ => Self::request(error.to_string()),
        }
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Owned { .. } => {
                Self::request(format!("{error}\n`wfe logs -f` follows the run, `wfe cancel` ends it in order"))
            }
            JournalError::Damaged { .. } | JournalError::Senseless { error: FoldError::Gap { .. }, .. } => {
                Self::infrastructure(format!(
                    "{error}\n`wfe show` tells what stands before that; machines that it lists may have to be given back by hand"
                ))
            }
            _ => Self::infrastructure(error.to_string()),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Directory(error) => error.into(),
            RunError::Journal(error) => error.into(),
            RunError::Backend(error) if error.kind == wfe_core::error::kind::REQUEST => Self::request(error.message),
            RunError::Backend(error) => Self::infrastructure(error.message),
            RunError::Resume(_) => Self::request(error.to_string()),
            RunError::Stuck => Self::infrastructure(format!("{error}\n`wfe cleanup` gives its machines back")),
            RunError::Record(_) => Self::infrastructure(format!(
                "{error}\nthe run stopped there and its machines may still run: when the cause is gone, `wfe resume` carries on"
            )),
        }
    }
}
