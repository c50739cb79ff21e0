//! The built-in plugins, embedded so that the binary is alone.

macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        const BUILTIN: &[(&str, &[u8])] = &[
            $( ($name, include_bytes!(concat!("../../../../plugins/components/", $name, ".wasm"))) ),*
        ];
    };
}

builtin!["fill-to-percent", "grow-cluster", "load", "measure", "provision", "report", "wait-stable"];

/// The names of the built-in plugins.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}

/// The component of that name.
pub fn find(name: &str) -> Option<&'static [u8]> {
    BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
}
