//! Writes the reports of two made-up runs, to look at: `cargo run -p wfe-report --example sample -- DIRECTORY`.

#[path = "../tests/report/fixture.rs"]
mod fixture;

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let target = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    for (name, run) in [("elasticity", fixture::elasticity()), ("troubled", fixture::troubled())] {
        let directory = target.join(name);
        std::fs::create_dir_all(&directory)?;
        let document = run.document();
        wfe_report::write_all(&document, &directory)?;
        print!(
            "{}",
            wfe_report::summary(&document, &directory.join("report.html").display().to_string(), "wfe cleanup 1")
        );
    }
    Ok(())
}
