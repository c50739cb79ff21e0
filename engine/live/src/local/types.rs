//! Machine types as they are on this machine: the names of the cloud's types, the sizes of a desk.

use wfe_core::CallError;
use wfe_core::capability::cloud::MachineType;

const MIB: u64 = 1 << 20;

/// Name, virtual CPUs, MiB of memory, MiB of disk. Memory is what one node's process may take; a disk of 0 is a type
/// that is only good for loaders.
const TYPES: &[(&str, u32, u64, u64)] = &[
    ("i3.large", 1, 768, 96),
    ("i3.xlarge", 1, 768, 192),
    ("i3.2xlarge", 1, 768, 384),
    ("i3.4xlarge", 1, 768, 768),
    ("i3.8xlarge", 1, 768, 1_536),
    ("i3en.large", 1, 768, 128),
    ("i3en.xlarge", 1, 768, 256),
    ("i3en.2xlarge", 1, 768, 512),
    ("i4i.large", 1, 768, 96),
    ("i4i.xlarge", 1, 768, 192),
    ("i4i.2xlarge", 1, 768, 384),
    ("i4i.4xlarge", 1, 768, 768),
    ("i4i.8xlarge", 1, 768, 1_536),
    ("i7i.large", 1, 768, 96),
    ("i7i.xlarge", 1, 768, 192),
    ("i7i.2xlarge", 1, 768, 384),
    ("i7i.4xlarge", 1, 768, 768),
    ("i8g.large", 1, 768, 96),
    ("i8g.xlarge", 1, 768, 192),
    ("i8g.2xlarge", 1, 768, 384),
    ("i8g.4xlarge", 1, 768, 768),
    ("c5.xlarge", 1, 256, 0),
    ("c5.2xlarge", 1, 256, 0),
    ("c5.4xlarge", 1, 256, 0),
    ("c6i.large", 1, 256, 0),
    ("c6i.xlarge", 1, 256, 0),
    ("c6i.2xlarge", 1, 256, 0),
    ("c6i.4xlarge", 1, 256, 0),
    ("c7i.2xlarge", 1, 256, 0),
    ("c7i.4xlarge", 1, 256, 0),
    ("c7i.8xlarge", 1, 256, 0),
];

/// The names of all types.
pub fn names() -> impl Iterator<Item = &'static str> {
    TYPES.iter().map(|known| known.0)
}

/// What is known of a type; a request error that lists all known ones when there is none of that name.
pub fn describe(name: &str) -> Result<MachineType, CallError> {
    let found = TYPES.iter().find(|known| known.0 == name);
    let &(name, vcpus, memory, disk) = found.ok_or_else(|| {
        let known: Vec<&str> = names().collect();
        let message = format!("the local backend has no machine type `{name}`; it has these: {}", known.join(", "));
        CallError::request("unknown-machine-type", message)
    })?;
    Ok(MachineType {
        name: name.into(),
        vcpus,
        memory_bytes: memory * MIB,
        disk_bytes: disk * MIB,
        network_bps: 10_000_000_000,
        hourly_usd: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bigger_type_has_a_bigger_disk() {
        let disk = |name| describe(name).unwrap().disk_bytes / MIB;
        assert_eq!([96, 192, 384, 768], ["i4i.large", "i4i.xlarge", "i4i.2xlarge", "i4i.4xlarge"].map(disk));
    }

    #[test]
    fn an_unknown_type_is_answered_with_the_known_ones() {
        let error = describe("i4i.lage").unwrap_err();
        assert_eq!(error.kind, "request");
        assert!(error.message.starts_with("the local backend has no machine type `i4i.lage`; it has these: i3.large,"));
        assert!(error.message.contains("i4i.4xlarge") && error.message.contains("c6i.2xlarge"));
    }

    #[test]
    fn names_are_there_once() {
        for (n, one) in TYPES.iter().enumerate() {
            assert!(TYPES[n + 1..].iter().all(|other| other.0 != one.0), "{} is there twice", one.0);
        }
    }
}
