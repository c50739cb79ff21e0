//! Debian packages, installed where this process may: as root on Debian.

use std::path::Path;
use std::process::Command;

use crate::Result;

/// Whether [`install`] can work.
pub fn can_install() -> bool {
    let id = Command::new("id").arg("-u").output();
    Path::new("/usr/bin/apt-get").exists() && id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Installs packages.
pub fn install(packages: &[&str]) -> Result {
    eprintln!("installing {}", packages.join(", "));
    apt_get(&["update", "--quiet"])?;
    apt_get(&[&["install", "--yes", "--quiet", "--no-install-recommends"], packages].concat())
}

fn apt_get(arguments: &[&str]) -> Result {
    let status = Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive").status()?;
    if status.success() { Ok(()) } else { Err(format!("apt-get {} ended with {status}", arguments.join(" ")).into()) }
}
