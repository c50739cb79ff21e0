//! A workflow's file as far as it is right. Its plugins can be found in a file with mistakes too, so that all mistakes, also
//! those that only plugins know, are reported at once.

use std::collections::BTreeSet;

use crate::diagnostic::{Mistake, Source};

use super::{At, Workflow, is_plugin_file};

/// A workflow's file as far as it is right, and what is wrong with it so far.
#[derive(Debug, Clone)]
pub struct Reading {
    pub(crate) source: Source,
    pub(crate) workflow: Option<Workflow>,
    pub(crate) mistakes: Vec<Mistake>,
}

impl Reading {
    /// Reads a file's text.
    pub fn of(source: Source) -> Self {
        let mut mistakes = vec![];
        let workflow = Workflow::read(&source, &mut mistakes);
        Self { source, workflow, mistakes }
    }

    /// What was read.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The plugin files that the steps use, as written, each once: texts such as `./fault.wasm#kill-node`.
    pub fn plugin_files(&self) -> Vec<&At<String>> {
        let steps = self.workflow.iter().flat_map(|workflow| &workflow.steps);
        let mut seen = BTreeSet::new();
        steps.map(|step| &step.uses).filter(|uses| is_plugin_file(&uses.value) && seen.insert(&uses.value)).collect()
    }
}
