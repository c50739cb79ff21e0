//! Cassandra's own jars, resolved once through Maven and kept in the user's cache.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wfe_core::CallError;

use crate::files;

/// The version that `cassandra 5.0` stands for.
pub const VERSION: &str = "5.0.8";

const INSTALL: &str = "apt-get install openjdk-17-jre-headless maven";

const POM: &str = r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>wfe</groupId><artifactId>cassandra-jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>VERSION</version></dependency>
  </dependencies>
  <build><plugins>
    <plugin><groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version></plugin>
  </plugins></build>
</project>
"#;

/// Where the jars are kept: `$XDG_CACHE_HOME/wfe`, otherwise `~/.cache/wfe`.
pub fn default_cache() -> PathBuf {
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let base = env::var_os("XDG_CACHE_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from).or_else(home);
    base.unwrap_or_else(env::temp_dir).join("wfe")
}

/// The program of that name on the path; an error that says what to install when there is none.
pub fn program(name: &str, path: Option<&std::ffi::OsStr>) -> Result<PathBuf, CallError> {
    let found = path.into_iter().flat_map(env::split_paths).map(|dir| dir.join(name)).find(|file| file.is_file());
    found.ok_or_else(|| {
        let message = format!(
            "there is no `{name}` on this machine, and the local backend needs Java 17 and Maven to run Cassandra: \
             install them with `{INSTALL}`"
        );
        CallError::infrastructure("not-installed", message)
    })
}

/// The directory with the jars; downloads them when it is not there yet. Blocks, for a minute or so the first time.
pub fn resolve(cache: &Path) -> Result<PathBuf, CallError> {
    let wanted = cache.join(format!("cassandra-{VERSION}"));
    if is_whole(&wanted) {
        return Ok(wanted);
    }
    files::create_dir(cache)?;
    let lock = cache.join("cassandra.lock");
    let held = File::create(&lock).map_err(|e| files::error("create", &lock, e))?;
    // Another run may be downloading: wait for it, then look again.
    held.lock().map_err(|e| files::error("lock", &lock, e))?;
    if !is_whole(&wanted) {
        download(cache, &wanted)?;
    }
    Ok(wanted)
}

fn is_whole(directory: &Path) -> bool {
    directory.join(format!("cassandra-all-{VERSION}.jar")).is_file()
}

/// Downloads beside the wanted place and moves it there when it is whole.
fn download(cache: &Path, wanted: &Path) -> Result<(), CallError> {
    let maven = program("mvn", env::var_os("PATH").as_deref())?;
    let beside = cache.join("cassandra.part");
    files::remove_dir(&beside)?;
    files::remove_dir(wanted)?;
    let jars = beside.join("jars");
    files::create_dir(&jars)?;
    let pom = beside.join("pom.xml");
    files::write(&pom, &POM.replace("VERSION", VERSION))?;
    let mut command = Command::new(maven);
    command.arg("-q").arg("-B").arg("-f").arg(&pom).arg("dependency:copy-dependencies");
    command.arg(format!("-DoutputDirectory={}", jars.display())).stdin(Stdio::null());
    let output =
        command.output().map_err(|e| CallError::infrastructure("maven", format!("cannot start Maven: {e}")))?;
    if !output.status.success() || !is_whole(&jars) {
        return Err(failed(&output.stdout));
    }
    fs::rename(&jars, wanted).map_err(|e| files::error("move the jars to", wanted, e))?;
    files::remove_dir(&beside)
}

fn failed(said: &[u8]) -> CallError {
    let said = String::from_utf8_lossy(said);
    let errors: Vec<&str> = said.lines().filter(|line| line.contains("ERROR")).take(5).collect();
    let message = format!(
        "Maven could not fetch org.apache.cassandra:cassandra-all:{VERSION}; is its repository reachable from here? It said: {}",
        if errors.is_empty() { said.trim().to_owned() } else { errors.join(" / ") }
    );
    CallError::infrastructure("maven", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_answered_with_what_to_install() {
        let error = program("java", Some("/nonexistent".as_ref())).unwrap_err();
        insta::assert_snapshot!(error, @"there is no `java` on this machine, and the local backend needs Java 17 and Maven to run Cassandra: install them with `apt-get install openjdk-17-jre-headless maven` (infrastructure, not-installed)");
    }

    #[test]
    fn jars_that_are_there_need_no_maven() {
        let cache = tempfile::tempdir().unwrap();
        let jars = cache.path().join(format!("cassandra-{VERSION}"));
        files::create_dir(&jars).unwrap();
        files::write(&jars.join(format!("cassandra-all-{VERSION}.jar")), "").unwrap();
        assert_eq!(resolve(cache.path()).unwrap(), jars);
    }
}
