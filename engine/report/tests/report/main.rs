//! What a run says, in every form.

mod files;
mod fixture;
mod html;
mod texts;
