//! What a run says, in every form.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, and says where")]

mod files;
mod fixture;
mod html;
mod texts;
