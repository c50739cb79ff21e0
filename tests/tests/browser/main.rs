//! `report.html` as a browser shows it.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, and says where")]

mod devtools;

use std::fs;
use std::path::Path;

use serde_json::Value;
use wfe_tests::{Trouble, planned, rehearse_in, repository, wfe};

use devtools::{Browser, program};

/// All sections, in the order in which they stand.
const SECTIONS: [&str; 8] =
    ["verdict", "limits", "story", "measurements", "steps", "events", "completeness", "resources"];

/// Opens a report at a width and holds it against what every report must be.
fn opened(program: &std::path::PathBuf, report: &Path, width: u32, sections: &[&str]) {
    let mut browser = Browser::open(program, width);
    let url = format!("file://{}", fs::canonicalize(report).unwrap().display());
    browser.go(&url);
    let found = browser.evaluate("[...document.querySelectorAll('main > section')].map(section => section.id)");
    assert_eq!(found, serde_json::json!(sections), "sections at {width} px");
    let hidden = "[...document.querySelectorAll('main > section')].filter(s => s.getBoundingClientRect().height < 20)\
                  .map(s => s.id)";
    assert_eq!(browser.evaluate(hidden), serde_json::json!([]), "sections without height at {width} px");
    fits(&mut browser, width);
    use_everything(&mut browser);
    fits(&mut browser, width);
    quiet(&browser, &url);
}

/// The page does not scroll sideways; what is too wide scrolls in a box of its own.
fn fits(browser: &mut Browser, width: u32) {
    assert_eq!(browser.evaluate("window.innerWidth"), width);
    let widest = browser.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)");
    let outside = "[...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)\
                   .slice(0, 5).map(e => e.outerHTML.slice(0, 120))";
    assert!(widest.as_u64().unwrap() <= u64::from(width), "{widest} px at {width} px: {:#}", browser.evaluate(outside));
}

/// Whatever a reader can click, choose, open or point at.
fn use_everything(browser: &mut Browser) {
    browser.evaluate(
        "for (const closed of document.querySelectorAll('details')) closed.open = true;
         for (const button of document.querySelectorAll('button, input, summary, nav a, th')) button.click();
         for (const closed of document.querySelectorAll('details')) closed.open = true;
         for (const drawing of document.querySelectorAll('svg, canvas, figure')) {
           const box = drawing.getBoundingClientRect();
           const at = { bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 };
           for (const kind of ['pointerenter', 'pointermove', 'mousemove', 'click', 'pointerleave'])
             drawing.dispatchEvent(new MouseEvent(kind, at));
           for (const key of ['ArrowRight', 'ArrowLeft', 'Home', 'End', 'Escape'])
             drawing.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
         }
         new Promise(done => setTimeout(done, 100))",
    );
}

/// No error, no word on the console, no request but for the file itself.
fn quiet(browser: &Browser, url: &str) {
    let loud = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
    let said: Vec<&Value> = browser.events.iter().filter(|e| loud.iter().any(|kind| e["method"] == *kind)).collect();
    assert!(said.is_empty(), "{said:#?}");
    let asked = browser.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
    let asked: Vec<&str> = asked.map(|event| event["params"]["request"]["url"].as_str().unwrap()).collect();
    assert_eq!(asked, [url]);
}

#[test]
fn the_report_of_the_shipped_test() {
    let Some(program) = program() else { return };
    let runs = tempfile::tempdir().unwrap();
    let mut command = wfe();
    command.arg("run").arg(repository().join("workflows/elasticity.yaml")).arg("--runs-dir").arg(runs.path());
    assert!(command.output().unwrap().status.success());
    let run = fs::read_dir(runs.path()).unwrap().next().unwrap().unwrap().path();
    for width in [1200, 400] {
        opened(&program, &run.join("report.html"), width, &SECTIONS);
    }
}

/// The report of a run in which much went wrong: long reasons, steps that never began, no measurement.
#[test]
fn the_report_of_a_failed_run() {
    let Some(program) = program() else { return };
    let text = fs::read_to_string(repository().join("workflows/elasticity.yaml")).unwrap();
    let faults = serde_json::json!([{ "machine-lost": { "machine": "i-0002", "at": 2000 } }]);
    let trouble = Trouble { faults: serde_json::from_value(faults).unwrap(), cancelled_at: None };
    let runs = tempfile::tempdir().unwrap();
    let finished = rehearse_in(&planned(&text, &[]), runs.path(), 1, &trouble);
    assert_ne!(finished.state.ended.as_ref().unwrap().verdict.exit_code(), 0);
    let id = finished.directory.file_name().unwrap();
    assert!(wfe().arg("report").arg(id).arg("--runs-dir").arg(runs.path()).output().unwrap().status.success());
    for width in [1200, 400] {
        opened(
            &program,
            &finished.directory.join("report.html"),
            width,
            &["verdict", "limits", "story", "measurements", "steps", "events", "resources"],
        );
    }
}

/// The browser's ears are open: an error, a request and a page that is too wide are all found.
#[test]
fn what_these_tests_would_find() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().unwrap();
    let page = place.path().join("bad.html");
    let bad =
        "<body><div style='width:2000px'>wide</div><img src='http://127.0.0.1:9/x.png'><script>nowhere()</script>";
    fs::write(&page, bad).unwrap();
    let mut browser = Browser::open(&program, 400);
    browser.go(&format!("file://{}", page.display()));
    assert_eq!(browser.evaluate("document.documentElement.scrollWidth > 400"), true);
    let happened = |kind: &str| browser.events.iter().filter(|event| event["method"] == kind).count();
    assert_eq!(happened("Runtime.exceptionThrown"), 1);
    assert_eq!(happened("Network.requestWillBeSent"), 2);
}
