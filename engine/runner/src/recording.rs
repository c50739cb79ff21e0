//! Takes recorded load from the backend into HDR logs, and answers questions about windows of it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use wfe_core::Millis;
use wfe_core::backend::IntervalSink;
use wfe_core::hlog::{self, Header, Logs};
use wfe_core::measure::{Interval, Measurement, Recording};

/// Name of the directory of HDR logs in a run's directory.
pub const DIRECTORY: &str = "hdr";

/// Where logs of an earlier life wait until the backend has told everything again.
const ASIDE: &str = "hdr.before";

/// The recorded load of a run.
pub struct LoadRecording {
    directory: PathBuf,
    base_s: f64,
    inner: Mutex<Inner>,
}

struct Inner {
    recording: Recording,
    writer: hlog::Writer,
    files: BTreeMap<(String, String), File>,
    broken: Option<String>,
}

impl LoadRecording {
    /// A recording that begins anew: logs of an earlier life are put aside, because the backend tells everything again;
    /// [`Self::settle`] says what becomes of them. `base_s` is the wall time of the run's beginning, seconds since 1970.
    pub fn anew(run: &Path, base_s: f64) -> io::Result<Self> {
        let (directory, aside) = (run.join(DIRECTORY), run.join(ASIDE));
        if directory.exists() && !aside.exists() {
            fs::rename(&directory, &aside)?;
        }
        remove(&directory)?;
        let recording = recording(&directory);
        Self::over(directory, base_s, recording)
    }

    /// Forgets the logs that were put aside when the backend has told everything again, and takes them back otherwise.
    pub fn settle(&self, told: bool) -> io::Result<()> {
        let aside = self.directory.with_file_name(ASIDE);
        if told || !aside.exists() {
            return remove(&aside);
        }
        remove(&self.directory)?;
        fs::rename(&aside, &self.directory)
    }

    /// A recording that carries on after the logs of an earlier life, whose torn ends are cut off. Also says, for
    /// people, what of them was dropped.
    pub fn carrying_on(run: &Path, base_s: f64) -> io::Result<(Self, Vec<String>)> {
        let (recording, notices) = read_logs(run)?;
        Ok((Self::over(run.join(DIRECTORY), base_s, recording)?, notices))
    }

    fn over(directory: PathBuf, base_s: f64, recording: Recording) -> io::Result<Self> {
        fs::create_dir_all(&directory)?;
        let inner = Inner { recording, writer: hlog::Writer::default(), files: BTreeMap::new(), broken: None };
        Ok(Self { directory, base_s, inner: Mutex::new(inner) })
    }

    /// Measures a window.
    pub fn measure(&self, from_ms: Millis, to_ms: Millis) -> Measurement {
        self.lock().recording.measure(from_ms, to_ms, None)
    }

    /// Looks at what was recorded.
    pub fn with<T>(&self, look: impl FnOnce(&Recording) -> T) -> T {
        look(&self.lock().recording)
    }

    /// Takes the recording out, at the end of a run.
    pub fn take(&self) -> Recording {
        std::mem::take(&mut self.lock().recording)
    }

    /// Why logs could not be written, if that happened.
    pub fn broken(&self) -> Option<String> {
        self.lock().broken.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Records an interval in its log and in memory. One that overlaps another is left out of both.
    fn take(&mut self, directory: &Path, base_s: f64, interval: Interval) -> io::Result<()> {
        if !self.recording.fits(&interval) {
            return Ok(());
        }
        let names = (interval.load.clone(), interval.loader.clone());
        let lines = self.writer.lines(&interval);
        let written = self.log(directory, base_s, names).and_then(|mut file| file.write_all(lines.as_bytes()));
        if written.is_err() {
            self.recording.keep();
        }
        self.recording.push(interval);
        written
    }

    /// Keeps the first failure to write.
    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.broken.get_or_insert_with(|| format!("the HDR logs cannot be written: {error}"));
        }
    }

    /// The log of a loader; it begins with its header.
    fn log(&mut self, directory: &Path, base_s: f64, names: (String, String)) -> io::Result<&File> {
        if !self.files.contains_key(&names) {
            let header = Header { load: names.0.clone(), loader: names.1.clone(), base_s };
            let path = directory.join(hlog::file_name(&names.0, &names.1));
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            if file.metadata()?.len() == 0 {
                file.write_all(header.lines().as_bytes())?;
            }
            self.files.insert(names.clone(), file);
        }
        Ok(&self.files[&names])
    }
}

/// An empty recording whose older intervals are read again from the logs of a directory.
fn recording(directory: &Path) -> Recording {
    let directory = directory.to_owned();
    let open = move |load: &str, loader: &str| File::open(directory.join(hlog::file_name(load, loader)));
    Recording::over(Logs(open), Recording::ROOM)
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Reads all logs of a run and cuts each where its last whole interval ends.
fn read_logs(run: &Path) -> io::Result<(Recording, Vec<String>)> {
    let directory = run.join(DIRECTORY);
    let (mut recording, mut notices) = (recording(&directory), Vec::new());
    for path in logs(&directory)? {
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        let log = hlog::read(BufReader::new(&file), |interval| {
            recording.push(interval);
        })?;
        log.header.iter().for_each(|header| recording.expect_loader(&header.load, &header.loader));
        file.set_len(log.good_bytes)?;
        let damage = log.damage.iter().map(|damage| format!("line {}: {}", damage.line, damage.problem));
        notices.extend(log.notice.into_iter().chain(damage).map(|text| format!("{}: {text}", path.display())));
    }
    Ok((recording, notices))
}

/// The HDR logs of a directory, in the order of their names.
fn logs(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "hlog"));
    paths.sort();
    Ok(paths)
}

impl IntervalSink for LoadRecording {
    fn expect(&self, load: &str, loader: &str) {
        let mut inner = self.lock();
        inner.recording.expect_loader(load, loader);
        let log = inner.log(&self.directory, self.base_s, (load.into(), loader.into())).map(drop);
        inner.note(log);
    }

    fn push(&self, interval: Interval) {
        let mut inner = self.lock();
        let taken = inner.take(&self.directory, self.base_s, interval);
        inner.note(taken);
    }
}
