//! Disk usage of a node, as its guardrail counts it: the tables' files, without what a running compaction has written so
//! far and without what a finished one is about to delete.

use std::fs;
use std::path::Path;

/// Bytes of all files below a data directory. Files that vanish meanwhile count nothing.
pub fn used_bytes(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let entries: Vec<_> = entries.flatten().collect();
    let names = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let logs = names.filter(|name| name.contains("_txn_") && name.ends_with(".log"));
    let passing: Vec<String> =
        logs.flat_map(|name| passing(&fs::read_to_string(directory.join(name)).unwrap_or_default())).collect();
    entries
        .iter()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => used_bytes(&entry.path()),
            Ok(metadata) => {
                let name = entry.file_name();
                let passes = passing.iter().any(|prefix| name.to_string_lossy().starts_with(prefix.as_str()));
                if passes { 0 } else { metadata.len() }
            }
            Err(_) => 0,
        })
        .sum()
}

/// The beginnings of the names of files that a transaction's log declares new, or, once it is committed, old.
/// A line is `ADD:[/directory/nb-7-big-,0,8][checksum]`.
fn passing(log: &str) -> Vec<String> {
    let which = if log.lines().any(|line| line.starts_with("COMMIT:")) { "REMOVE:[" } else { "ADD:[" };
    let paths = log.lines().filter_map(|line| line.strip_prefix(which)?.split(',').next());
    paths.filter_map(|path| Some(path.rsplit('/').next()?.to_owned())).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_compaction_does_not_count_twice() {
        let directory = tempfile::tempdir().unwrap();
        let table = directory.path().join("wfe/rows-1");
        fs::create_dir_all(&table).unwrap();
        let write = |name: &str, text: &str| fs::write(table.join(name), text).unwrap();
        write("nb-1-big-Data.db", "old old old");
        write("nb-2-big-Data.db", "new new");
        let log = "ADD:[/elsewhere/nb-2-big-,0,8][1]\nREMOVE:[/elsewhere/nb-1-big-,1,8][2]\n";
        write("nb_txn_compaction_x.log", log);
        let running = 11 + log.len() as u64;
        assert_eq!(used_bytes(directory.path()), running);
        let log = format!("{log}COMMIT:[,0,0][3]\n");
        write("nb_txn_compaction_x.log", &log);
        assert_eq!(used_bytes(directory.path()), 7 + log.len() as u64);
    }
}
