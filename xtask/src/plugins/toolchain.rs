//! The compiler that builds guests.
//!
//! Two are known: a `rustup` toolchain with the WebAssembly target, and Debian's `rustc-web`, `cargo-web` and
//! `rust-web-src`, which build the standard library for that target from its source. The second one builds the committed
//! components: it is there where packages come from a distribution alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, debian};

/// The target of guests.
pub const TARGET: &str = "wasm32-unknown-unknown";

const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_SOURCE: &str = "/usr/lib/rustlib/src/rust/library/std";
const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// How to get one.
const ADVICE: &str = "\
the plugins need a compiler for WebAssembly. Either
  rustup target add wasm32-unknown-unknown
or, on Debian,
  apt-get install rustc-web cargo-web rust-web-src";

/// A compiler that is there.
pub struct Toolchain {
    /// What `rustc --version` says.
    pub version: String,
    /// The linker for Debian's compiler, which comes without one; none for a `rustup` toolchain.
    linker: Option<PathBuf>,
}

impl Toolchain {
    /// Debian's, or one of `rustup`, or Debian's once it is installed, where this process may install it.
    pub fn find() -> Result<Self> {
        if let Some(debian) = Self::debian()? {
            return Ok(debian);
        }
        let libraries = answer("rustc", &["--print", "target-libdir", "--target", TARGET])?;
        if Path::new(&libraries).is_dir() {
            return Ok(Self { version: answer("rustc", &["--version"])?, linker: None });
        }
        if debian::can_install() {
            debian::install(&DEBIAN_PACKAGES)?;
        }
        Self::debian()?.ok_or_else(|| ADVICE.into())
    }

    fn debian() -> Result<Option<Self>> {
        if [DEBIAN_CARGO, DEBIAN_RUSTC, DEBIAN_SOURCE].iter().any(|path| !Path::new(path).exists()) {
            return Ok(None);
        }
        let sysroot = PathBuf::from(answer("rustc", &["--print", "sysroot"])?);
        let host = answer("rustc", &["--print", "host-tuple"])?;
        let linker = sysroot.join("lib/rustlib").join(host).join("bin/rust-lld");
        if !linker.is_file() {
            return Err(format!("there is no linker for WebAssembly at {}", linker.display()).into());
        }
        Ok(Some(Self { version: answer(DEBIAN_RUSTC, &["--version"])?, linker: Some(linker) }))
    }

    /// A `cargo` that compiles for the target.
    pub fn cargo(&self) -> Command {
        let Some(linker) = &self.linker else {
            let mut cargo = Command::new("cargo");
            // Incremental builds give other code.
            cargo.env("CARGO_INCREMENTAL", "0");
            cargo.args(["--config", &format!("build.target='{TARGET}'")]);
            return cargo;
        };
        let mut cargo = Command::new(DEBIAN_CARGO);
        cargo.args(["--config", &format!("build.target='{TARGET}'"), "-Zbuild-std=std,panic_abort"]);
        // A stable compiler builds the standard library only when it is told to be a nightly one.
        cargo.env("CARGO_INCREMENTAL", "0");
        cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", DEBIAN_RUSTC);
        cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        cargo
    }
}

fn answer(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program).args(arguments).output().map_err(|e| format!("cannot run {program}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
