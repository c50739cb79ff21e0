//! Lines for people, kept with the run.

use crate::bindings::wfe::log::log;

/// A detail for whoever debugs the plugin.
pub fn debug(message: impl AsRef<str>) {
    log::write("debug", message.as_ref());
}

/// Something worth knowing.
pub fn info(message: impl AsRef<str>) {
    log::write("info", message.as_ref());
}

/// Something that may explain a bad result.
pub fn warn(message: impl AsRef<str>) {
    log::write("warn", message.as_ref());
}

/// Something that is wrong.
pub fn error(message: impl AsRef<str>) {
    log::write("error", message.as_ref());
}
