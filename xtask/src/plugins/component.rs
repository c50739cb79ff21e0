//! From a core module to a component, and what a component asks for.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wit_component::{ComponentEncoder, DecodedWasm};
use wit_parser::WorldItem;

use crate::Result;

/// Facts of one built component. They are committed, so that a review sees when a plugin asks for more than before.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// Size of the file, bytes.
    pub size: usize,
    /// The functions it imports, `package/interface.function`.
    pub imports: Vec<String>,
}

/// Makes a component of a core module that `wit-bindgen` prepared.
pub fn encode(module: &[u8]) -> Result<Vec<u8>> {
    Ok(ComponentEncoder::default().module(module)?.validate(true).debug_names(false).encode()?)
}

impl Component {
    /// Reads the facts from a component, and refuses one that imports anything but the contract.
    pub fn of(bytes: &[u8]) -> Result<Self> {
        let sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { sha256, size: bytes.len(), imports: imports(bytes)? })
    }
}

fn imports(bytes: &[u8]) -> Result<Vec<String>> {
    let DecodedWasm::Component(resolve, world) = wit_component::decode(bytes)? else {
        return Err("this is a package of interfaces, no component".into());
    };
    let mut names = Vec::new();
    for (key, item) in &resolve.worlds[world].imports {
        let interface = resolve.name_world_key(key);
        let foreign = || format!("it imports {interface}, which is not of the contract");
        let short = interface.strip_prefix("wfe:").and_then(|name| name.split('@').next()).ok_or_else(foreign)?;
        if let WorldItem::Interface { id, .. } = item {
            names.extend(resolve.interfaces[*id].functions.keys().map(|function| format!("{short}.{function}")));
        }
    }
    names.sort();
    Ok(names)
}
