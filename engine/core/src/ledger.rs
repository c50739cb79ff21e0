//! The resources that a run may have created, folded from its events.
