//! The journal: the events of a run as JSON lines in one append-only file.
//!
//! One file gives order for nothing: a line is whole or it is the torn last one. What must survive a loss of power is
//! synced before anything follows from it, and events that wait for that at the same time share one sync. A rehearsal
//! changes nothing outside its process, so its journal is written but not synced: it survives `kill -9`.
//!
//! Each line begins with the checksum of the rest of it, because a changed digit is still JSON: a disk that lies is an
//! error that says where, never another verdict.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::watch;
use wfe_core::Entry;
use wfe_core::state::FoldError;

use crate::owner::Owner;

/// Name of the journal in a run's directory.
pub const FILE: &str = "journal.jsonl";

/// Name of a file beside the journal of a run that changes a real world: room for its end when the disk is full.
const RESERVE: &str = "journal.reserve";
/// Its size, bytes: thousands of entries.
const RESERVE_BYTES: usize = 1 << 20;

/// The longest line that is written, bytes. The first one has the plan in it, which the workflow's file bounds.
const LONGEST_LINE: usize = 4 << 20;

/// A journal that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be opened, read, written or synced.
    #[error("{}: {doing}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What went wrong.
        source: io::Error,
    },
    /// Another process owns the run.
    #[error("{}: another process is carrying out this run{}", path.display(), named(owner))]
    Owned {
        /// The file.
        path: PathBuf,
        /// The process, if it wrote itself down.
        owner: Option<Owner>,
    },
    /// A line before the last one is no entry.
    #[error("{}: line {line}, byte {byte}: not a journal entry: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Counts from 1.
        line: usize,
        /// Where the line begins.
        byte: usize,
        /// What the reader said.
        message: String,
    },
    /// The entries are whole, and make no sense one after another.
    #[error("{}: {error}", path.display())]
    Senseless {
        /// The file.
        path: PathBuf,
        /// Why.
        error: FoldError,
    },
    /// An event is larger than a line may be.
    #[error("{}: an event of {size} bytes is larger than a journal's line may be ({LONGEST_LINE} bytes)", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size, bytes.
        size: usize,
    },
}

fn sync_directory(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path)?.sync_all()
}

fn named(owner: &Option<Owner>) -> String {
    owner.as_ref().map(|owner| format!(": {owner}")).unwrap_or_default()
}

/// What a journal holds.
#[derive(Debug)]
pub struct Contents {
    /// The whole entries.
    pub entries: Vec<Entry>,
    /// Where the last whole entry ends.
    pub whole_bytes: u64,
    /// Bytes of a torn last line, which are dropped.
    pub torn_bytes: u64,
}

/// Reads a journal. A last line without its end is dropped; damage anywhere else is an error that says where.
pub fn read(directory: &Path) -> Result<Contents, JournalError> {
    let (contents, damage) = read_readable(directory)?;
    damage.map_or(Ok(contents), Err)
}

/// Reads a journal as far as it is whole; answers with it where it is damaged.
pub fn read_readable(directory: &Path) -> Result<(Contents, Option<JournalError>), JournalError> {
    let path = directory.join(FILE);
    let mut text = Vec::new();
    let read = File::open(&path).and_then(|mut file| file.read_to_end(&mut text));
    read.map_err(|source| JournalError::Io { path: path.clone(), doing: "reading the journal", source })?;
    let mut contents = Contents { entries: Vec::new(), whole_bytes: 0, torn_bytes: 0 };
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if line.last() != Some(&b'\n') {
            contents.torn_bytes = line.len() as u64;
            break;
        }
        match unsealed(&line[..line.len() - 1]) {
            Ok(entry) => contents.entries.push(entry),
            Err(message) => {
                let (line, byte) = (index + 1, contents.whole_bytes as usize);
                return Ok((contents, Some(JournalError::Damaged { path, line, byte, message })));
            }
        }
        contents.whole_bytes += line.len() as u64;
    }
    Ok((contents, None))
}

/// What a line begins with, before and after the eight hexadecimal digits of its checksum.
const CHECKSUM: (&[u8], &[u8]) = (b"{\"crc\":\"", b"\",");
const CHECKSUM_DIGITS: usize = 8;

/// The line of an entry, given as its JSON object: the CRC-32 of the object comes first in it.
pub fn sealed(entry: &str) -> String {
    let checksum = crc32fast::hash(entry.as_bytes());
    let rest = entry.strip_prefix('{').unwrap_or(entry);
    format!("{{\"crc\":\"{checksum:08x}\",{rest}\n")
}

/// The entry of a line without its end, or what is wrong with it.
fn unsealed(line: &[u8]) -> Result<Entry, String> {
    let without = || "it does not begin with its checksum".to_owned();
    let (digits, rest) =
        line.strip_prefix(CHECKSUM.0).and_then(|line| line.split_at_checked(CHECKSUM_DIGITS)).ok_or_else(without)?;
    let rest = rest.strip_prefix(CHECKSUM.1).ok_or_else(without)?;
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(b"{");
    checksum.update(rest);
    if digits != format!("{:08x}", checksum.finalize()).as_bytes() {
        return Err("its checksum differs: it was changed after it was written".into());
    }
    serde_json::from_slice(&[b"{", rest].concat()).map_err(|e| e.to_string())
}

/// The open journal of the process that owns the run.
pub struct Journal {
    file: Arc<File>,
    path: PathBuf,
    durable: bool,
    /// So many entries, and bytes, were written.
    written: AtomicU64,
    length: AtomicU64,
    full: AtomicBool,
    syncs: watch::Sender<Syncs>,
}

/// How far the file is synced. A sync goes on by itself, whether those who wait for it are polled or not: an attempt may
/// stand still while the run's loop waits for a sync too.
#[derive(Debug, Default)]
struct Syncs {
    /// So many entries are on the disk.
    synced: u64,
    running: bool,
    failed: Option<(io::ErrorKind, String)>,
}

impl Journal {
    /// Begins the journal of a new run. `durable` says whether [`Journal::sync`] syncs.
    pub fn create(directory: &Path, durable: bool) -> Result<Self, JournalError> {
        let path = directory.join(FILE);
        let file = OpenOptions::new().create_new(true).append(true).open(&path);
        let journal = Self::own(file, path, durable)?;
        journal.reserve();
        if durable {
            // A file whose name is lost with the power is lost.
            let synced = [Some(directory), directory.parent()].into_iter().flatten().try_for_each(sync_directory);
            synced.map_err(|source| journal.io("syncing the directory of the journal", source))?;
        }
        Ok(journal)
    }

    /// Takes ownership of a run's journal. Only then it is read, because an owner may still write.
    pub fn reopen(directory: &Path) -> Result<Self, JournalError> {
        let path = directory.join(FILE);
        let file = OpenOptions::new().append(true).open(&path);
        Self::own(file, path, true)
    }

    /// Cuts a torn last line off, to write after the last whole entry. `durable` says whether [`Journal::sync`] syncs.
    pub fn carry_on(self, whole_bytes: u64, durable: bool) -> Result<Self, JournalError> {
        let cut = self.file.set_len(whole_bytes);
        cut.map_err(|source| self.io("dropping a torn last line", source))?;
        let journal = Self { durable, length: whole_bytes.into(), ..self };
        journal.reserve();
        Ok(journal)
    }

    /// Keeps room for the run's end. Where there is none, the run goes on without it.
    fn reserve(&self) {
        let path = self.path.with_file_name(RESERVE);
        if self.durable
            && !path.exists()
            && let Err(error) = std::fs::write(&path, vec![0; RESERVE_BYTES])
        {
            tracing::debug!("no room is reserved for the end of the run: {error}");
            drop(std::fs::remove_file(&path));
        }
    }

    /// Gives the reserved room free; answers whether there was any.
    pub fn release(&self) -> bool {
        std::fs::remove_file(self.path.with_file_name(RESERVE)).is_ok()
    }

    /// Whether the disk was full, and the reserved room is used: the run has to end.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::SeqCst)
    }

    fn own(file: io::Result<File>, path: PathBuf, durable: bool) -> Result<Self, JournalError> {
        let file =
            file.map_err(|source| JournalError::Io { path: path.clone(), doing: "opening the journal", source })?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let owner = path.parent().and_then(Owner::last);
                return Err(JournalError::Owned { path, owner });
            }
            Err(TryLockError::Error(source)) => {
                return Err(JournalError::Io { path, doing: "locking the journal", source });
            }
        }
        if let Some(Err(error)) = path.parent().map(Owner::claim) {
            // The lock is taken: others only cannot be told by whom.
            tracing::debug!("the run's owner is not written down: {error}");
        }
        Ok(Self {
            file: Arc::new(file),
            path,
            durable,
            written: AtomicU64::new(0),
            length: AtomicU64::new(0),
            full: AtomicBool::new(false),
            syncs: watch::Sender::default(),
        })
    }

    /// Writes one entry.
    pub fn write(&self, entry: &Entry) -> Result<(), JournalError> {
        let entry_json =
            serde_json::to_string(entry).map_err(|e| self.io("writing the journal", io::Error::other(e)))?;
        let line = sealed(&entry_json);
        if line.len() > LONGEST_LINE && entry.n > 0 {
            return Err(JournalError::TooLarge { path: self.path.clone(), size: line.len() });
        }
        self.append(line.as_bytes()).map_err(|source| self.io("writing the journal", source))?;
        self.written.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Writes a line whole or not at all.
    fn append(&self, line: &[u8]) -> io::Result<()> {
        let length = self.length.load(Ordering::SeqCst);
        let whole = || {
            self.file.as_ref().write_all(line).inspect_err(|_| {
                // What is left of it is a torn last line, which every reader drops.
                drop(self.file.set_len(length));
            })
        };
        match whole() {
            Err(e) if e.kind() == io::ErrorKind::StorageFull && self.release() => {
                self.full.store(true, Ordering::SeqCst);
                whole()?;
            }
            written => written?,
        }
        self.length.store(length + line.len() as u64, Ordering::SeqCst);
        Ok(())
    }

    /// Answers when everything written before is on the disk. Those who wait at the same time share one sync.
    pub async fn sync(&self) -> Result<(), JournalError> {
        if !self.durable {
            return Ok(());
        }
        let wanted = self.written.load(Ordering::SeqCst);
        let mut syncs = self.syncs.subscribe();
        loop {
            {
                let syncs = syncs.borrow_and_update();
                if let Some((kind, message)) = &syncs.failed {
                    return Err(self.io("syncing the journal", io::Error::new(*kind, message.clone())));
                }
                if syncs.synced >= wanted {
                    return Ok(());
                }
            }
            self.begin_sync();
            // The sender is this journal's own.
            drop(syncs.changed().await);
        }
    }

    /// Begins a sync of everything written before, unless one goes on.
    fn begin_sync(&self) {
        let begins = self.syncs.send_if_modified(|syncs| !std::mem::replace(&mut syncs.running, true));
        if !begins {
            return;
        }
        let covered = self.written.load(Ordering::SeqCst);
        let (file, syncs) = (self.file.clone(), self.syncs.clone());
        tokio::task::spawn_blocking(move || {
            let done = file.sync_data();
            syncs.send_modify(|syncs| {
                syncs.running = false;
                match done {
                    Ok(()) => syncs.synced = covered,
                    Err(error) => syncs.failed = Some((error.kind(), error.to_string())),
                }
            });
        });
    }

    fn io(&self, doing: &'static str, source: io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), doing, source }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use wfe_core::Event;

    use super::*;

    /// A changed digit is JSON too.
    #[test]
    fn no_changed_byte_goes_unnoticed() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::create(directory.path(), false).unwrap();
        let events = [
            Event::FinallyStarted,
            Event::StepSkipped { step: "é".into(), reason: "4.25".into() },
            Event::FinallyStarted,
        ];
        for (n, event) in (0..).zip(events) {
            journal.write(&Entry { n, at: 1000 + n, event }).unwrap();
        }
        let path = directory.path().join(FILE);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(read(directory.path()).unwrap().entries.len(), 3);
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                std::fs::write(&path, &changed).unwrap();
                let (contents, damage) = read_readable(directory.path()).unwrap();
                let told = damage.is_some() || contents.torn_bytes > 0;
                assert!(told, "byte {at}, bit {bit}: {}", String::from_utf8_lossy(&changed));
            }
        }
    }

    /// An attempt may wait for a sync and not be polled, because the run's loop waits for one too.
    #[tokio::test]
    async fn who_waits_and_is_not_polled_keeps_nobody_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let journal = Journal::create(directory.path(), true).unwrap();
        for n in 0..50 {
            journal.write(&Entry { n: 2 * n, at: 0, event: Event::FinallyStarted }).unwrap();
            let mut still = Box::pin(journal.sync());
            assert!(still.as_mut().now_or_never().is_none_or(|synced| synced.is_ok()));
            journal.write(&Entry { n: 2 * n + 1, at: 0, event: Event::FinallyStarted }).unwrap();
            tokio::time::timeout(Duration::from_secs(20), journal.sync()).await.expect("it is synced").unwrap();
            still.await.unwrap();
        }
    }
}
